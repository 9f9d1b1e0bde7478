"""`weirctl queue`: policies and their parameters, as tc has them for a qdisc."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, NoReturn

import weir

from . import text
from .context import Context
from .errors import Refusal
from .stats import describe, tc_lines
from .words import Words

HELP = """\
weirctl queue show [N]                     -s: counters, in tc's words; -j: JSON
weirctl queue replace N POLICY [NAME VALUE]…   what is not named gets its default
weirctl queue change N [POLICY] NAME VALUE…    only what is named
weirctl queue del N                        drop-tail over the whole buffer, as after a reset
weirctl queue help [POLICY]                names, ranges and defaults

All values are checked first, then taken over at once. Sizes count by 1024 (30KB), rates by 1000 (1.5mbit), flags
need no value (ecn) and are turned off by `ecn off` or `noecn`. As with tc:
  weirctl queue replace 0 red limit 400KB min 30KB max 90KB avpkt 1000 burst 55 ecn bandwidth 10Mbit probability 0.02
"""
COMMANDS = ("show", "list", "replace", "add", "change", "del", "delete", "help")
#: tc's other spelling, which it takes too.
_SPELLINGS = {"adaptative": "adaptive"}
_STATES = ("on", "off", "yes", "no", "true", "false", "1", "0")


def unknown_parameter(policy: weir.Policy, word: str) -> NoReturn:
    """Raises the WeirError of a parameter that a policy does not have: it says what was meant, or what there is."""
    from weir._config import make_config

    make_config(policy.name, {word: "on"})
    raise AssertionError(f"{policy.name} has {word}")


def settings(words: Words, policy: weir.Policy) -> dict[str, str]:
    """NAME VALUE pairs of a policy; flags may come without a value."""
    words = Words([_SPELLINGS.get(word, word) for word in words.left()])
    policies = [policy]
    if "adaptive" in words.left() and any(p.name == "adaptive" for p in policy.parameters):
        policies.append(weir.policy_of("ared"))
    known = {p.name: p for each in policies for p in each.parameters}
    found: dict[str, str] = {}
    while words:
        word = words.take("a parameter")
        name = word.replace("-", "_")
        inverse = name not in known and name.startswith("no") and known.get(name[2:].lstrip("_"))
        parameter = known.get(name) or (inverse if inverse and inverse.kind == "flag" else None)
        if parameter is None:
            unknown_parameter(policies[-1], word)
        if parameter.name in found:
            raise Refusal(f"{parameter.name} is given twice")
        if inverse:
            found[parameter.name] = "off"
        elif parameter.kind == "flag" and words.peek() not in _STATES:
            found[parameter.name] = "on"
        elif not words:
            raise Refusal(f"{parameter.name} needs a value; it is {parameter.help}")
        else:
            found[parameter.name] = words.take(parameter.name)
    return found


#: Policies whose namesakes in tc have a limit in packets.
_PACKETS_IN_TC = ("pie", "codel", "pi2")
#: Bytes of a limit of theirs below which packets were meant.
_LEAST = 1514


def _check_limit(policy: weir.Policy, given: Mapping[str, str], unit: str, capabilities: weir.Capabilities) -> None:
    """Refuses a limit without a suffix that is bytes here, and packets in tc."""
    limit = given.get("limit", "")
    if policy.name in _PACKETS_IN_TC and given.get("unit", unit) == "bytes" and limit.isdigit() and int(limit) < _LEAST:
        raise Refusal(f"limit {limit} is out of range: allowed is {_LEAST} to {capabilities.buffer_bytes} bytes; tc counts packets: "
                      f"unit packets limit {limit}; if bytes are meant, write limit {limit}b")  # fmt: skip


def run(context: Context, words: Words) -> int:
    """The verb."""
    command = words.keyword(COMMANDS, "show", "command of queue")
    if command == "help":
        return _help(context, words)
    if command in ("show", "list"):
        return show(context, words)
    queue = context.queue(words.take("number of the queue"))
    if command in ("del", "delete"):
        words.end()
        context.device.queue_replace(queue, "drop-tail")
    elif command == "change":
        _change(context, queue, words)
    else:
        policy = weir.policy_of(name := words.take("policy"))
        given = settings(words, policy)
        _check_limit(policy, given, "bytes", context.device.capabilities)
        context.device.queue_replace(queue, name, **given)
    return 0


def _policy_named(word: str) -> weir.Policy | None:
    """The policy that a word names; None if it is like none. Raises WeirError of nearly one, and of a qdisc of tc."""
    if any(word.replace("-", "_") == p.name for policy in weir.policies() for p in policy.parameters):
        return None
    try:
        return weir.policy_of(word)
    except weir.WeirError as error:
        if "; choose one of" in error.message:  # like none
            return None
        raise


def _flags_of(name: str, policy: weir.Policy) -> list[str]:
    """The flags that another name of a policy turns on, as drop-front does."""
    usual = weir.complete(policy.name)
    return [flag for flag, value in weir.complete(name).items() if value is True and not usual[flag]]


def _change(context: Context, queue: int, words: Words) -> None:
    with context.device.lock():
        shown = context.device.queue_show(queue)
        now = weir.policy_of(shown["policy"])
        flags: list[str] = []
        named = _policy_named(words.peek() or "")
        if named is not None:
            flags = _flags_of(words.take("policy"), named)
            if named.name not in (now.name, "red" if now.name == "ared" else ""):
                other = named.name
                raise Refusal(f"queue {queue} runs {now.name}, not {other}; write queue replace {queue} {other} …")
        if not words and not flags:
            raise Refusal(f"nothing to change is named; {now.name} has {', '.join(p.name for p in now.parameters)}")
        given = settings(Words([*flags, *words.left()]), now)
        _check_limit(now, given, shown["unit"], context.device.capabilities)
        context.device.queue_change(queue, **given)


def line(shown: Mapping[str, Any], capabilities: weir.Capabilities) -> str:
    """A queue's configuration in one line; what is as a plain queue has it is left out."""
    policy, unit = weir.policy_of(shown["policy"]), shown["unit"]
    whole = {"limit_bytes": capabilities.buffer_bytes, "limit_packets": capabilities.descriptors}
    own = "limit_bytes" if unit == "bytes" else "limit_packets"
    geometric = shown.get("spread") == "geometric"
    parts = [shown["policy"]]
    for p in policy.parameters:
        value = shown.get(p.name)
        if value is None or value is False:
            usual = value is None or p.default in ("off", "") or (p.name == "exempt_first" and geometric)
            parts += [] if usual else [f"{p.name} off"]
        elif value is True:
            usual = (p.default == "on" and p.name != "ecn") or (p.name == "exempt_first" and not geometric)
            parts += [] if usual else [p.name]
        elif p.name == own:
            parts.append(f"limit {text.exact(p, value, unit)}")
        elif p.name in whole and value >= whole[p.name]:
            continue
        elif p.kind == "choice" and value == p.default:
            continue
        elif p.name in ("reserve", "quantum") and text.number(value) == p.default:
            continue
        else:
            parts.append(f"{p.name} {text.exact(p, value, unit)}")
    return " ".join(parts)


