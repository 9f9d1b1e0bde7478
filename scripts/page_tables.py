"""Tables of pages that are generated from declarations in Scala: writes them anew into docs/, or with --check compares.

A page has `<!-- NAME -->` before a table and `<!-- /NAME -->` behind it; what is between is build/rtl/NAME.md, which
`make rtl` writes.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECTION = re.compile(r"(<!-- (weir_[a-z_]+) -->\n).*?(<!-- /\2 -->)", re.S)


def generated(rtl: Path, name: str) -> str:
    """The tables of that name, an empty line before and behind."""
    return f"\n{(rtl / f'{name}.md').read_text(encoding='utf-8').strip()}\n\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit code 1 if a page is not as generated"
    )
    check = parser.parse_args().check
    rtl, differ = ROOT / "build" / "rtl", []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        try:
            wanted = SECTION.sub(lambda match: match[1] + generated(rtl, match[2]) + match[3], text)
        except FileNotFoundError as error:
            print(f"page_tables: {error.filename} does not exist; `make rtl` writes it", file=sys.stderr)
            return 1
        if wanted == text:
            continue
        differ.append(str(page.relative_to(ROOT)))
        if not check:
            page.write_text(wanted, encoding="utf-8")
    if check and differ:
        print(f"page_tables: {', '.join(differ)}: not as generated; run: scripts/page_tables.py", file=sys.stderr)
    return int(check and bool(differ))


if __name__ == "__main__":
    sys.exit(main())
