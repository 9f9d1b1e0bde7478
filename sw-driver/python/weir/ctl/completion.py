"""`weirctl completion`: for the shells. The shell asks `weirctl completion words …` what may come next."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from glob import glob
from itertools import pairwise
from pathlib import Path
from typing import Final

import weir

from . import core, verbs, words
from .context import MODELS, Context
from .words import Words

HELP = """\
weirctl completion bash|zsh|fish           a script; e.g. for bash: source <(weirctl completion bash)
"""

# bash ends words at colons, weirctl does not: candidates are whole words, less what bash has before its own
_BASH = """\
_weirctl() {
  local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}" cur="${COMP_WORDS[COMP_CWORD]}"
  local word="${line##*[[:space:]]}" before
  IFS=$' \\t\\n' read -ra before <<< "${line%"$word"}"
  case "$cur" in :|=|@) cur="" ;; esac
  COMPREPLY=($(compgen -W "$(weirctl completion words -- "${before[@]:1}" 2>/dev/null)" -- "$word"))
  COMPREPLY=("${COMPREPLY[@]#"${word%"$cur"}"}")
}
complete -o default -F _weirctl weirctl
"""
_ZSH = """\
#compdef weirctl
_weirctl() {
  local -a found
  found=(${(f)"$(weirctl completion words -- ${words[2,CURRENT-1]} 2>/dev/null)"})
  compadd -a found || _files
}
compdef _weirctl weirctl
"""
_FISH = """\
complete -c weirctl -f -a '(weirctl completion words -- (commandline -opc)[2..-1] 2>/dev/null)'
complete -c weirctl -n '__fish_seen_subcommand_from save restore' -F
"""

#: Queues that a core can have, for those whose number cannot be asked for in time.
_QUEUES = tuple(str(n) for n in range(8))
_WAIT_S = 0.04
_NUMBERED: Final = {"trace", "stats", "merge", "mred"}
"""verbs after which the number of a queue may stand"""


def queues(uri: str | None) -> tuple[str, ...]:
    """Numbers of the device's queues; of every queue that there can be if it does not answer at once."""
    found: list[int] = []

    def ask(opened: type[weir.Device], uri: str) -> None:
        with contextlib.suppress(weir.WeirError), opened(uri) as device:
            found.append(device.capabilities.queues)

    if uri and uri.startswith("sim:"):  # no core: its reset takes longer than there is
        with contextlib.suppress(OSError, AttributeError):
            found.append(ctypes.CDLL(_model(uri.removeprefix("sim:"))).weir_model_queues())
    # not a serial line, which another program may be about to open
    elif uri and uri.startswith(("unix:", "pci:")):
        thread = threading.Thread(target=ask, args=(weir.Device, uri), daemon=True)
        thread.start()
        thread.join(_WAIT_S)
    return tuple(str(n) for n in range(found[0])) if found else _QUEUES


def _models() -> str:
    """Where cycle models are built."""
    return os.environ.get("WEIR_MODEL_DIR") or str(MODELS)


def _model(of: str) -> str:
    """The library of `sim:OF` (weir-uri(7))."""
    return of if of.startswith("/") else f"{_models()}/{of or 'full'}/libweir_model.so"


def uris() -> list[str]:
    """Devices that are there: this user's sockets, serial lines, boards on PCI Express, cycle models that are built."""
    found = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace").splitlines()[1:]:
            fields = line.split()  # Num RefCount Protocol Flags Type St Inode Path
            listens = len(fields) > 7 and fields[3] == "00010000" and fields[7].startswith("/")
            with contextlib.suppress(OSError):
                if listens and not fields[7].startswith("/run/") and os.stat(fields[7]).st_uid == os.getuid():
                    found.append(f"unix:{fields[7]}")
    found += [f"uart:{path}" for kind in ("USB", "ACM") for path in sorted(glob(f"/dev/tty{kind}*"))]
    for path in sorted(glob("/sys/bus/pci/devices/*")):
        with contextlib.suppress(OSError):
            if [Path(path, name).read_text().strip() for name in ("vendor", "device")] == ["0x10ee", "0x7028"]:
                found.append(f"pci:{Path(path).name}")
    return found + [f"sim:{Path(path).parent.name}" for path in sorted(glob(f"{_models()}/*/libweir_model.so"))]