def _same_rate(shown: Mapping[str, Any], name: str, rate: float, capabilities: weir.Capabilities) -> bool:
    """Whether a queue has this rate as the one of that name: nearly, or to its registers."""
    if math.isclose(shown[name], rate, rel_tol=1e-4):
        return True
    policy, natural = str(shown["policy"]), {k: v for k, v in shown.items() if k != "policy"}
    try:
        return weir.convert_queue(policy, capabilities, **natural) == weir.convert_queue(
            policy, capabilities, **natural | {name: rate}
        )
    except weir.WeirError:  # registers that libweir would not write
        return False


def other_rates(queue: int, shown: Mapping[str, Any], capabilities: weir.Capabilities) -> list[str]:
    """A sentence for each rate that by default is the link's, and was set for another."""
    link = capabilities.link_rate
    rate = text.rate(float(f"{link:.5g}"))
    return [
        f"queue {queue}: {p.name} {text.rate(float(f'{shown[p.name]:.5g}'))} is not the link's rate, {rate}; "
        f"if the queue has the whole link: weirctl queue change {queue} {p.name} {rate}"
        for p in weir.policy_of(shown["policy"]).parameters
        if p.default == "the link's rate" and p.name in shown and not _same_rate(shown, p.name, link, capabilities)
    ]


def all_other_rates(device: weir.Device) -> list[str]:
    """The same of every queue."""
    capabilities = device.capabilities
    return [s for q in range(capabilities.queues) for s in other_rates(q, device.queue_show(q), capabilities)]


def show(context: Context, words: Words) -> int:
    """`queue show`."""
    device = context.device
    chosen = [context.queue(words.take("queue"))] if words else list(range(device.capabilities.queues))
    words.end()
    state = device.state() if context.options.statistics else None
    found = []
    for queue in chosen:
        shown = text.tidy(device.queue_show(queue), device.capabilities)
        found.append({"queue": queue, **{k: ("off" if v == float("inf") else v) for k, v in shown.items()}})
        if state is not None:
            found[-1]["statistics"] = describe(state, queue)
        if not context.options.json:
            context.say(f"queue {queue} {line(shown, device.capabilities)}")
            for sentence in other_rates(queue, shown, device.capabilities):
                context.say(f" note: {sentence}")
            if state is not None:
                context.say(tc_lines(state, queue))
    if context.options.json:
        context.json(found)
    return 0


#: How the ends of a range are written whose texts say the unit.
_UNITS = {"time": text.time, "rate": text.rate}


def _bound(parameter: weir.Parameter, value: float) -> str:
    return _UNITS.get(parameter.kind, text.number)(value)


def _help(context: Context, words: Words) -> int:
    if not words:
        if context.options.json:
            context.json([dataclasses.asdict(p) for p in weir.policies()])
            return 0
        context.say(HELP + "\npolicies: " + ", ".join(p.name for p in weir.policies()))
        return 0
    policy = weir.policy_of(words.take("policy"))
    words.end()
    if context.options.json:
        context.json(dataclasses.asdict(policy))
        return 0
    rows = [["name", "range", "default", "what"]]
    for p in policy.parameters:
        bounds = (
            " ".join(p.choices)
            if p.choices
            else "on, off"
            if p.kind == "flag"
            else f"{_bound(p, p.min)} to {_bound(p, p.max)} {p.unit if p.kind not in _UNITS else ''}".rstrip()
        )
        rows.append([p.name, bounds, p.default, p.help])
    widths = [max(len(r[i]) for r in rows) for i in range(3)]
    context.say(f"{policy.name}: {policy.help} ({policy.source})")
    for r in rows:
        context.say("  ".join(c.ljust(w) for c, w in zip(r, widths, strict=False)) + "  " + r[3])
    return 0
