"""A whole configuration: as a document (`save`), as commands (`show --commands`), applied (`restore`).

A document is checked on a copy of the device's registers first, with the calls that will be made: what is refused there
has written nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import weir

from . import core, text
from .ending import Check, go_on
from .errors import Refusal
from .overlay import Overlay
from .steps import steps
from .words import near, whole

FORMAT = 1
_CORE = ("shape", "max_frame", "default_queue", "jumbo", "match", "dscp")


def queue_texts(shown: Mapping[str, Any]) -> dict[str, str]:
    """A queue's parameters as exact texts, the policy left out."""
    parameters = weir.policy_of(shown["policy"]).parameters
    return {p.name: text.exact(p, v, shown["unit"]) for p in parameters if (v := shown.get(p.name)) is not None}


def queue_values(shown: Mapping[str, Any]) -> dict[str, Any]:
    """The same as YAML has them: flags and plain numbers as such, what has a unit as text."""
    values: dict[str, Any] = {}
    for name, written in queue_texts(shown).items():
        value = shown[name]
        plain = not isinstance(value, str) and written == text.number(value)
        values[name] = (
            value if isinstance(value, bool) else (int(written) if written.isdigit() else value) if plain else written
        )
    return values


def document(device: weir.Device) -> dict[str, Any]:
    """The whole configuration, ready for YAML."""
    with device.lock():
        d = core.describe(device)
        merges = {q: device.merge(q) for q in range(device.capabilities.queues)}
        mreds = {q: device.mred(q) for q in range(device.capabilities.queues)}
        rules, unmatched = device.match()
        queues = {q: text.tidy(device.queue_show(q), device.capabilities) for q in range(device.capabilities.queues)}
    shape: dict[str, Any] = {"rate": "off"}
    if d["shape"]["rate"]:
        shape = dict(zip(("rate", "burst"), _tidy_shape(d["shape"], device), strict=True))
    shape |= {name: int(d["shape"][name]) for name in ("overhead", "mpu")}
    jumbo = written_jumbo(d["jumbo"]) if d["jumbo"]["ethertype"] else {"mode": "opaque"}
    match = {"default": unmatched} | {n: {"destination": where, "class": k} for n, (where, k) in rules.items()}
    return {
        "weir": FORMAT,
        "core": {"shape": shape, "max_frame": d["max_frame"], "default_queue": d["default_queue"], "jumbo": jumbo,
                 "match": match,
                 "dscp": {n: q for n, q in enumerate(d["dscp"]) if q}},
        "queues": {q: {"policy": shown["policy"], **queue_values(shown)} for q, shown in queues.items()},
        "merge": {q: written_merge(merge) for q, merge in merges.items() if merge["mode"] != "off"},
        # of a queue whose policy knows no MRED the registers say nothing
        "mred": {q: {k: mred[k] for k in core.SHARES} for q, mred in mreds.items()
                 if mred["enable"] and queues[q]["policy"] in core.MRED_POLICIES},
    }  # fmt: skip


def written_jumbo(jumbo: Mapping[str, Any]) -> dict[str, Any]:
    """What becomes of jumbo frames, the time with a unit, where there is one."""
    named = {name: value for name, value in jumbo.items() if name != "spacing"}
    return named | ({"spacing": text.time(jumbo["spacing"])} if jumbo["spacing"] else {})


def written_merge(merge: Mapping[str, Any]) -> dict[str, Any]:
    """How a queue merges, its time with a unit."""
    return dict(merge) | ({"jfet": text.time(merge["jfet"])} if "jfet" in merge else {})


def _tidy_shape(shape: Mapping[str, float], device: weir.Device) -> tuple[str, str]:
    """Rate and burst of the shaper with the fewest digits that make the same registers."""
    rate, burst, capabilities = shape["rate"], shape["burst"], device.capabilities
    words = weir.convert_shaper(rate, text.number(burst), capabilities=capabilities)
    for digits in range(1, 17):
        r, b = float(f"{rate:.{digits}g}"), float(f"{burst:.{max(digits, 4)}g}")
        try:
            if weir.convert_shaper(r, text.number(b), capabilities=capabilities) == words:
                return text.rate(r), text.size(b)
        except weir.WeirError:
            continue
    return text.number(rate), text.number(burst)


