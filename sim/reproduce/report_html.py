"""The report as one HTML page: for `make reproduce`, and for the appendix of the site (scripts/site.py)."""

from __future__ import annotations

import html

import markdown

TITLE = "Weir: the papers' experiments, measured"
STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:1200px;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}"
    "td,th{border:1px solid #ccc;padding:.2em .5em;text-align:left}img{max-width:100%}"
)


def as_html(text: str) -> str:
    """The page of a report in Markdown; its figures are beside it."""
    page = markdown.markdown(text, extensions=["tables"])
    head = f"<meta charset=utf-8><title>{html.escape(TITLE)}</title><style>{STYLE}</style>"
    return f"<!doctype html>{head}{page}\n"
