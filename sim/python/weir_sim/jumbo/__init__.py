"""Jumbo frames in software: the wire format and models of merging, written from docs/jumbo.md."""

from .packet import Flow, JumboFormat, Packet, Pair, parse_packet
from .wire import Entry, Jumbo, Malformed, Split, build, dissect, split

__all__ = [
    "Entry", "Flow", "Jumbo", "JumboFormat", "Malformed", "Packet", "Pair", "Split", "build", "dissect",
    "parse_packet", "split",
]  # fmt: skip
