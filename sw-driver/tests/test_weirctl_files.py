"""save, restore and the YAML between them: round trips, what is refused, rollback and confirmation."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import weir
from fake_core import POLICIES, FakeCore, RegisterFile
from test_libweir_device import legal
from test_weirctl import run as run  # the fixture
from weir.ctl import files, whole
from weir.ctl.errors import Refusal
from weir.ctl.main import main

GOOD = """\
weir: 1
core:
  shape: {rate: 1Gbit, burst: 3000b, mpu: 68}
  dscp: {46: 1}
queues:
  0: {policy: red, limit: 100KB, min: 5KB, max: 15KB, probability: 2%, ecn: on}
  1: {policy: drop-tail, limit: 50KB, reserve: 10}
"""


def configuration(core: FakeCore) -> dict[int, int]:
    """What the datapath has."""
    return {a: v for a, v in core.live.items() if 0x40 <= a < 0xC0 or (a >= 0x1000 and (a & 0x3FF) < 0xFC)}


def written(document: Any) -> Any:
    """A document as a file has it."""
    return files.parse(yaml.safe_dump(document))


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


# ---- round trips


def test_what_is_saved_is_restored(run: Any, every: FakeCore, good: Path, tmp_path: Path) -> None:
    assert run("restore", good) == (0, "", "")
    assert every.applied("RED_MAX", 0) == 15 << 10 << 11 and every.applied("RESERVE_CELLS", 1) == 10
    assert every.applied("SHAPER_COST_LO") == 8 << 19 and every.applied("DSCP_MAP5") == 1 << 24
    assert every.applied("SHAPER_OVERHEAD") == 68 << 16 | 24
    assert every.applied("SHARED_CELLS") == 2037
    for queue, policy in ((2, "fn"), (3, "codel")):
        run("queue", "replace", queue, policy, *(["window", 2048] if policy == "fn" else []))
    run("split", "on", "ethertype", "0x88B6", "protocol", 254)
    before = configuration(every)
    assert run("save", tmp_path / "saved.yaml") == (0, "", "")
    for queue in range(4):
        run("queue", "del", queue)
    run("shape", "del")
    run("split", "off", "ethertype", "0x88B5", "protocol", 253)
    run("class", "del", "all")
    assert configuration(every) != before
    assert run("restore", tmp_path / "saved.yaml") == (0, "", "")
    assert configuration(every) == before
    assert run("restore", tmp_path / "saved.yaml", "--dry-run")[1] == "nothing would change\n"
    assert run("save")[1].splitlines()[1:] == (tmp_path / "saved.yaml").read_text().splitlines()[1:]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(natural=legal())
def test_any_configuration_survives_a_file(register_map_file: RegisterFile, natural: dict[str, Any]) -> None:
    one, two = FakeCore(register_map_file), FakeCore(register_map_file)
    device, other = weir.Device(one), weir.Device(two)
    for queue in range(4):
        device.queue_replace(queue, "drop-tail")
    device.queue_replace(2, "red", **natural)
    document = whole.document(device)
    whole.apply(whole.check_form(files.parse(files.dump(document)), 4), other)
    assert configuration(one) == configuration(two) and whole.document(other) == document


@st.composite
def of_any_policy(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A policy and some of its parameters, each in its own range; together they may be refused."""
    policy = draw(st.sampled_from([p for p in weir.policies() if p.name != "red"]))
    natural: dict[str, Any] = {}
    for p in policy.parameters:
        if p.name in ("adaptive", "unit", "low_latency", "coupled") or not draw(st.integers(0, 2)):
            continue
        if p.kind == "flag":
            natural[p.name] = draw(st.booleans())
        elif p.kind == "choice":
            natural[p.name] = draw(st.sampled_from(p.choices))
        elif (
            p.kind in ("size", "count") or p.unit == "cells" or p.name in ("window", "coupling_factor", "mean", "avpkt")
        ):
            natural[p.name] = draw(st.integers(int(p.min), int(min(p.max, 9216 if p.name == "quantum" else 20000))))
        else:
            natural[p.name] = draw(st.one_of(st.floats(p.min, p.max), st.floats(-6, 4).map(lambda e: 10.0**e)))  # noqa: B023
    return policy.name, natural


@settings(max_examples=50, suppress_health_check=list(HealthCheck), deadline=None)
@given(drawn=of_any_policy())
def test_any_configuration_of_any_policy_survives_a_file_and_a_command(
    register_map_file: RegisterFile, drawn: tuple[str, dict[str, Any]]
) -> None:
    policy, natural = drawn
    cores = [FakeCore(register_map_file, policies=POLICIES) for _ in range(3)]
    one, two, three = (weir.Device(core) for core in cores)
    for queue in range(4):
        one.queue_replace(queue, "drop-tail")
    try:
        one.queue_replace(1, policy, **natural)
    except weir.WeirError as refused:
        assume(refused.name not in ("RANGE", "CONFLICT"))
        raise
    whole.apply(whole.check_form(files.parse(files.dump(whole.document(one))), 4), two)
    for line in whole.commands(one):
        assert main(line.split()[1:], three) == 0, line
    assert configuration(cores[0]) == configuration(cores[1]) == configuration(cores[2])


DESTINATIONS = ("10.1.0.0/16", "10.0.2.0&255.0.255.0", "0.0.0.0/0", "2001:db8::/48", "fd00::/64", "::/0", "10.9.8.7/32")
SHARES = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 2.0**-32, 0.025, 0.5, 1 - 2.0**-32, 1.0]))


