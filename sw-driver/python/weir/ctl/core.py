"""`weirctl class`, `shape`, `split`, `merge`, `match` and `reset`: what belongs to the core as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import weir

from . import text
from .context import Context
from .errors import Ended, Refusal
from .queue import all_other_rates
from .words import Words, whole

CLASS_HELP = """\
weirctl class show                         which queue packets go to, by DSCP; -j: JSON
weirctl class replace DSCP[,DSCP…] queue N 0 to 63, 0x2e, a name (EF, AF11, CS3 …), a range 8-15, or all
weirctl class del DSCP[,DSCP…]             back to queue 0
weirctl class default queue N              frames that are not IP
weirctl class max_frame BYTES              the longest frame, 64 to 9216

max_frame counts the Ethernet header and VLAN tags, not the FCS.
An MTU is the packet in the frame: for an MTU of 1500 write max_frame 1514, with VLAN tags 1518 (one) or 1522 (two).
"""
SHAPE_HELP = """\
weirctl shape show                         -j: JSON
weirctl shape replace rate RATE [burst SIZE] [overhead BYTES] [mpu BYTES]
weirctl shape del                          as fast as the line

rate: 64kbit to the line's; burst: bytes that may be sent ahead of it, 1538. A frame counts max(its length, mpu) + overhead
bytes: overhead 24 is Ethernet's preamble, FCS and gap, mpu 60 its least frame without FCS (0: none). tc's mpu includes the
overhead: its `overhead 24 mpu 84` is `overhead 24 mpu 60` here.
"""
SPLIT_HELP = """\
weirctl split show                         what becomes of jumbo frames that arrive; -j: JSON
weirctl split on [spacing TIME|off] …      each packet then arrives by itself
weirctl split off|transit [ethertype 0x88B5] [protocol 253] [form l2|l3] [tick 6]

spacing: each waits for as long as it came after the first of its jumbo frame, where that was built, TIME at most, e.g. 1ms.
While it is on nothing is merged, also no packets that came alone.
transit: the packets of a jumbo frame are stored as packets, but decided about, queued and sent together.
ethertype, protocol: of jumbo frames in both directions; form and tick: of those that `merge` builds, the tick log2 of the
spacing's unit in ns.
"""
MERGE_HELP = """\
weirctl merge show                         which queues merge packets into jumbo frames; -j: JSON
weirctl merge N off
weirctl merge N flow [max_bytes 9216] [max_sum 8960] [max_count 448]
weirctl merge N class [jfet 100us] [max_bytes 9216] [max_sum 8960] [max_count 448]

flow: packets of one flow that wait in queue N leave in one jumbo frame. class: packets of one class (`weirctl match`) wait
for each other, jfet after the first came at most. max_bytes of the jumbo frame, max_sum of its IP packets, max_count packets.
A change closes the groups that wait. Nothing is merged while `split` has a spacing.
"""
MATCH_HELP = """\
weirctl match show                         which packets may be merged with which; -j: JSON
weirctl match replace N DESTINATION class K|bypass
weirctl match del N|all
weirctl match default class K|bypass       packets that no rule matches, class 0

The first rule, 0 to 15, that matches a packet's destination counts: 10.1.0.0/16, 10.0.2.0&255.0.255.0, 2001:db8:1::/48 (of
IPv6 the first 64 bits). Its packets are of class K, 0 to 15, where a queue merges by class; bypass: they are never merged.
A change closes all groups.
"""
MRED_HELP = """\
weirctl mred show                          queues whose jumbo frames pay for one that is selected; -j: JSON
weirctl mred N off
weirctl mred N low 0.025 high 0.5