_AFTER = {
    "queue": ("show", "replace", "change", "del", "help"),
    "class": ("show", "replace", "del", "default", "max_frame"),
    "shape": ("show", "replace", "change", "del", "rate", "burst", "overhead", "mpu"),
    "split": ("show", "on", "off", "transit", "ethertype", "protocol", "form", "tick", "spacing"),
    "match": ("show", "replace", "del", "default", "class", "bypass"),
    "merge": ("show",),
    "mred": ("show",),
    "completion": ("bash", "zsh", "fish"),
    "regs": ("queue",),
    "show": ("--commands",),
    "restore": ("--dry-run", "--confirm"),
    "trace": ("--count", "--follow", "--csv", "--plot"),
    "stats": ("--watch", "--count"),
    "top": ("--interval", "--count"),
    "exporter": ("--listen", "--once"),
}


def _of_queue(verb: str, given: Sequence[str]) -> list[str]:
    """What may follow `merge N` or `mred N`, after these words."""
    modes: tuple[str, ...] = ("off",) if verb == "mred" else ("off", "flow", "class")
    names: tuple[str, ...] = tuple(core.SHARES) if verb == "mred" else core.LIMITS
    if verb == "merge" and not given:
        return list(modes)
    if given[:1] == ["class"]:
        names = ("jfet", *names)
    if given and (given[-1] in names or given[0] == "off"):
        return []
    return [*(() if given else modes), *(name for name in names if name not in given)]


def _queue(taken: Sequence[str], numbers: Callable[[], Sequence[str]]) -> list[str]:
    """What may follow these words of `queue`."""
    command, rest = taken[1], taken[2:]
    takes_policy = command in ("replace", "add", "change")
    if (command == "help" and not rest) or (takes_policy and len(rest) == 1):
        return [p.name for p in weir.policies()]
    if not rest:
        return list(numbers())
    if not takes_policy:
        return []
    known = {p.name: p for policy in weir.policies() if policy.name == rest[1] for p in policy.parameters}
    if not known:  # change without a policy
        known = {p.name: p for policy in weir.policies() for p in policy.parameters}
    last = known.get(rest[-1])
    if last is not None and last.kind != "flag" and len(rest) > 2:
        return list(last.choices)
    return [name for name in known if name not in rest[2:]]


def following(before: Sequence[str], uri: str | None = None) -> list[str]:
    """What may follow these words; a device is asked for no more than its number of queues."""
    if before and before[-1] in words.VALUES:
        return uris() if words.VALUES[before[-1]] == "device" else []
    taken = [w for i, w in enumerate(before) if not w.startswith("-") and (not i or before[i - 1] not in words.VALUES)]
    if not taken:
        return [*verbs.VERBS, *words.FLAGS, *words.VALUES, *words.MAYBE]
    uri = next((w for option, w in pairwise(before) if words.VALUES.get(option) == "device"), uri)
    verb, rest = taken[0], taken[1:]
    if verb == "queue" and rest:
        return _queue(taken, lambda: queues(uri))
    if verb in ("class", "regs") and rest[-1:] == ["queue"]:
        return list(queues(uri))
    if verb == "class" and rest and rest[0] in ("replace", "del", "default"):
        return sorted(core.DSCPS) if rest[0] != "default" and len(rest) == 1 else ["queue"] if rest[0] != "del" else []
    if verb in ("merge", "mred") and rest and rest[0] != "show":
        return _of_queue(verb, rest[1:])
    if rest and verb != "shape":
        return []
    return [*_AFTER.get(verb, ()), *(queues(uri) if verb in _NUMBERED else ())]


def run(context: Context, rest: Words) -> int:
    """The verb."""
    shell = rest.keyword(("bash", "zsh", "fish", "words"), None, "shell")
    if shell == "words":
        before = list(rest.left())
        found = following(before[1:] if before[:1] == ["--"] else before, context.options.device)
        context.say("\n".join(found))
        return 0
    rest.end()
    context.say({"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[shell].rstrip("\n"))
    return 0