@st.composite
def of_jumbo_frames(draw: st.DrawFn) -> dict[str, Any]:
    """All that is said of jumbo frames: mode, form, match table, and of each queue a policy, merging and MRED."""
    queues = []
    for _ in range(4):
        low, high = sorted((draw(SHARES), draw(SHARES)))
        merge = draw(st.sampled_from(["off", "flow", "class"]))
        queues.append({
            "policy": draw(st.sampled_from(["drop-tail", "red", "isred", "ared", "codel"])),
            "mred": draw(st.sampled_from([None, (low, high)])),
            "merge": (merge,) if merge == "off" else (merge, draw(st.integers(64, 9216)), draw(st.integers(40, 8960)),
                                                      draw(st.integers(2, 448)), f"{draw(st.integers(1, 10**9))}ns"),
        })  # fmt: skip
    classes = st.one_of(st.integers(0, 15), st.just("bypass"))
    return {
        "jumbo": {"mode": draw(st.sampled_from(["opaque", "split", "transit"])), "ethertype": draw(st.integers(0x88B5, 0x88B6)),
                  "protocol": draw(st.integers(253, 254)), "form": draw(st.sampled_from(["l2", "l3"])), "tick": draw(st.integers(1, 16))},
        "rules": draw(st.dictionaries(st.integers(0, 15), st.tuples(st.sampled_from(DESTINATIONS), classes))),
        "unmatched": draw(classes),
        "queues": queues,
    }  # fmt: skip


@settings(max_examples=30, suppress_health_check=list(HealthCheck), deadline=None)
@given(of_jumbo_frames(), of_jumbo_frames())
def test_whatever_is_said_of_jumbo_frames_survives_a_file_and_commands(
    register_map_file: RegisterFile, wanted: dict[str, Any], other: dict[str, Any]
) -> None:
    """Restored over another configuration, and by commands on a new device: register for register, the slope of MRED too."""
    cores = [FakeCore(register_map_file, policies=POLICIES) for _ in range(3)]
    one, two, three = (weir.Device(core) for core in cores)
    for device, chosen in ((one, wanted), (two, other)):
        device.jumbo(**chosen["jumbo"])
        device.match(chosen["rules"], chosen["unmatched"])
        for number, queue in enumerate(chosen["queues"]):
            device.queue_replace(number, queue["policy"])
            device.merge(number, *queue["merge"])
            if queue["mred"] and queue["policy"] in ("red", "isred", "ared"):
                device.mred(number, *queue["mred"])
    document = whole.document(one)
    whole.apply(whole.check_form(files.parse(files.dump(document)), 4), two)
    for line in whole.commands(one):
        assert main([word.strip("'") for word in line.split()[1:]], three) == 0, line
    assert whole.document(two) == whole.document(three) == document
    for number, queue in enumerate(wanted["queues"]):
        family = queue["mred"] is not None and queue["policy"] in ("red", "isred", "ared")
        assert (number in document["mred"]) == family and one.mred(number)["enable"] == family
        for name in ("MRED", "MRED_LO", "MRED_HI", "MRED_SLOPE", "MERGE"):
            assert len({core.applied(name, number) for core in cores}) == 1, name
        if queue["merge"][0] == "class":
            assert len({core.applied("MERGE_JFET", number) for core in cores}) == 1
    for address in (*range(0x40, 0x5C, 4), *range(0x64, 0xA0, 4)):  # without trace and LFSR, which no file carries
        assert len({core.live[address] for core in cores}) == 1, hex(address)