Of queues with red, isred or ared, for jumbo frames in transit (`split transit`): the one that is selected is spared, and
the one nearest the head loses a share of its packets (with ecn they are marked): low at min, high at max. The slope between
them follows when the queue's min or max change.
"""
RESET_HELP = """\
weirctl reset                              datapath, queues and counters start anew; the configuration stays
"""

#: Names of DSCPs (RFC 2474, 2597, 3246, 5865, 8622).
DSCPS: Final = {
    **{f"CS{n}": 8 * n for n in range(8)}, **{f"AF{c}{d}": 8 * c + 2 * d for c in range(1, 5) for d in range(1, 4)},
    "EF": 46, "VA": 44, "LE": 1, "BE": 0,
}  # fmt: skip


def dscps(words: str) -> list[int]:
    """The DSCPs of "46,AF11,8-15"."""
    found: list[int] = []
    for part in words.split(","):
        first, dash, last = part.partition("-")
        if part.lower() == "all":
            found += range(64)
        elif dash:
            low, high = whole(first, "DSCP", 0, 63), whole(last, "DSCP", 0, 63)
            if low > high:
                raise Refusal(f"DSCPs '{part}' go backwards; write {high}-{low}")
            found += range(low, high + 1)
        else:
            named = DSCPS.get(part.upper())
            found.append(whole(part, "DSCP", 0, 63) if named is None else named)
    return found


def ranges(numbers: list[int]) -> str:
    """[0, 1, 2, 46] as "0-2,46"."""
    parts: list[str] = []
    for i, n in enumerate(numbers):
        if i and n == numbers[i - 1] + 1:
            parts[-1] = f"{parts[-1].partition('-')[0]}-{n}"
        else:
            parts.append(str(n))
    return ",".join(parts)


#: Bytes of an Ethernet header without VLAN tags and of a tag; least and most of max_frame.
_HEADER, _TAG, _LEAST, _LONGEST = 14, 4, 64, 9216


def frame_size(size: str, name: str = "max_frame") -> int:
    """The length of the longest frame, in bytes or with a suffix."""
    try:
        value = weir.parse_size(size)
    except weir.WeirError as error:
        raise Refusal(f"{name}: {error.message}") from None
    if not _LEAST <= value <= _LONGEST or value != int(value):
        raise Refusal(f"{name} {size} is out of range: allowed is {_LEAST} to {_LONGEST} whole bytes")
    return int(value)


def no_mtu(size: str | None) -> str:
    """Why `mtu` is refused, and what to write for an MTU of this size."""
    try:
        mtu = int(min(weir.parse_size(size or "1500"), _LONGEST))
    except weir.WeirError:
        mtu = 1500
    frames = [max(mtu + _HEADER + tags * _TAG, _LEAST) for tags in range(3)]
    write = ", with ".join(
        f"{where} {frame}"
        for where, frame in zip(("write max_frame", "a VLAN tag", "two"), frames, strict=True)
        if frame <= _LONGEST
    )
    if frames[-1] == _LEAST:
        write = f"write max_frame {_LEAST}, the least"
    if frames[0] > _LONGEST:
        write = f"no frame is longer than {_LONGEST}, so the largest MTU is {_LONGEST - _HEADER}: write max_frame {_LONGEST}"
    return f"is the packet in a frame, max_frame the whole frame; {write}"


def run_class(context: Context, words: Words) -> int:
    """`weirctl class`."""
    if words.peek() == "mtu":
        words.take("mtu")
        raise Refusal(f"mtu {no_mtu(words.peek())}")
    command = words.keyword(
        ("show", "replace", "add", "change", "del", "default", "max_frame"), "show", "command of class"
    )
    device = context.device
    if command == "show":
        words.end()
        return _show_class(context)
    if command == "max_frame":
        size = words.take("bytes")
        words.end()
        device.max_frame(frame_size(size))
        return 0
    if command == "default":
        words.keyword(("queue",), None, "keyword")
        queue = context.queue(words.take("number of the queue"))
        words.end()
        device.default_queue(queue)
        return 0
    if words.peek() == "dscp":
        words.take("dscp")
    chosen = dscps(words.take("DSCP"))
    queue = 0
    if command != "del":
        words.keyword(("queue",), None, "keyword")
        queue = context.queue(words.take("number of the queue"))
    words.end()
    with device.lock():
        device.dscp_map(dict.fromkeys(chosen, queue))
    return 0


def _show_class(context: Context) -> int:
    device = context.device
    found, default, longest = device.dscp_map(), device.default_queue(), device.max_frame()
    if context.options.json:
        context.json({"dscp": {str(d): q for d, q in enumerate(found)}, "default": default, "max_frame": longest})
        return 0
    for queue in sorted(set(found)):
        context.say(f"class dscp {ranges([d for d, q in enumerate(found) if q == queue])} queue {queue}")
    context.say(f"class default queue {default}\nclass max_frame {longest}")
    return 0


def run_shape(context: Context, words: Words) -> int:
    """`weirctl shape`."""
    command = words.keyword(("show", "replace", "add", "change", "del"), "show", "command of shape")
    device = context.device
    if command == "show":
        words.end()
        shown = device.shape_show()
        if context.options.json:
            context.json(shown)
        else:
            context.say(shape_line(shown, device.capabilities.line_rate))
        return 0
    if command == "del":
        words.end()
        device.shape("off")
        _tell_rates(context)
        return 0
    given: dict[str, str] = {}
    while words:
        name = words.keyword(("rate", "burst", "overhead", "mpu"), None, "parameter of shape")
        given[name] = words.take(name)
    with device.lock():
        if command == "change":
            now = device.shape_show()
            kept = {name: value for name, value in now.items() if name != "burst" or now["rate"]}
            given = {name: given.get(name, text.number(value)) for name, value in kept.items()} | given
        if "rate" not in given:
            raise Refusal("rate is missing, e.g. rate 100mbit; `shape del` turns the shaper off")
        device.shape(given["rate"], given.get("burst"), given.get("overhead"), given.get("mpu"))
    _tell_rates(context)
    return 0


def _tell_rates(context: Context) -> None:
    """Queues keep the rates for which they were set. Nothing is said into JSON; doctor has it."""
    for sentence in [] if context.options.json else all_other_rates(context.device):
        context.say(f"note: {sentence}")


def shape_line(shown: dict[str, float], line_rate: float) -> str:
    """The shaper in one line, rounded for people."""
    if not shown["rate"]:
        return f"shape off, the line takes {text.rate(line_rate)}"
    rate = text.rate(float(f"{shown['rate']:.5g}"))
    burst = text.size(round(shown["burst"]))
    return f"shape rate {rate} burst {burst} overhead {shown['overhead']:.0f} mpu {shown['mpu']:.0f}"


def run_split(context: Context, words: Words) -> int:
    """`weirctl split`."""
    command = words.keyword(("show", "on", "off", "transit"), "show", "command of split")
    device = context.device
    if command != "show":
        with device.lock():
            now = device.jumbo()
            names = ("ethertype", "protocol", "form", "tick", *(("spacing",) if command == "on" else ()))
            numbers: dict[str, Any] = {name: now[name] for name in names}
            while words:
                name = words.keyword(names, None, "parameter of split")
                numbers[name] = split_value(name, words)
            words.end()
            device.jumbo(JUMBO_MODES.get(command, command), **numbers)
        return 0
    words.end()
    shown = device.jumbo()
    if context.options.json:
        context.json(shown)
    else:
        context.say(f"split {split_word(shown)} {jumbo_words(shown)}")
    return 0


def split_value(name: str, words: Words) -> Any:
    """The value of a parameter of `weirctl split`."""
    if name == "form":
        return words.keyword(("l2", "l3"), None, "form")
    if name == "spacing":
        return 0 if (value := words.take(name)) == "off" else value
    return words.number(name, 1, 0xFFFF)


#: What `weirctl split` calls the modes.
JUMBO_MODES: Final = {"on": "split", "off": "opaque"}


def split_word(jumbo: Mapping[str, Any]) -> str:
    """What `weirctl split` calls the mode."""
    return {mode: word for word, mode in JUMBO_MODES.items()}.get(jumbo["mode"], str(jumbo["mode"]))


def jumbo_words(jumbo: Mapping[str, Any]) -> str:
    """The numbers of jumbo frames, as `weirctl split` takes them."""
    words = f"ethertype 0x{jumbo['ethertype']:04X} protocol {jumbo['protocol']}"
    words += f" form {jumbo['form']} tick {jumbo['tick']}" if jumbo.get("tick") else ""
    if jumbo["mode"] != "split" or "spacing" not in jumbo:
        return words
    spacing = jumbo["spacing"]
    return f"{words} spacing {(spacing if isinstance(spacing, str) else text.time(spacing)) if spacing else 'off'}"


LIMITS = ("max_bytes", "max_sum", "max_count")


def merge_words(merge: Mapping[str, Any]) -> str:
    """How a queue merges, as `weirctl merge N` takes it."""
    if merge["mode"] == "off":
        return "off"
    jfet = merge.get("jfet", "")
    before = [f"jfet {jfet if isinstance(jfet, str) else text.time(jfet)}"] if jfet else []
    return " ".join([str(merge["mode"]), *before, *(f"{name} {merge[name]}" for name in LIMITS if name in merge)])


def _shows_queues(
    context: Context, words: Words, name: str, read: Callable[[int], Any], as_words: Callable[[Any], str]
) -> bool:
    """Shows a setting of every queue if the words ask for that; whether they did."""
    if words.peek() not in (None, "show"):
        return False
    if words:
        words.take("show")
    words.end()
    shown = {q: read(q) for q in range(context.device.capabilities.queues)}
    if context.options.json:
        context.json(shown)
        return True
    for q, setting in shown.items():
        context.say(f"{name} {q} {as_words(setting)}")
    return True


def run_merge(context: Context, words: Words) -> int:
    """`weirctl merge`."""
    device = context.device
    if _shows_queues(context, words, "merge", device.merge, merge_words):
        return 0
    queue = context.queue(words.take("number of the queue"))
    mode = words.keyword(("off", "flow", "class"), None, "mode of merge")
    limits: dict[str, Any] = {}
    while words:
        name = words.keyword(("jfet", *LIMITS) if mode == "class" else LIMITS, None, "parameter of merge")
        limits[name] = words.take(name) if name == "jfet" else words.number(name, 1, 0xFFFF)
    device.merge(queue, mode, **limits)
    return 0


RULES = 16


def match_words(number: int | str) -> str:
    """A class as `weirctl match` takes it."""
    return "bypass" if number == "bypass" else f"class {number}"


def _class(words: Words) -> int | str:
    if words.keyword(("class", "bypass"), None, "what becomes of the packets") == "bypass":
        return "bypass"
    return words.number("class", 0, 15)


def run_match(context: Context, words: Words) -> int:
    """`weirctl match`."""
    command = words.keyword(("show", "replace", "add", "change", "del", "default"), "show", "command of match")
    device = context.device
    if command == "show":
        words.end()
        rules, unmatched = device.match()
        if context.options.json:
            found = {n: {"destination": where, "class": k} for n, (where, k) in rules.items()}
            context.json({"rules": found, "default": unmatched})
            return 0
        for n, (where, found_class) in rules.items():
            context.say(f"match {n} {where} {match_words(found_class)}")
        context.say(f"match default {match_words(unmatched)}")
        return 0
    number: int | None = None
    if command == "del" and words.peek() == "all":
        words.take("all")
    elif command != "default":
        number = whole(words.take("number of the rule"), "rule", 0, RULES - 1)
    where = words.take("destination") if command in ("replace", "add", "change") else ""
    chosen = _class(words) if command != "del" else 0
    words.end()
    with device.lock():
        rules, unmatched = device.match()
        if command == "default":
            unmatched = chosen
        elif command == "del":
            rules = {} if number is None else {n: rule for n, rule in rules.items() if n != number}
        else:
            assert number is not None
            rules[number] = (where, chosen)
        device.match(rules, unmatched)
    return 0


MRED_POLICIES: Final = ("red", "isred", "ared")
#: MRED's shares where none are given.
SHARES: Final = {"low": 0.025, "high": 0.5}


def mred_words(mred: Mapping[str, Any]) -> str:
    """Shares, as `weirctl mred N` takes them."""
    if not mred.get("enable", True):
        return "off"
    return " ".join(f"{name} {text.number(mred[name])}" for name in SHARES)


def share(value: str, name: str) -> float:
    """A share, whose range the device checks."""
    try:
        return weir.parse_number(value)
    except weir.WeirError:
        raise Refusal(f"{name} '{value[:40]}' is not a number; allowed is 0 to 1") from None


def run_mred(context: Context, words: Words) -> int:
    """`weirctl mred`."""
    device = context.device
    if _shows_queues(context, words, "mred", device.mred, mred_words):
        return 0
    queue = context.queue(words.take("number of the queue"))
    shares = dict(SHARES)
    if words.peek() == "off":
        words.take("off")
        words.end()
        device.mred(queue, enable=False)
        return 0
    while words:
        name = words.keyword(tuple(SHARES), None, "parameter of mred")
        shares[name] = share(words.take(name), name)
    device.mred(queue, shares["low"], shares["high"])
    return 0


def run_reset(context: Context, words: Words) -> int:
    """`weirctl reset`."""
    words.end()
    context.device.reset()
    if context.device.core_live().resetting:
        raise Ended(1, "the reset has not ended")
    return 0


def describe(device: weir.Device) -> dict[str, Any]:
    """Everything of the core that `save` keeps."""
    return {
        "shape": device.shape_show(),
        "max_frame": device.max_frame(),
        "default_queue": device.default_queue(),
        "jumbo": device.jumbo(),
        "dscp": device.dscp_map(),
    }