def commands(device: weir.Device) -> Iterator[str]:
    """Commands that make this configuration, on a device as it is after a reset or after `queue del` of each queue."""
    d = document(device)
    shape, jumbo = d["core"]["shape"], d["core"]["jumbo"]
    capabilities = device.capabilities
    if shape["rate"] == "off":
        yield "weirctl shape del"
    else:
        yield f"weirctl shape replace {' '.join(f'{name} {value}' for name, value in shape.items())}"
    yield f"weirctl class max_frame {d['core']['max_frame']}"
    yield f"weirctl class default queue {d['core']['default_queue']}"
    yield "weirctl class del all"
    found = d["core"]["dscp"]
    for queue in sorted(set(found.values())):
        yield f"weirctl class replace {core.ranges([n for n, q in found.items() if q == queue])} queue {queue}"
    if "ethertype" in jumbo:
        yield f"weirctl split {core.split_word(jumbo)} {core.jumbo_words(jumbo)}"
    yield "weirctl match del all"
    for name, rule in d["core"]["match"].items():
        if name == "default":
            yield f"weirctl match default {core.match_words(rule)}"
        else:
            yield f"weirctl match replace {name} '{rule['destination']}' {core.match_words(rule['class'])}"
    for queue in d["queues"]:
        shown = text.tidy(device.queue_show(queue), capabilities)
        pairs = " ".join(f"{name} {value}" for name, value in queue_texts(shown).items())
        yield f"weirctl queue replace {queue} {shown['policy']} {pairs}"
    for queue in d["queues"]:
        yield f"weirctl merge {queue} {core.merge_words(d['merge'].get(queue, {'mode': 'off'}))}"
    for queue in d["queues"]:
        yield f"weirctl mred {queue} {core.mred_words(d['mred'].get(queue, {'enable': False}))}"


# ---- checking what a person wrote: names, and words as they are in the file


def _section(value: Any, name: str, known: Iterable[str] | None, main: str | None = None) -> dict[str, Any]:
    """Names and values; a word alone is the value of `main`, if there is one."""
    if main is not None and isinstance(value, str) and value:
        value = {main: value}
    if not isinstance(value, dict):
        raise Refusal(f"{name}: not a section of names and values")
    for key in value:
        if known is not None and key not in known:
            raise Refusal(f"{name}: '{key}' is not known" + near(key, known, f"; it has {', '.join(known)}"))
    return value


