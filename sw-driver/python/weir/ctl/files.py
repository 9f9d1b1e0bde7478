"""`weirctl save`, `restore` and `show`: a whole configuration and a file."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import yaml

import weir

from . import core, output, queue, whole
from .context import Context
from .ending import Ending, Interrupted
from .errors import CALLERS, FAILED, REVERTED, Ended, Refusal
from .words import Words, seconds

HELP = """\
weirctl save [FILE]                        the whole configuration as YAML, to FILE or standard output
weirctl restore FILE                       check all of it, then apply it; what FILE does not name stays; - is standard input
weirctl restore FILE --dry-run             what would change; nothing is written
weirctl restore FILE --confirm SECONDS     apply, and go back unless Enter is pressed in time
weirctl show                               everything in short
weirctl show --commands                    the commands that make this configuration
"""
_MOST_BYTES = 1 << 20
_DEEPEST = 8


class _Loader(yaml.BaseLoader):
    """Scalars are the words that are written: `off` is no boolean, 010 is not eight, 1:40 is not a hundred.

    Without tags, without aliases, which may unfold without end, and without keys that are given twice.
    """

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not allowed")
        if self.peek_event().tag not in (None, "!"):
            raise yaml.YAMLError(f"tags ({self.peek_event().tag}) are not allowed")
        self.depth += 1
        if self.depth > _DEEPEST:
            raise yaml.YAMLError("nested too deep")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in seen:
                raise yaml.YAMLError(f"'{key}' in line {node.start_mark.line + 1} is given twice or is not a name")
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def parse(source: str) -> Any:
    """The YAML document in a text. Raises Refusal with one line."""
    try:
        return yaml.load(source, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise Refusal(f"{where}{error.problem or 'not YAML'}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise Refusal(f"not YAML: {' '.join(str(error).split())[:200] or type(error).__name__}") from None


def read(name: str) -> Any:
    """The document in a file; - is standard input."""
    try:
        data = sys.stdin.buffer.read(_MOST_BYTES + 1) if name == "-" else _file(Path(name))
    except OSError as error:
        raise Refusal(f"{name}: {error.strerror or error}") from None
    if len(data) > _MOST_BYTES:
        raise Refusal(f"{name}: longer than {_MOST_BYTES >> 20} MB, so no configuration")
    try:
        return parse(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise Refusal(f"{name}: not a text in UTF-8") from None
    except Refusal as refused:
        raise Refusal(f"{name}: {refused}") from None


def _file(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MOST_BYTES + 1)


class _Hex(int):
    """A whole number that is written in hexadecimal."""


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(_Hex, lambda dumper, value: dumper.represent_scalar("tag:yaml.org,2002:int", f"0x{value:04X}"))


def dump(document: dict[str, Any]) -> str:
    """A document as YAML; `off` is quoted, since for other readers it is a boolean."""
    jumbo = document["core"]["jumbo"]
    jumbo = jumbo | ({"ethertype": _Hex(jumbo["ethertype"])} if "ethertype" in jumbo else {})
    document = document | {"core": document["core"] | {"jumbo": jumbo}}
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, default_flow_style=False))


def run_save(context: Context, words: Words) -> int:
    """`weirctl save`."""
    name = words.take("file") if words else "-"
    words.end()
    content = f"# {context.uri}; weirctl restore FILE puts it back\n" + dump(whole.document(context.device))
    if name == "-":
        context.say(content.rstrip("\n"))
        return 0
    try:
        output.write(name, content)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Refusal(f"{name}: {error.strerror or error}") from None
    return 0


def run_restore(context: Context, words: Words) -> int:
    """`weirctl restore`."""
    name = words.take("file")
    words.end()
    wait = None if context.options.confirm is None else seconds(context.options.confirm, "--confirm", 1)
    if wait is not None and name == "-":
        raise Refusal("--confirm reads standard input, so the configuration has to be in a file")
    device, given = context.device, read(name)
    try:
        wanted = whole.check_form(given, device.capabilities.queues)
    except Refusal as refused:
        raise Refusal(f"{name}: {refused}; nothing was written") from None
    with contextlib.ExitStack() as stack:
        with device.lock():
            before = whole.document(device)
            after = _rehearse(name, wanted, before, device, wait is not None)
            if context.options.dry_run:
                _tell(context, list(whole.differences(before, after)))
                return 0
            ending = stack.enter_context(Ending())
            _apply(wanted, before, after, device, ending)
        if wait is not None:
            _confirm(context, before, after, wait, ending)
    return 0


def _tell(context: Context, changes: list[tuple[str, Any, Any]]) -> None:
    """What `--dry-run` prints."""
    if context.options.json:
        context.json([{"name": name, "before": before, "after": after} for name, before, after in changes])
        return
    lines = [" -> ".join("-" if v is None else str(v) for v in values) for _, *values in changes]
    named = [f"{name}: {line}" for (name, *_), line in zip(changes, lines, strict=True)]
    context.say("\n".join(named) or "nothing would change")


def _rehearse(
    name: str, wanted: dict[str, Any], before: dict[str, Any], device: weir.Device, and_back: bool
) -> dict[str, Any]:
    """What the device's document would be; with `and_back`, going back is tried too. Raises Refusal: nothing was written."""
    try:
        copy = whole.rehearse(wanted, device)
    except weir.WeirError as error:
        if error.name not in CALLERS:
            raise
        raise Refusal(f"{name}: {error.message}; nothing was written") from None
    if and_back:
        try:
            whole.rehearse(_as_given(before, device), copy)
        except weir.WeirError as error:
            if error.name not in CALLERS:
                raise
            raise Refusal(f"--confirm: the configuration in force could not be put back ({error.message}); nothing was written; "
                          "without --confirm it is applied for good") from None  # fmt: skip
    return whole.document(copy)


