"""`weirctl completion`: for the shells. The shell asks `weirctl completion words …` what may come next."""

from __future__ import annotations

from collections.abc import Sequence

import weir

from . import core, words
from .context import Context
from .words import Words

HELP = """\
weirctl completion bash|zsh|fish           a script; e.g. for bash: source <(weirctl completion bash)
"""

_BASH = """\
_weirctl() {
  local cur="${COMP_WORDS[COMP_CWORD]}" IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(weirctl completion words -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "$cur"))
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

_AFTER = {
    "queue": ("show", "replace", "change", "del", "help"),
    "class": ("show", "replace", "del", "default", "mtu"),
    "shape": ("show", "replace", "change", "del", "rate", "burst", "overhead", "mpu"),
    "split": ("show", "on", "off", "transit", "ethertype", "protocol", "form", "tick", "spacing"),
    "match": ("show", "replace", "del", "default", "class", "bypass"),
    "merge": ("show",),
    "mred": ("show",),
    "completion": ("bash", "zsh", "fish"),
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


def following(before: Sequence[str]) -> list[str]:
    """What may follow these words; no device is asked."""
    from .main import VERBS

    if before and before[-1] in words.VALUES:
        return []
    taken = [w for i, w in enumerate(before) if not w.startswith("-") and (not i or before[i - 1] not in words.VALUES)]
    if not taken:
        return [*VERBS, *words.FLAGS, *words.VALUES, *words.MAYBE]
    verb = taken[0]
    if verb == "queue" and len(taken) >= 3 and taken[1] in ("replace", "add", "change"):
        if len(taken) == 3:
            return [p.name for p in weir.policies()]
        known = {p.name: p for policy in weir.policies() if policy.name in (taken[3],) for p in policy.parameters}
        if not known:  # change without a policy
            known = {p.name: p for policy in weir.policies() for p in policy.parameters}
        last = known.get(taken[-1])
        if last is not None and last.kind not in ("flag",) and len(taken) > 4:
            return list(last.choices)
        return [name for name in known if name not in taken[4:]]
    if verb == "queue" and len(taken) == 2 and taken[1] == "help":
        return [p.name for p in weir.policies()]
    if verb == "class" and len(taken) == 2 and taken[1] in ("replace", "del"):
        return sorted(core.DSCPS)
    if verb == "class" and len(taken) >= 2 and taken[-1] != "queue" and taken[1] in ("replace", "default"):
        return ["queue"]
    if verb in ("merge", "mred") and len(taken) >= 2 and taken[1] != "show":
        return _of_queue(verb, taken[2:])
    return list(_AFTER.get(verb, ())) if len(taken) == 1 or verb == "shape" else []


def run(context: Context, rest: Words) -> int:
    """The verb."""
    shell = rest.keyword(("bash", "zsh", "fish", "words"), None, "shell")
    if shell == "words":
        before = list(rest.left())
        context.say("\n".join(following(before[1:] if before[:1] == ["--"] else before)))
        return 0
    rest.end()
    context.say({"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[shell].rstrip("\n"))
    return 0
