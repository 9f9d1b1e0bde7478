"""Hooks of mkdocs: the generated register map joins the site, and the navigation follows the files of docs/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
REGISTERS = ROOT / "build" / "rtl" / "weir_regs.md"

# Pages in the order in which a frame, then a person meets them; others follow by name.
FIRST = ["index.md", "architecture.md", "policies.md", "registers.md"]
MODULES = ["core", "ingress", "frame", "buffer", "admit", "trim", "drop-tail", "dt-ecn", "red", "ewma"]
MODULES += ["isred", "ared", "fn", "pie", "codel", "pi2", "lfsr", "queues", "schedule", "release"]
MODULES += ["shape", "egress", "rewrite", "frame-closer", "csr", "uart", "counters", "trace"]


def title(page: Path) -> str:
    """The first heading of a page, up to a colon."""
    heading = re.search(r"^# (.+)$", page.read_text(), re.M)
    return heading[1].partition(":")[0] if heading else page.stem


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Builds the navigation."""

    def order(page: Path) -> tuple[int, str]:
        return (MODULES.index(page.stem) if page.stem in MODULES else len(MODULES), page.stem)

    nav: list[dict[str, Any]] = [{"Weir": "index.md"}]
    if (DOCS / "architecture.md").is_file():
        nav.append({title(DOCS / "architecture.md"): "architecture.md"})
    nav.append({"Registers": "registers.md"})
    modules = sorted((DOCS / "modules").glob("*.md"), key=order)
    if modules:
        nav.append({"Blocks": [{title(page): f"modules/{page.name}"} for page in modules]})
    nav += [{title(page): page.name} for page in sorted(DOCS.glob("*.md")) if page.name not in FIRST]
    config.nav = nav
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds registers.md, as it was generated with the Verilog."""
    if not REGISTERS.is_file():
        raise PluginError("build/rtl/weir_regs.md does not exist; `make rtl` writes it")
    files.append(File.generated(config, "registers.md", content=REGISTERS.read_text()))
    return files