def test_mred_is_saved_restored_and_refused(run: Any, every: FakeCore, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("weir: 1\nqueues: {1: {policy: red, min: 30KB, max: 90KB}}\nmred: {1: {low: 0.1, high: 0.75}}\n")
    assert run("restore", file) == (0, "", "")
    assert [every.applied(name, 1) for name in ("MRED", "MRED_LO", "MRED_HI")] == [1, int(0.1 * 2**32), 3 << 30]
    assert run("restore", file, "--dry-run")[1] == "nothing would change\n"
    assert "mred 1 low 0.1 high 0.75" in run("show")[1].splitlines()
    assert "weirctl mred 1 low 0.1 high 0.75" in run("show", "--commands")[1].splitlines()
    file.write_text("weir: 1\nqueues: {1: {policy: red}}\n")
    assert run("restore", file, "--dry-run")[1].count("mred.1") == 1
    assert run("restore", file)[0] == 0 and every.applied("MRED", 1) == 0
    file.write_text("weir: 1\nmred: {1: {}}\n")
    assert run("restore", file)[0] == 0 and run("mred")[1].splitlines()[1] == "mred 1 low 0.025 high 0.5"
    file.write_text("weir: 1\nmred: {1: off}\n")
    assert run("restore", file)[0] == 0 and every.applied("MRED", 1) == 0
    every.forget()
    for given_mred, said in (
        ("{0: {low: 0.1}}", "mred.0: mred needs red, isred or ared in queue 0"),
        ("{1: {low: 0.9}}", "mred.1: mred high 0.5 is out of range: allowed is 0.9 (low) to 1"),
        ("{1: {low: few}}", "mred.1.low: 'few' is not a number; allowed is 0 to 1"),
        ("{1: {mid: 0.1}}", "mred.1: 'mid' is not known; it has low, high"),
        ("{4: off}", "mred: 4 is out of range: allowed is 0 to 3"),
        ("{1: on}", "mred.1: not a section"),
    ):
        file.write_text(f"weir: 1\nmred: {given_mred}\n")
        code, _, err = run("restore", file)
        assert code == 2 and said in err and not every.log


def test_off_is_a_word(run: Any, every: FakeCore, tmp_path: Path) -> None:
    """As a person writes it, of all that can be off; YAML 1.1 makes a boolean of it."""
    run("queue", "replace", 0, "red", "limit", "100KB", "ecn")
    run("shape", "replace", "rate", "1gbit")
    run("split", "on", "spacing", "1ms")
    run("merge", 0, "flow")
    run("mred", 0)
    (tmp_path / "f").write_text(
        "weir: 1\ncore: {shape: off, jumbo: {mode: on, spacing: off}}\nqueues: {0: {policy: red, limit: 100KB, ecn: off}}\n"
        "merge: {0: off}\nmred: {0: off}\n"
    )
    assert run("restore", tmp_path / "f") == (0, "", "")
    found = json.loads(run("-j", "show")[1])
    assert found["core"]["shape"]["rate"] == "off" and found["core"]["jumbo"]["mode"] == "split"
    assert "spacing" not in found["core"]["jumbo"] and (found["merge"], found["mred"]) == ({}, {})
    assert found["queues"]["0"]["ecn"] is False
    (tmp_path / "f").write_text("weir: 1\ncore: {shape: {rate: off}, jumbo: {mode: off}}\nmerge: {0: {mode: off}}\n")
    assert run("restore", tmp_path / "f") == (0, "", "")
    assert json.loads(run("-j", "show")[1])["core"]["jumbo"]["mode"] == "opaque"


def test_words_are_as_good_in_capitals(run: Any, every: FakeCore, tmp_path: Path) -> None:
    """As policies, choices and units are."""
    (tmp_path / "f").write_text(
        "weir: 1\ncore: {shape: OFF, jumbo: {mode: Split, form: L3, spacing: OFF}, match: {default: Bypass}}\n"
        "queues: {0: {policy: RED, limit: 100KB, ecn: OFF, spread: Uniform}}\nmerge: {0: {mode: OFF}, 1: Flow}\nmred: {0: Off}\n"
    )
    assert run("restore", tmp_path / "f") == (0, "", "")
    found = json.loads(run("-j", "show")[1])
    assert (found["core"]["jumbo"]["mode"], found["core"]["jumbo"]["form"]) == ("split", "l3")
    assert found["core"]["match"] == {"default": "bypass"} and found["queues"]["0"]["spread"] == "uniform"
    assert [(q, m["mode"]) for q, m in found["merge"].items()] == [("1", "flow")] and found["mred"] == {}


def test_numbers_are_decimal_as_everywhere_else(run: Any, every: FakeCore, tmp_path: Path) -> None:
    """YAML 1.1 reads 010 as 8, 01750 as 1000 and 0x as hexadecimal; the last is meant so."""
    (tmp_path / "f").write_text(
        "weir: 1\ncore: {dscp: {010: 1}, jumbo: {mode: split, protocol: 0200, ethertype: 0x88b6}}\n"
        "queues: {01: {policy: drop-tail, limit: 01750, limit_packets: 010}, 2: {policy: drop-tail, limit: '2KB', front: True}}\n"
    )
    assert run("restore", tmp_path / "f") == (0, "", "")
    assert every.applied("DSCP_MAP1") == 1 << 4 * (10 - 8) and json.loads(run("-j", "split")[1])["protocol"] == 200
    assert [every.applied(n, 1) for n in ("LIMIT_BYTES", "LIMIT_PACKETS")] == [1750, 10]
    assert every.applied("LIMIT_BYTES", 2) == 2048 and json.loads(run("-j", "split")[1])["ethertype"] == 0x88B6
    assert run("class", "replace", "010", "queue", "02") == (0, "", "") and every.applied("DSCP_MAP1") == 2 << 8


def test_json_of_show_is_a_file_too(run: Any, every: FakeCore, good: Path, tmp_path: Path) -> None:
    run("restore", good)
    (tmp_path / "f.json").write_text(run("-j", "show")[1])
    assert run("restore", tmp_path / "f.json", "--dry-run") == (0, "nothing would change\n", "")


def test_what_is_not_named_stays(run: Any, every: FakeCore, tmp_path: Path) -> None:
    run("queue", "replace", 0, "pie")
    run("shape", "replace", "rate", "1gbit")
    before = configuration(every)
    (tmp_path / "f").write_text("weir: 1\nqueues: {2: {policy: drop-tail, limit: 5000b}}\n")
    assert run("restore", tmp_path / "f")[0] == 0
    changed = {a for a, v in configuration(every).items() if v != before[a]}
    assert changed <= set(range(0x1800, 0x1900)) and every.applied("LIMIT_BYTES", 2) == 5000


def test_a_dry_run_tells_what_would_change_and_writes_nothing(run: Any, every: FakeCore, good: Path) -> None:
    code, out, _ = run("restore", good, "--dry-run")
    assert code == 0 and not every.log
    assert "core.shape.rate: off -> 1Gbit" in out and "queues.0.policy: drop-tail -> red" in out
    changes = {c["name"]: c for c in json.loads(run("-j", "restore", good, "--dry-run")[1])}
    assert changes["queues.0.min"] == {"name": "queues.0.min", "before": None, "after": "5KB"} and not every.log
    assert changes["core.shape.rate"]["before"] == "off" and len(changes) == len(out.splitlines())
    assert "queues.0.min: - -> 5KB" in out and "core.dscp.46: - -> 1" in out and "queues.2" not in out


def test_cells_and_windows_change_hands(run: Any, every: FakeCore, tmp_path: Path) -> None:
    """Two queues whose reserves only fit if the one that gives comes first."""
    run("queue", "replace", 0, "drop-tail", "reserve", 2000)
    (tmp_path / "f").write_text(
        "weir: 1\nqueues:\n  1: {policy: drop-tail, reserve: 2000}\n  0: {policy: drop-tail, reserve: 40}\n"
    )
    for order in (0, 1):
        assert run("restore", tmp_path / "f") == (0, "", ""), order
        assert every.applied("RESERVE_CELLS", 1) == 2000 and every.applied("SHARED_CELLS") == 7


def windows(run: Any) -> list[int | None]:
    """Of each queue, FN's window."""
    return [shown.get("window") for shown in json.loads(run("-j", "queue", "show")[1])]


def test_a_legal_set_of_windows_is_restored_whatever_they_were(run: Any, every: FakeCore, tmp_path: Path) -> None:
    """Windows of 1000, 1000, 2000 leave no place for 4000 as long as one of them stays where it is."""
    for queue, window in ((0, 1000), (1, 1000), (2, 2000)):
        run("queue", "replace", queue, "fn", "window", window)
    (tmp_path / "f").write_text(
        "weir: 1\nqueues: {0: {policy: fn, window: 1}, 1: {policy: drop-tail}, 2: {policy: fn, window: 2}, 3: {policy: fn, window: 4000}}\n"
    )
    run("save", tmp_path / "back")
    for file, found in (("f", [1, None, 2, 4000]), ("back", [1000, 1000, 2000, None])) * 2:
        assert run("restore", tmp_path / file) == (0, "", "")
        assert windows(run) == found


def test_a_window_that_stays_is_written_once(run: Any, every: FakeCore, tmp_path: Path) -> None:
    """The history of its arrivals stays too; only windows in the way are given up."""
    for queue in range(3):
        run("queue", "replace", queue, "fn", "window", 1000)
    (tmp_path / "f").write_text(
        "weir: 1\nqueues: {0: {policy: fn, window: 1000}, 1: {policy: fn, window: 50}, 2: {policy: fn, window: 1050}}\n"
    )
    every.forget()
    assert run("restore", tmp_path / "f") == (0, "", "") and windows(run)[:3] == [1000, 50, 1050]
    policies = {q: [v & 15 for a, v in every.log if a == every.address("POLICY", q)] for q in range(3)}
    assert set(policies[0]) == {4}
    (tmp_path / "f").write_text("weir: 1\nqueues: {1: {policy: fn, window: 2000}, 2: {policy: fn, window: 1000}}\n")
    every.forget()
    assert run("restore", tmp_path / "f") == (0, "", "") and windows(run)[:3] == [1000, 2000, 1000]
    assert not [a for a, _ in every.log if a == every.address("POLICY", 0)]


def test_a_queue_with_fn_gives_its_cells_before_another_takes_them(run: Any, every: FakeCore, tmp_path: Path) -> None:
    run("queue", "replace", 0, "fn", "reserve", 2000)
    (tmp_path / "f").write_text(
        "weir: 1\nqueues:\n  0: {policy: fn, reserve: 2560b}\n  1: {policy: drop-tail, reserve: 2000}\n"
    )
    assert run("restore", tmp_path / "f") == (0, "", "")
    assert [every.applied("RESERVE_CELLS", q) for q in (0, 1)] == [40, 2000] and every.applied("SHARED_CELLS") == 7


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(st.lists(st.integers(0, 4096), min_size=4, max_size=4), min_size=2, max_size=4))
def test_any_windows_follow_any_windows(register_map_file: RegisterFile, states: list[list[int]]) -> None:
    """0 stands for Drop-Tail. What fits the pool is never refused, in either direction, and never overlaps."""
    core = FakeCore(register_map_file, policies=POLICIES)
    device = weir.Device(core)
    for state in [*states, *reversed(states)]:
        sizes = [w * 4096 // max(4096, sum(state)) for w in state]
        queues = {q: {"policy": "fn", "window": w} if w else {"policy": "drop-tail"} for q, w in enumerate(sizes)}
        whole.apply(whole.check_form(written({"weir": 1, "queues": queues}), 4), device)
        assert [device.queue_show(q).get("window", 0) for q in range(4)] == sizes
        words = [core.applied("FN_WINDOW", q) for q, w in enumerate(sizes) if w]
        places = sorted((word >> 16 & 0xFFF, word & 0x1FFF) for word in words)
        assert all(a + size <= b for (a, size), (b, _) in zip(places, places[1:], strict=False))


# ---- refused

BAD = {
    "empty": ("", "document: not a section of names and values"),
    "text": ("hello", "document: not a section"),
    "no version": ("queues: {}", "'weir: 1' is missing"),
    "other version": ("weir: 2", "document: form 'weir: 2' is not known; this weirctl reads and writes 'weir: 1'"),
    "version true": ("weir: true", "form 'weir: true' is not known"),
    "unknown section": ("weir: 1\nport: 3", "'port' is not known; it has weir, core, queues"),
    "nearly a section": ("weir: 1\nquees: {}", "'quees' is not known, did you mean 'queues'?"),
    "nearly a parameter": ("weir: 1\nqueues: {0: {policy: red, wieght: 1}}", "red has no parameter 'wieght', did you mean 'weight'?"),
    "nearly a policy": ("weir: 1\nqueues: {0: {policy: cdoel}}", "queues.0: policy 'cdoel' is not known, did you mean 'codel'?"),
    "a qdisc": ("weir: 1\nqueues: {0: {policy: cake}}", "queues.0: policy 'cake' is not there; no core has a queue per flow"),
    "mtu": ("weir: 1\ncore: {mtu: 1500}", "core: mtu is the packet in a frame, max_frame the whole frame; write max_frame 1514"),
    "mtu of codel": ("weir: 1\nqueues: {0: {policy: codel, mtu: 1500}}", "queues.0: codel has no parameter 'mtu', it is maxpacket here"),
    "a queue by two names": ("weir: 1\nqueues: {1: {policy: red}, 01: {policy: pie}}", "queues: 1 is given twice, once as '01'"),
    "base sixty": ("weir: 1\nqueues: {0: {policy: drop-tail, limit: 1:40}}", "queues.0: limit: '1:40' is not a size"),
    "underscores": ("weir: 1\ncore: {default_queue: 0_1}", "core.default_queue: '0_1' is not a whole number"),
    "syntax": ("weir: 1\nqueues: {0: {policy: red", "line 2, column"),
    "tab": ("weir: 1\n\tqueues: 3", "line 2, column 1: found character"),
    "alias": ("weir: 1\ncore: &a {dscp: {}}\nqueues: *a", "aliases are not allowed"),
    "bomb": ("weir: 1\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "aliases are not allowed"),
    "twice": ("weir: 1\nqueues:\n  0: {policy: red}\n  0: {policy: pie}", "'0' in line 3 is given twice"),
    "deep": ("weir: " + "[" * 200, "not YAML"),
    "object": ("weir: !!python/object/apply:os.system [ls]", "not YAML: tags (tag:yaml.org,2002:python/object/apply:os.system) are not allowed"),
    "queue 9": ("weir: 1\nqueues: {9: {policy: red}}", "queues: 9 is out of range: allowed is 0 to 3"),
    "no policy": ("weir: 1\nqueues: {0: {min: 3}}", "queues.0: policy is missing"),
    "list": ("weir: 1\nqueues: {0: {policy: red, min: [3]}}", "queues.0.min: not a value"),
    "null": ("weir: 1\nqueues: {0: {policy: red, min: }}", "queues.0.min: not a value"),
    "unknown policy": ("weir: 1\nqueues: {0: {policy: wred}}", "queues.0: policy 'wred' is not there; write red in a queue of its own"),
    "unknown parameter": ("weir: 1\nqueues: {0: {policy: red, mim: 3}}", "queues.0: red has no parameter 'mim'"),
    "range": ("weir: 1\nqueues: {0: {policy: red, min: 90KB, max: 3KB}}", "queues.0: min 92160 is out of range"),
    "the last queue": ("weir: 1\nqueues: {0: {policy: pie}, 3: {policy: codel, target: 9s}}", "queues.3: target 9s is out of range"),
    "cells twice": ("weir: 1\nqueues: {0: {policy: drop-tail, reserve: 1500}, 1: {policy: drop-tail, reserve: 1500}}", "reserve 1500 is out of range"),
    "windows": ("weir: 1\nqueues: {0: {policy: fn, window: 4096}, 1: {policy: fn, window: 4096}}", "window"),
    "shape": ("weir: 1\ncore: {shape: {burst: 3}}", "core.shape: rate is missing"),
    "rate": ("weir: 1\ncore: {shape: {rate: 20Gbit}}", "rate 20Gbit is out of range"),
    "mpu": ("weir: 1\ncore: {shape: {rate: 1Gbit, mpu: -1}}", "mpu -1 is out of range: allowed is 0 to 16383 bytes"),
    "dscp": ("weir: 1\ncore: {dscp: {64: 0}}", "core.dscp: 64 is out of range: allowed is 0 to 63"),
    "dscp's queue": ("weir: 1\ncore: {dscp: {6: 7}}", "core.dscp.6: 7 is out of range: allowed is 0 to 3"),
    "frame": ("weir: 1\ncore: {max_frame: 9217}", "core.max_frame 9217 is out of range: allowed is 64 to 9216 whole bytes"),
    "jumbo": ("weir: 1\ncore: {jumbo: {mode: merge}}", "core.jumbo.mode: 'merge' is not known; choose one of opaque, off, split"),
    "nearly a mode": ("weir: 1\ncore: {jumbo: {mode: SPLT}}", "core.jumbo.mode: 'SPLT' is not known, did you mean 'split'?"),
    "share": ("weir: 1\nqueues: {0: {policy: red}}\nmred: {0: {low: 0.6}}", "mred.0: mred high 0.5 is out of range"),
    "share of what": ("weir: 1\nmred: {0: {low: much}}", "mred.0.low: 'much' is not a number"),
    "mred without red": ("weir: 1\nqueues: {0: {policy: pie}}\nmred: {0: {low: 0.1}}", "mred.0: mred needs red, isred or ared"),
    "mred of queue 4": ("weir: 1\nmred: {4: {low: 0.1}}", "mred: 4 is out of range: allowed is 0 to 3"),
    "no time": ("weir: !!timestamp x", "not YAML: "),
    "no flag": ("weir: !!bool x", "not YAML: "),
    "half a character": ('weir: 1\nqueues: {0: {policy: "\\ud800"}}', "is not a text that can be meant here"),
    "a NUL": ('weir: 1\nqueues: {0: {policy: red, min: "3\\0KB", max: 90KB, limit: 200KB}}', "'3\\x00KB' is not a text"),
    "a NUL in a match": ('weir: 1\ncore: {match: {0: {destination: "10.0.0.0/8\\0", class: 1}}}', "is not a text"),
    "huge share": ("weir: 1\nqueues: {0: {policy: red}}\nmred: {0: {low: " + "9" * 4000 + "}}", "is not a number; allowed is 0 to 1"),
    "a parameter called queue": ("weir: 1\nqueues: {0: {policy: red, queue: 2}}", "red has no parameter 'queue'"),
    "a parameter called self": ("weir: 1\nqueues: {0: {policy: red, self: 2}}", "red has no parameter 'self'"),
    "date": ("weir: 1\nqueues: {0: {policy: red, min: 2026-11-22}}", "queues.0: min: '2026-11-22' is not a size"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_line_and_writes_nothing(run: Any, every: FakeCore, tmp_path: Path, name: str) -> None:
    content, said = BAD[name]
    (tmp_path / "f.yaml").write_text(content, encoding="utf-8")
    code, out, err = run("restore", tmp_path / "f.yaml")
    assert (code, out) == (2, "") and said in err and "f.yaml: " in err
    assert not every.log


def test_a_section_of_many_names_takes_no_longer_than_one(run: Any, every: FakeCore, tmp_path: Path) -> None:
    """As many as a megabyte has; each name looked up among those before it, one by one, would take minutes."""
    (tmp_path / "f").write_text("weir: 1\nqueues:\n" + "".join(f" {n}: x\n" for n in range(90000)))
    begun = time.monotonic()
    assert "queues: 4 is out of range" in run("restore", tmp_path / "f")[2] and time.monotonic() - begun < 60


def test_other_bad_files(run: Any, every: FakeCore, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00weir")
    (tmp_path / "large").write_bytes(b"#" * ((1 << 20) + 1))
    for name, said in (("binary", "not a text in UTF-8"), ("large", "longer than 1 MB"), ("", "Is a directory")):
        code, _, err = run("restore", tmp_path / name)
        assert code == 2 and said in err
    assert not every.log


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(
        st.text(max_size=80),
        st.text(alphabet="weir:1 {}[]&*!-'\"\n\t,queues0policyred?|>#%\\\0boltimesamp", max_size=120),
    )
)
def test_any_text_is_a_document_or_one_line(source: str) -> None:
    try:
        whole.check_form(files.parse(source), 4)
    except Refusal as refused:
        assert "\n" not in str(refused)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(["red", "30KB", "off"])
)
ANY = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(
    st.one_of(st.sampled_from(["weir", "core", "queues", "policy", "min", "shape", "rate", "dscp", "jumbo"]), st.integers(0, 4)),
    inner, max_size=4)), max_leaves=12)  # fmt: skip


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(ANY, ANY)
def test_any_document_is_applied_or_refused_and_then_has_written_nothing(
    register_map_file: RegisterFile, core: Any, queues: Any
) -> None:
    device = weir.Device(every := FakeCore(register_map_file))
    try:
        whole.rehearse(whole.check_form(written({"weir": 1, "core": core, "queues": queues}), 4), device)
    except (Refusal, weir.WeirError) as refused:
        assert "\n" not in str(refused)
    assert not every.log


# ---- going back


def meaning(core: FakeCore) -> dict[str, Any]:
    """The configuration of what runs; words of a policy that a queue does not run any more may stay."""
    return whole.document(weir.Device(core))


def test_a_device_that_fails_once_gets_its_old_configuration_back(run: Any, every: FakeCore, good: Path) -> None:
    for queue in range(4):
        run("queue", "del", queue)
    run("queue", "replace", 2, "pie")
    before = meaning(every)
    outcomes = set()
    for n in range(0, 1200, 7):
        every.fail_at = n
        code, _, err = run("restore", good)
        every.fail_at = None
        outcomes.add(code)
        if code == 0:
            break
        if code == 4:
            assert "the old configuration is back" in err
        else:
            assert code == 1
            if "cannot be put back" in err:
                continue
        assert meaning(every) == before, n
    assert 0 in outcomes and 1 in outcomes


class Once(FakeCore):
    """Fails one access and works again."""

    def _count_down(self) -> None:
        try:
            super()._count_down()
        except Exception:
            self.fail_at = None
            raise


def test_one_failure_in_the_middle_goes_back(
    register_map: RegisterFile, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    core = Once(register_map, policies=("drop-tail", "red"))
    device = weir.Device(core)
    for queue in range(4):
        device.queue_replace(queue, "drop-tail")
    before = meaning(core)
    codes = []
    for n in range(0, 900, 11):
        core.fail_at = n
        codes.append(main(["restore", str(good)], device))
        failed = core.fail_at is None
        core.fail_at = None
        if codes[-1] == 0:
            assert not failed
            break
        assert meaning(core) == before, n
    assert {0, 1, 4} <= set(codes)
    assert "the old configuration is back" in capsys.readouterr().err


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Standard input as a pipe that a test can write to."""
    out, into = os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(out, "r"))
    yield into
    try:
        os.close(into)
    except OSError:
        pass


def test_a_configuration_that_is_confirmed_stays(run: Any, every: FakeCore, good: Path, keyboard: int) -> None:
    threading.Timer(0.2, lambda: os.write(keyboard, b"\n")).start()
    code, out, err = run("restore", good, "--confirm", 20)
    assert (code, err) == (0, "") and "press Enter within 20 s" in out and out.endswith("kept\n")
    assert every.applied("RED_MAX", 0) == 15 << 10 << 11


@pytest.mark.parametrize("ended", [False, True])
def test_a_configuration_that_is_not_confirmed_goes_back(
    run: Any, every: FakeCore, good: Path, keyboard: int, ended: bool
) -> None:
    """Nobody presses Enter; the end of standard input is no Enter, and nothing else can come after it."""
    for queue in range(4):
        run("queue", "del", queue)
    before = meaning(every)
    if ended:
        os.close(keyboard)
    begun = time.monotonic()
    code, _, err = run("restore", good, "--confirm", 1)
    why = ": standard input ends without an answer" if ended else ""
    assert (code, err) == (4, f"weirctl: not confirmed{why}; the old configuration is back\n")
    assert (time.monotonic() - begun >= 1) is not ended and meaning(every) == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("answer", [b"\n", b"yes\n", b"Y\n", b"  \r\n", b"yes"])
def test_only_enter_or_yes_keeps_a_configuration(
    run: Any, every: FakeCore, good: Path, keyboard: int, answer: bytes
) -> None:
    os.write(keyboard, answer)
    os.close(keyboard)
    code, out, err = run("restore", good, "--confirm", 20)
    assert (code, err) == (0, "") and out.endswith("kept\n") and every.applied("RED_MAX", 0) == 15 << 10 << 11


@pytest.mark.parametrize("answer", [b"no\n", b"n\n", b"yes please\n", b"weirctl show\n\n", b"x" * 5000, b"\xff\n"])
def test_any_other_answer_goes_back_at_once(
    run: Any, every: FakeCore, good: Path, keyboard: int, answer: bytes
) -> None:
    for queue in range(4):
        run("queue", "del", queue)
    before = meaning(every)
    os.write(keyboard, answer)
    code, _, err = run("restore", good, "--confirm", 600)
    assert code == 4 and err.startswith("weirctl: not confirmed: the answer is '") and len(err.splitlines()) == 1
    assert meaning(every) == before


def test_windows_that_were_swapped_go_back(run: Any, every: FakeCore, tmp_path: Path, keyboard: int) -> None:
    for queue, window in ((0, 3000), (1, 1000)):
        run("queue", "replace", queue, "fn", "window", window)
    before = meaning(every)
    (tmp_path / "f").write_text("weir: 1\nqueues: {0: {policy: fn, window: 1000}, 1: {policy: fn, window: 3000}}\n")
    code, _, err = run("restore", tmp_path / "f", "--confirm", 1)
    assert (code, err) == (4, "weirctl: not confirmed; the old configuration is back\n") and meaning(every) == before


def test_what_could_not_be_put_back_is_not_applied_with_confirm(run: Any, every: FakeCore, good: Path) -> None:
    """Another program wrote a register with which no configuration is legal."""
    run("queue", "replace", 2, "red", "min", "5KB", "max", "15KB")
    every.csr_write(every.address("RED_MAX", 2), 1 << 11)
    every.forget()
    code, _, err = run("restore", good, "--confirm", 1)
    assert code == 2 and not every.log
    assert err.startswith(
        "weirctl: --confirm: the configuration in force could not be put back (queues.2: min 5120 is out of"
    )
    assert run("restore", good) == (0, "", "")


@pytest.mark.parametrize(
    ("answers", "once", "said"),
    [
        (0, False, "the new configuration is still in force"),
        (150, False, "parts of both may be in force"),
        (0, True, "the new configuration is still in force"),
        (200, True, "parts of both are in force"),
    ],
)
def test_a_device_that_fails_while_going_back(
    register_map: RegisterFile, good: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    answers: int, once: bool, said: str,
) -> None:  # fmt: skip
    """One sentence says what is in force; the exit code is that of a device that failed."""
    core = (Once if once else FakeCore)(register_map, policies=("drop-tail", "red"))
    device = weir.Device(core)
    for queue in range(4):
        device.queue_replace(queue, "drop-tail", limit=9000 + queue)
    before = meaning(core)

    def nothing(wait: float) -> str:
        core.fail_at = answers
        return "not confirmed"

    monkeypatch.setattr(files, "_refused_within", nothing)
    assert main(["restore", str(good), "--confirm", "1"], device) == 1
    core.fail_at = None
    err = capsys.readouterr().err
    assert err.startswith("weirctl: not confirmed; the old configuration cannot be put back (") and err.count("\n") == 1
    assert err.endswith(f"); {said}\n")
    assert meaning(core) != before


ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Ended(FakeCore):
    """Gets a signal at the n-th APPLY from now, and others at each APPLY after it."""

    signals: tuple[int, ...] = ()
    after = 0

    def _trigger(self, name: str, address: int) -> None:
        super()._trigger(name, address)
        if self.signals and name in ("APPLY", "CORE_APPLY"):
            self.after -= 1
            if self.after < 0:
                os.kill(os.getpid(), self.signals[0])
                self.signals = (*self.signals[1:], self.signals[0])


@pytest.fixture
def handlers() -> Iterator[list[Any]]:
    """Handlers of the three signals, which are put back."""
    old = [signal.getsignal(n) for n in ENDING]
    yield old
    for n, handler in zip(ENDING, old, strict=True):
        signal.signal(n, handler)


@pytest.mark.parametrize("confirm", [False, True])
@pytest.mark.parametrize("number", ENDING)
def test_a_signal_at_any_write_goes_back_and_is_the_last_that_counts(
    register_map: RegisterFile, tmp_path: Path, capsys: pytest.CaptureFixture[str], handlers: list[Any],
    number: int, confirm: bool,
) -> None:  # fmt: skip
    core = Ended(register_map, policies=("drop-tail", "red"))
    device = weir.Device(core)
    for queue in range(4):
        device.queue_replace(queue, "drop-tail", limit=9000 + queue)
    before = meaning(core)
    (tmp_path / "f").write_text(GOOD + "  2: {policy: red}\n  3: {policy: red, max: 20KB}\n")
    for after in range(10):
        core.after, core.signals = after, (number, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        code = main(["restore", str(tmp_path / "f"), *(("--confirm", "60") if confirm else ())], device)
        core.signals = ()
        err = capsys.readouterr().err
        assert (code, err) == (4, "weirctl: interrupted; the old configuration is back\n"), after
        assert meaning(core) == before, after
        assert [signal.getsignal(n) for n in ENDING[1:]] == handlers[1:]
        if core.after >= 0:
            break
    assert 6 <= after


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_between_applying_and_the_wait_goes_back(
    run: Any, every: FakeCore, good: Path, monkeypatch: pytest.MonkeyPatch, handlers: list[Any], number: int
) -> None:
    for queue in range(4):
        run("queue", "del", queue)
    before, confirm = meaning(every), files._confirm

    def late(*given: Any) -> None:
        os.kill(os.getpid(), number)
        confirm(*given)

    monkeypatch.setattr(files, "_confirm", late)
    code, out, err = run("restore", good, "--confirm", 60)
    assert (code, out, err) == (4, "", "weirctl: interrupted; the old configuration is back\n")
    assert meaning(every) == before


def test_without_standard_input_nothing_is_confirmed(
    run: Any, every: FakeCore, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = meaning(every)
    monkeypatch.setattr(sys, "stdin", None)
    assert run("restore", good, "--confirm", 1)[0] == 4 and meaning(every) == before


def test_standard_input_has_a_configuration_too(run: Any, every: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))
    assert run("restore", "-") == (0, "", "") and every.applied("RED_MAX", 0) == 15 << 10 << 11


def test_save_keeps_a_link_and_the_mode_of_a_file_and_a_new_one_has_the_umasks(run: Any, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(0o600)
    (tmp_path / "link").symlink_to("old")
    (tmp_path / "dangling").symlink_to("other")
    before = os.umask(0o027)
    try:
        for name in ("link", "new", "dangling"):
            assert run("save", tmp_path / name) == (0, "", "")
    finally:
        os.umask(before)
    assert os.readlink(tmp_path / "link") == "old" and os.readlink(tmp_path / "dangling") == "other"
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in ("old", "new", "other")}
    assert modes == {"old": 0o600, "new": 0o640, "other": 0o640}
    assert all(yaml.safe_load((tmp_path / name).read_text())["weir"] == 1 for name in modes)


@pytest.mark.parametrize("linked", [False, True])
def test_save_writes_what_is_no_regular_file_directly(run: Any, tmp_path: Path, linked: bool) -> None:
    os.mkfifo(place := tmp_path / "pipe")
    if linked:
        (place := tmp_path / "link").symlink_to("pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    assert run("save", place) == (0, "", "")
    reader.join(10)
    assert (tmp_path / "pipe").is_fifo() and yaml.safe_load(read[0])["weir"] == 1


@pytest.mark.parametrize("what", ["write", "name"])
def test_a_save_that_fails_leaves_nothing(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    (tmp_path / "f").write_text("old")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if what == "write":
        real = os.fdopen

        def small(*given: Any, **more: Any) -> Any:
            file = real(*given, **more)
            return type(
                "Full", (), {"__enter__": lambda self: self, "__exit__": lambda self, *_: file.close(), "write": full}
            )()

        monkeypatch.setattr(os, "fdopen", small)
    else:
        monkeypatch.setattr(Path, "replace", full)
        monkeypatch.setattr(os, "replace", full)
    code, _, err = run("save", tmp_path / "f")
    monkeypatch.undo()
    assert (code, err) == (2, f"weirctl: {tmp_path / 'f'}: No space left on device\n")
    assert [p.name for p in tmp_path.iterdir()] == ["f"] and (tmp_path / "f").read_text() == "old"


def test_a_saved_file_is_plain_yaml(run: Any, good: Path) -> None:
    run("restore", good)
    _, out, _ = run("save")
    document = yaml.safe_load(out)
    assert document["queues"][0]["min"] == "5KB" and document["queues"][0]["ecn"] is True
    assert document["queues"][0]["probability"] == 0.02 and "ethertype: 0x88B5" in out
