"""The command line as words: options anywhere, then keywords and values in tc's way."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from .errors import Refusal

#: Options without a value, by each of their names.
FLAGS: Final = {
    "-j": "json", "--json": "json", "-s": "statistics", "--statistics": "statistics", "-h": "help", "--help": "help",
    "-V": "version", "--version": "version", "--dry-run": "dry_run", "--commands": "commands", "--once": "once",
    "--csv": "csv", "--follow": "follow", "-f": "follow",
}  # fmt: skip
#: Options with a value.
VALUES: Final = {
    "-d": "device", "--device": "device", "--confirm": "confirm", "--plot": "plot", "--count": "count", "-n": "count",
    "--listen": "listen", "--interval": "interval",
}  # fmt: skip
#: Options whose value may be left out, and the value then. After the verb any word that follows is the value.
MAYBE: Final = {"--watch": ("watch", "1"), "-w": ("watch", "1")}

_NUMBER: Final = re.compile(r"-?\d+(\.\d*)?([eE][+-]?\d+)?$")
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,30}|0[xX][0-9a-fA-F]{1,16}")


@dataclass
class Options:
    """What the options say; texts as they were given."""

    device: str | None = field(default_factory=lambda: os.environ.get("WEIR_DEVICE"))
    json: bool = False
    statistics: bool = False
    help: bool = False
    version: bool = False
    dry_run: bool = False
    commands: bool = False
    once: bool = False
    csv: bool = False
    follow: bool = False
    confirm: str | None = None
    plot: str | None = None
    count: str | None = None
    listen: str | None = None
    interval: str | None = None
    watch: str | None = None


def _combined(word: str) -> bool:
    """Whether a word is several short options, as -js; the last of them may take a value."""
    *flags, last = (f"-{letter}" for letter in word[1:])
    return len(word) > 2 and all(flag in FLAGS for flag in flags) and last in FLAGS | VALUES | MAYBE


def split(arguments: Sequence[str]) -> tuple[Options, list[str]]:
    """Options, and the words that remain."""
    options, words = Options(), []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            words += [word, *rest]
            break
        if not word.startswith("-") or _NUMBER.match(word) or word == "-":
            words.append(word)
        elif _combined(word):
            rest[:0] = [f"-{letter}" for letter in word[1:]]
        elif name in FLAGS and not equals:
            setattr(options, FLAGS[name], True)
        elif name in VALUES:
            if not equals:
                if not rest:
                    raise Refusal(f"{name} needs a value; see weirctl --help")
                value = rest.pop(0)
            setattr(options, VALUES[name], value)
        elif name in MAYBE:
            option, usual = MAYBE[name]
            if not equals:
                given = rest and (_NUMBER.match(rest[0]) or (words and not rest[0].startswith("-")))
                value = rest.pop(0) if given else usual
            setattr(options, option, value)
        else:
            why = near(name, [*FLAGS, *VALUES, *MAYBE], "; see weirctl --help")
            raise Refusal(f"option '{name}' is not known{why}")
    return options, words


def near(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """ ", did you mean …?" if something is like it; the message ends there."""
    found = get_close_matches(word, list(known), 1, 0.6)
    return f", did you mean '{found[0]}'?" if found else otherwise


class Words:
    """The words of a command, taken one by one."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)

    def __bool__(self) -> bool:
        return bool(self._words)

    def peek(self) -> str | None:
        """The next word, if there is one."""
        return self._words[0] if self._words else None

    def left(self) -> tuple[str, ...]:
        """The words that are left, which stay."""
        return tuple(self._words)

    def take(self, what: str) -> str:
        """The next word; `what` says what is missing without it."""
        if not self._words:
            raise Refusal(f"{what} is missing")
        return self._words.pop(0)

    def keyword(self, known: Sequence[str], otherwise: str | None, what: str) -> str:
        """One of the known words or a beginning of just one; `otherwise` if no word is left."""
        if not self._words:
            if otherwise is None:
                raise Refusal(f"{what} is missing; it is {', '.join(known)}")
            return otherwise
        word = self._words.pop(0)
        found = [k for k in known if k == word] or [k for k in known if k.startswith(word)]
        if len(found) != 1:
            if found:
                raise Refusal(f"{what} '{word}' may be {' or '.join(found)}")
            raise Refusal(f"{what} '{word}' is not known" + near(word, known, f"; it is one of {', '.join(known)}"))
        return found[0]

    def number(self, what: str, least: int, most: int) -> int:
        """A whole number."""
        return whole(self.take(what), what, least, most)

    def end(self) -> None:
        """Refuses what is left."""
        if self._words:
            raise Refusal(f"'{self._words[0]}' is one word too many")


def whole(text: str, what: str, least: int, most: int, why: str = "") -> int:
    """A whole number, decimal (010 is ten) or 0x…, within a range."""
    if not _WHOLE.fullmatch(text):
        raise Refusal(f"{what} '{text[:40]}' is not a whole number; allowed is {least} to {most}")
    value = int(text, 16 if text[:2] in ("0x", "0X") else 10)
    if not least <= value <= most:
        raise Refusal(f"{what} {value} is out of range: allowed is {least} to {most}{why}")
    return value


def seconds(text: str, what: str, least: float = 0.1, most: float = 86400) -> float:
    """A time in seconds."""
    try:
        value = float(text)
    except ValueError:
        raise Refusal(f"{what} '{text}' is not a number of seconds; allowed is {least:g} to {most:g}") from None
    if not least <= value <= most:
        raise Refusal(f"{what} {text} is out of range: allowed is {least:g} to {most:g} seconds")
    return value
