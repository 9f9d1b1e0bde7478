"""Hooks of mkdocs. The navigation follows the files of docs/, and the generated register map joins them. The report of
the papers' experiments is an appendix: one HTML file outside the pages, their menus and their search.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "sim" / "reproduce"))

from report_html import as_html  # noqa: E402

APPENDIX = "reproduced/report"
"""`exclude_docs` of mkdocs.yml has its .md"""
REGISTERS = ROOT / "build" / "rtl" / "weir_regs.md"

# The menus of the site. A page that is named nowhere follows by itself: guide-* in the first, others at the end of
# Reference. A name without a page ends the build.
GUIDES = ["guide-first-minutes", "build", "guide-tuning-red", "guide-counters", "guide-board", "troubleshooting"]
REFERENCE = ["figures", "architecture", "policies", "weirctl", "weir-sim", "libweir", "registers", "policy-registers"]
REFERENCE += ["register-protocol", "jumbo", "names", "adding-a-policy", "formal", "mutation"]
HARDWARE = ["integration", "boards", "netfpga", "packaging", "timing", "nextpnr-report"]
EXPERIMENTS = ["ns3", "reproduce", "findings"]

# Pages of modules/, in the order in which a frame meets them; those not named follow by name.
BLOCKS = {
    "Stages": ["core", "receive", "admission", "buffer", "transmit", "control"],
    "Data path": [
        "ingress",
        "arrival-decision",
        "serial-decision",
        "head-drop",
        "queues",
        "scheduler",
        "shaper",
        "departure-decision",
        "egress",
        "rewrite",
    ]
    + ["frame-closer"],
    "Policies": ["dt-ecn", "red", "ewma", "isred", "ared", "fn", "pie", "codel", "pi2", "compact", "lfsr"],
    "Jumbo frames": ["jumbo-unpack", "spacing", "transit", "merge", "jumbo-pack"],
    "Host": ["csr", "counters", "trace", "uart", "pcie"],
    "Lines": ["mac-10g", "mac-1g", "si5324"],
    "Simulation": ["model"],
}


def title(page: Path) -> str:
    """The first heading of a page, up to a colon."""
    heading = re.search(r"^# (.+)$", page.read_text(), re.M)
    return heading[1].partition(":")[0] if heading else page.stem


def navigation(docs: Path) -> list[dict[str, Any]]:
    """The menus, for mkdocs. `docs` is the folder of the pages."""

    def entries(names: list[str], folder: str = "") -> list[dict[str, Any]]:
        paths = [f"{folder}{name}.md" for name in names]
        return [{"Registers" if path == "registers.md" else title(docs / path): path} for path in paths]

    def others(folder: str, named: list[str]) -> list[str]:
        return sorted({page.stem for page in (docs / folder).glob("*.md")} - set(named))

    more = others("", ["index", *GUIDES, *REFERENCE, *HARDWARE, *EXPERIMENTS])
    guides = [name for name in more if name.startswith("guide-")]
    blocks = [{group: entries(names, "modules/")} for group, names in BLOCKS.items()]
    rest = others("modules", sum(BLOCKS.values(), []))
    return [
        {"Getting started": entries(GUIDES + guides)},
        {"Reference": entries(REFERENCE + [name for name in more if name not in guides])},
        {"Hardware": entries(HARDWARE)},
        {"Experiments": entries(EXPERIMENTS)},
        {"Blocks": blocks + entries(rest, "modules/")},
    ]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Sets the navigation."""
    try:
        config.nav = [{"Home": "index.md"}, *navigation(Path(config.docs_dir))]
    except FileNotFoundError as error:
        raise PluginError(f"scripts/site.py names {error.filename}, which does not exist") from None
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds registers.md, as it was generated with the Verilog, and the appendix."""
    if not REGISTERS.is_file():
        raise PluginError("build/rtl/weir_regs.md does not exist; `make rtl` writes it")
    files.append(File.generated(config, "registers.md", content=REGISTERS.read_text()))
    report = (Path(config.docs_dir) / f"{APPENDIX}.md").read_text(encoding="utf-8")
    files.append(File.generated(config, f"{APPENDIX}.html", content=as_html(report)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to the appendix, which is Markdown in docs/ and HTML in the site."""
    return markdown.replace(f"]({APPENDIX}.md", f"]({APPENDIX}.html")