def _word(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise Refusal(f"{name}: not a value")
    return value


def _whole(value: Any, name: str, least: int, most: int) -> int:
    return whole(_word(value, name), f"{name}:", least, most)


def _choice(value: Any, name: str, choices: Sequence[str]) -> str:
    word = _word(value, name)
    if word.lower() not in choices:
        why = near(word.lower(), choices, f"; choose one of {', '.join(choices)}")
        raise Refusal(f"{name}: '{word[:40]}' is not known{why}")
    return word.lower()


def _numbered(value: Any, name: str, most: int) -> dict[int, Any]:
    """A section whose names are numbers from 0 on."""
    found: dict[int, Any] = {}
    for key, each in _section(value, name, None).items():
        number = _whole(key, name, 0, most)
        if number in found:
            raise Refusal(f"{name}: {number} is given twice, once as '{key}'")
        found[number] = each
    return found


def check_form(d: Any, queues: int) -> dict[str, Any]:
    """A document whose form is right; values are checked when it is applied to a copy. Raises Refusal."""
    _section(d, "document", ("weir", "core", "queues", "merge", "mred"))
    if "weir" not in d:
        raise Refusal(f"document: 'weir: {FORMAT}' is missing; it tells the form of the file")
    if d["weir"] != str(FORMAT):
        raise Refusal(
            f"document: form 'weir: {str(d['weir'])[:20]}' is not known; this weirctl reads and writes 'weir: {FORMAT}'"
        )
    last = queues - 1
    checked: dict[str, dict[Any, Any]] = {
        "core": _check_core(d.get("core", {}), last),
        "queues": {
            n: _check_queue(queue, f"queues.{n}") for n, queue in _numbered(d.get("queues", {}), "queues", last).items()
        },
        "merge": {
            n: _check_merge(merge, f"merge.{n}") for n, merge in _numbered(d.get("merge", {}), "merge", last).items()
        },
        "mred": {n: _check_mred(mred, f"mred.{n}") for n, mred in _numbered(d.get("mred", {}), "mred", last).items()},
    }
    # a file that names a queue says how it merges, and which jumbo frames pay: not at all, none, if it says nothing
    for number in checked["queues"]:
        checked["merge"].setdefault(number, {"mode": "off"})
        checked["mred"].setdefault(number, {"enable": False})
    return checked


def _check_core(d: Any, last: int) -> dict[str, Any]:
    if isinstance(d, dict) and "mtu" in d:
        raise Refusal(f"core: mtu {core.no_mtu(str(d['mtu']))}")
    given: dict[str, Any] = _section(d, "core", _CORE)
    checked: dict[str, Any] = {}
    if "shape" in given:
        shape = _section(given["shape"], "core.shape", ("rate", "burst", "overhead", "mpu"), "rate")
        if "rate" not in shape:
            raise Refusal("core.shape: rate is missing; write a rate, or off")
        checked["shape"] = {k: _word(v, f"core.shape.{k}") for k, v in shape.items()}
    if "max_frame" in given:
        checked["max_frame"] = core.frame_size(_word(given["max_frame"], "core.max_frame"), "core.max_frame")
    if "default_queue" in given:
        checked["default_queue"] = _whole(given["default_queue"], "core.default_queue", 0, last)
    if "jumbo" in given:
        checked["jumbo"] = _check_jumbo(given["jumbo"])
    if "match" in given:
        checked["match"] = _check_match(given["match"])
    if "dscp" in given:
        found = _numbered(given["dscp"], "core.dscp", 63)
        checked["dscp"] = {n: _whole(q, f"core.dscp.{n}", 0, last) for n, q in found.items()}
    return checked


def _check_jumbo(given: Any) -> dict[str, Any]:
    jumbo = _section(given, "core.jumbo", ("mode", "ethertype", "protocol", "form", "tick", "spacing"), "mode")
    mode = _choice(jumbo.get("mode", "opaque"), "core.jumbo.mode", ("opaque", "off", "split", "on", "transit"))
    checked: dict[str, Any] = {"mode": core.JUMBO_MODES.get(mode, mode)}
    for name, value in jumbo.items():
        where = f"core.jumbo.{name}"
        if name == "form":
            checked[name] = _choice(value, where, ("l2", "l3"))
        elif name == "spacing":
            checked[name] = 0 if (word := _word(value, where)).lower() == "off" else word
        elif name != "mode":
            checked[name] = _whole(value, where, 0, 0xFFFF)
    return checked


def _check_queue(given: Any, name: str) -> dict[str, str]:
    values = {k: _word(v, f"{name}.{k}") for k, v in _section(given, name, None).items()}
    if "policy" not in values:
        raise Refusal(f"{name}: policy is missing")
    return values


def _check_merge(given: Any, name: str) -> dict[str, Any]:
    found = _section(given, name, ("mode", "jfet", *core.LIMITS), "mode")
    mode = _choice(found.get("mode"), f"{name}.mode", ("off", "flow", "class"))
    if "jfet" in found and mode != "class":
        raise Refusal(f"{name}: jfet is of mode class alone; leave it out")
    return {"mode": mode} | {
        k: _word(v, f"{name}.{k}") if k == "jfet" else _whole(v, f"{name}.{k}", 1, 0xFFFF)
        for k, v in found.items()
        if k != "mode"
    }


def _check_mred(given: Any, name: str) -> dict[str, Any]:
    """Shares of a queue's MRED, or off."""
    if isinstance(given, str) and given.lower() == "off":
        return {"enable": False}
    found = _section(given, name, tuple(core.SHARES))
    return core.SHARES | {k: core.share(_word(v, f"{name}.{k}"), f"{name}.{k}:") for k, v in found.items()}


def _check_match(given: Any) -> dict[Any, Any]:
    """The match table: rules by number, and what becomes of other packets."""

    def of(value: Any, name: str) -> int | str:
        bypass = isinstance(value, str) and value.lower() == "bypass"
        return "bypass" if bypass else _whole(value, name, 0, 15)

    rules = dict(_section(given, "core.match", None))
    checked: dict[Any, Any] = {"default": of(rules.pop("default", "0"), "core.match.default")}
    for number, rule in _numbered(rules, "core.match", core.RULES - 1).items():
        name = f"core.match.{number}"
        found = _section(rule, name, ("destination", "class"))
        for key in ("destination", "class"):
            if key not in found:
                raise Refusal(f"{name}: {key} is missing")
        checked[number] = {
            "destination": _word(found["destination"], f"{name}.destination"),
            "class": of(found["class"], f"{name}.class"),
        }
    return checked


# ---- applying


def apply(d: Mapping[str, Any], device: weir.Device, check: Check = go_on) -> None:
    """Sets everything of a checked document. Raises WeirError at the first value that is refused.

    `check` is called before each write and after the last one; what it raises ends this.
    """
    given = d["core"]
    if "shape" in given:
        shape = given["shape"]
        check()
        device.shape(shape["rate"], shape.get("burst"), shape.get("overhead"), shape.get("mpu"))
    if "jumbo" in given:
        check()
        device.jumbo(**given["jumbo"])
    if "max_frame" in given:
        check()
        device.max_frame(given["max_frame"])
    if "default_queue" in given:
        check()
        device.default_queue(given["default_queue"])
    if "match" in given:
        rules = {n: (rule["destination"], rule["class"]) for n, rule in given["match"].items() if n != "default"}
        check()
        try:
            device.match(rules, given["match"]["default"])
        except weir.WeirError as error:
            raise weir.WeirError(error.code, f"core.match: {error.message}") from error
    if "dscp" in given:
        check()
        device.dscp_map([given["dscp"].get(n, 0) for n in range(64)])
    for queue, step in steps(device, d["queues"]):
        values = dict(step)
        policy = str(values.pop("policy"))
        check()
        try:
            device.queue_replace(queue, policy, **values)
        except weir.WeirError as error:
            raise weir.WeirError(error.code, f"queues.{queue}: {error.message}") from error
    for queue, merge in d["merge"].items():
        check()
        try:
            device.merge(queue, **merge)
        except weir.WeirError as error:
            raise weir.WeirError(error.code, f"merge.{queue}: {error.message}") from error
    for queue, mred in d["mred"].items():
        if "low" not in mred and not device.mred(queue)["enable"]:
            continue
        check()
        try:
            device.mred(queue, **mred)
        except weir.WeirError as error:
            raise weir.WeirError(error.code, f"mred.{queue}: {error.message}") from error
    check()


def rehearse(d: Mapping[str, Any], device: weir.Device) -> weir.Device:
    """A copy of the device to which a checked document has been applied. Raises WeirError, writes nothing to the device."""
    copy = weir.Device(Overlay(device))
    apply(d, copy)
    return copy


def differences(before: Any, after: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    """What is not the same in two documents: its name, and both values, None where there is none."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(k for k in after if k not in before)]:
            yield from differences(before.get(key), after.get(key), f"{name}.{key}" if name else str(key))
    elif before != after:
        yield name, before, after