def _as_given(document: dict[str, Any], device: weir.Device) -> dict[str, Any]:
    """A document of a device, checked as one that a file gives."""
    return whole.check_form(parse(dump(document)), device.capabilities.queues)


def _apply(
    wanted: dict[str, Any], before: dict[str, Any], after: dict[str, Any], device: weir.Device, ending: Ending
) -> None:
    """All of it, or what was before: the rehearsal has passed, so only the device can fail, or somebody end the program."""
    try:
        whole.apply(wanted, device, ending.check)
    except (weir.WeirError, Interrupted, KeyboardInterrupt) as error:
        _go_back(str(error) or "interrupted", before, after, device, whole_new=False)


def _go_back(
    why: str, before: dict[str, Any], after: dict[str, Any], device: weir.Device, *, whole_new: bool
) -> NoReturn:
    """Puts the old configuration back, and ends with one sentence that says which one is in force.

    `whole_new`: all of the new one is, until something of the old one has been written.
    """
    try:
        with device.lock():
            device.queue_show(0)  # the device is there
            whole_new = False
            whole.apply(_as_given(before, device), device)
    except weir.WeirError as error:
        force = _in_force(before, after, device, whole_new)
        raise Ended(FAILED, f"{why}; the old configuration cannot be put back ({error.message}); {force}") from None
    raise Ended(REVERTED, f"{why}; the old configuration is back")


def _in_force(before: dict[str, Any], after: dict[str, Any], device: weir.Device, whole_new: bool) -> str:
    """Which configuration a device has after going back has failed."""
    try:
        found = whole.document(device)
    except weir.WeirError:
        return "the new configuration is still in force" if whole_new else "parts of both may be in force"
    return {
        (True, False): "the old configuration is in force",
        (False, True): "the new configuration is still in force",
        (False, False): "parts of both are in force",
    }.get((found == before, found == after), "the two are the same")


def _confirm(context: Context, before: dict[str, Any], after: dict[str, Any], wait: float, ending: Ending) -> None:
    """Waits for an empty line or yes; without it the old configuration comes back, also when the terminal has gone."""
    why: str | None
    try:
        with ending.at_once():
            context.say(f"applied; press Enter within {wait:g} s to keep it, Ctrl-C to go back")
            why = _refused_within(wait)
    except (Interrupted, KeyboardInterrupt, OSError):
        why = "interrupted"
    if why:
        _go_back(why, before, after, context.device, whole_new=True)
    context.say("kept")


_YES = ("", "y", "yes")
_LONGEST_ANSWER = 1024


def _refused_within(wait: float) -> str | None:
    """Why standard input does not confirm within some seconds; None if its first line is empty or says yes."""
    deadline, answer = time.monotonic() + wait, b""
    while b"\n" not in answer and len(answer) < _LONGEST_ANSWER:
        ready, _, _ = select.select([sys.stdin], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return "not confirmed"
        if not (more := os.read(sys.stdin.fileno(), _LONGEST_ANSWER)):
            break
        answer += more
    if not answer:
        return "not confirmed: standard input ends without an answer"
    said = answer.partition(b"\n")[0].decode("utf-8", "replace").strip()
    return None if said.lower() in _YES else f"not confirmed: the answer is '{said[:20]}', not Enter or yes"


def run_show(context: Context, words: Words) -> int:
    """`weirctl show`."""
    words.end()
    device = context.device
    if context.options.commands:
        context.say("\n".join(whole.commands(device)))
        return 0
    if context.options.json:
        context.json(whole.document(device))
        return 0
    c = device.capabilities
    context.say(f"{context.uri}: Weir {'.'.join(map(str, c.version))}, {c.queues} queues, {c.cells} cells of {c.cell_bytes} bytes, "
                f"{c.data_width} bits at {c.clock_hz / 1e6:g} MHz; policies {', '.join(c.policies)}")  # fmt: skip
    for run in (
        core.run_shape,
        core.run_class,
        core.run_split,
        core.run_match,
        core.run_merge,
        core.run_mred,
        queue.show,
    ):
        run(context, Words([]))
    return 0
