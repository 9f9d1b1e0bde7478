"""weirctl's words: what is typed, what it does to the registers, what it says, and how it ends."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weir
from fake_core import POLICIES, FakeCore, RegisterFile
from libweir_paths import ROOT
from test_libweir_device import legal, put
from weir.ctl import completion, core, stats, text, top
from weir.ctl.main import VERBS, main


@pytest.fixture
def run(every: FakeCore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs weirctl on a core with every policy: its code, what it says, what it complains."""
    monkeypatch.delenv("WEIR_DEVICE", raising=False)
    device = weir.Device(every)
    every.forget()

    def call(*words: object) -> tuple[int, str, str]:
        code = main([str(w) for w in words], device)
        out, err = capsys.readouterr()
        assert err.count("\n") <= 1 and (not err or err.startswith("weirctl: "))
        return code, out, err

    return call


def shown(run: Any, queue: int) -> dict[str, Any]:
    code, out, _ = run("-j", "queue", "show", queue)
    assert code == 0
    found: dict[str, Any] = json.loads(out)[0]
    return found


# ---- as typed in tc


def test_a_line_of_tc_works_as_typed_there(run: Any, every: FakeCore) -> None:
    """tc-red(8)'s example. Its weight: tc's ewma is 5."""
    line = "limit 130000 min 30000 max 90000 avpkt 1000 burst 55 ecn adaptive bandwidth 10Mbit".split()
    assert run("queue", "replace", 0, "red", *line) == (0, "", "")
    found = shown(run, 0)
    assert found["policy"] == "ared" and found["ecn"] is True and found["probability"] == pytest.approx(0.02, rel=1e-9)
    assert (found["limit_bytes"], found["min"], found["max"], found["avpkt"]) == (130000, 30000, 90000, 1000)
    assert found["bandwidth"] == pytest.approx(10e6, rel=1e-5)
    assert found["weight"] == 1 / 32
    assert every.applied("RED_MIN", 0) == 30000 << 11


@pytest.mark.parametrize("policy", ["pie", "codel", "pi2"])
def test_a_limit_as_tc_has_it_is_told_from_bytes(run: Any, every: FakeCore, policy: str) -> None:
    """tc-pie(8), tc-codel(8): limit in packets, 1000 by default."""
    for limit in (1, 100, 1000, 1513):
        code, _, err = run("queue", "replace", 0, policy, "limit", limit)
        assert code == 2 and not every.log
        assert err == (
            f"weirctl: limit {limit} is out of range: allowed is 1514 to 131008 bytes; tc counts packets: "
            f"unit packets limit {limit}; if bytes are meant, write limit {limit}b\n"
        )
    for words, name, value in (
        ("unit packets limit 100", "limit_packets", 100),
        ("limit 1000b", "limit_bytes", 1000),
        ("limit_bytes 1000", "limit_bytes", 1000),
        ("limit 1514", "limit_bytes", 1514),
    ):
        assert run("queue", "replace", 0, policy, *words.split()) == (0, "", "")
        assert shown(run, 0)[name] == value
    every.forget()
    assert run("queue", "change", 0, "limit", 100)[0] == 2 and not every.log
    assert run("queue", "change", 0, "limit", 100, "unit", "packets")[0] == 0
    assert run("queue", "change", 0, "limit", 200)[0] == 0 and shown(run, 0)["limit_packets"] == 200
    assert run("queue", "replace", 0, "drop-tail", "limit", 100)[0] == 0


def test_a_weight_wins_over_burst(run: Any) -> None:
    assert run("queue", "replace", 0, "red", "limit", "100KB", "weight", 0.002, "burst", 55)[0] == 0
    assert shown(run, 0)["weight"] == pytest.approx(0.002, rel=1e-6)


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("ecn", "ecn", True),
        ("ecn off", "ecn", False),
        ("noecn", "ecn", False),
        ("ecn nodrop", "nodrop", True),
        ("ecn nonodrop", "nodrop", False),
        ("harddrop on", "harddrop", True),
        ("no-gentle", "gentle", False),
        ("min 3k", "min", 3072),
        ("min 4kbit", "min", 512),
        ("probability 5%", "probability", 0.05),
        ("bandwidth 1mbps", "bandwidth", 8e6),
        ("limit-packets 7", "limit_packets", 7),
        ("spread uniform-wait", "exempt_first", True),
        ("unit packets min 5 max 15 limit 20", "limit_packets", 20),
    ],
)
def test_words_set_what_they_say(run: Any, words: str, name: str, value: Any) -> None:
    assert run("queue", "replace", 1, "red", *words.split()) == (0, "", "")
    assert shown(run, 1)[name] == pytest.approx(value, rel=1e-5)


def test_change_changes_only_what_is_named(run: Any) -> None:
    run("queue", "replace", 2, "red", "limit", "100KB", "min", "5KB", "max", "15KB", "ecn", "weight", "0.01")
    before = shown(run, 2)
    assert run("queue", "change", 2, "max", "20KB", "noecn")[0] == 0
    assert shown(run, 2) == {**before, "max": 20480, "ecn": False}
    assert run("queue", "change", 2, "red", "ecn")[0] == 0
    code, _, err = run("queue", "change", 2, "pie", "target", "5ms")
    assert code == 2 and "queue 2 runs red, not pie; write queue replace 2 pie" in err
    assert run("queue", "change", 2)[0] == 2
    assert run("queue", "change", 2, "adaptive", "interval", "1s")[0] == 0
    assert shown(run, 2)["policy"] == "ared" and shown(run, 2)["interval"] == 1e6


@pytest.mark.parametrize("name", ["droptail", "TailDrop", "tail-drop", "drop-front"])
def test_other_names_of_drop_tail_are_taken(run: Any, name: str) -> None:
    assert run("queue", "replace", 1, name, "limit", 5000) == (0, "", "")
    assert (shown(run, 1)["policy"], shown(run, 1)["front"]) == ("drop-tail", name == "drop-front")
    run("queue", "replace", 1, "drop-tail")
    assert run("queue", "change", 1, name, "limit", 4000) == (0, "", "")
    assert (shown(run, 1)["limit_bytes"], shown(run, 1)["front"]) == (4000, name == "drop-front")


def test_help_as_json_has_every_policy(run: Any) -> None:
    code, out, _ = run("-j", "queue", "help")
    assert code == 0 and [p["name"] for p in json.loads(out)] == [p.name for p in weir.policies()]


def test_del_is_a_queue_as_after_a_reset(run: Any, every: FakeCore) -> None:
    run("queue", "replace", 3, "pie", "target", "5ms", "reserve", 40)
    assert run("queue", "del", 3)[0] == 0
    assert shown(run, 3)["policy"] == "drop-tail" and shown(run, 3)["reserve"] == 0
    assert every.applied("LIMIT_BYTES", 3) == 2047 * 64 and every.applied("SHARED_CELLS") == 2047


REFUSED = [
    ("queue replace 0 rde", "policy 'rde' is not known, did you mean 'red'?\n"),
    ("queue replace 0 blob", "policy 'blob' is not known; choose one of drop-tail, red"),
    ("queue replace 0 tail_drop", "policy 'tail_drop' is not known, did you mean 'taildrop'?\n"),
    ("queue change 0 rde", "policy 'rde' is not known, did you mean 'red'?\n"),
    ("queue change 0 fq_codel", "policy 'fq_codel' is not there; no core has a queue per flow; codel is the same"),
    ("queue change 0 tbf rate 1mbit", "policy 'tbf' is not there; the core's shaper does that"),
    ("queue change 0 RED min 3", "queue 0 runs drop-tail, not red; write queue replace 0 red"),
    ("queue change 0 limt 3", "drop-tail has no parameter 'limt', did you mean 'limit'?\n"),
    ("queue change 0 target 3ms", "drop-tail has no parameter 'target'; it has unit, limit"),
    ("queue change 0 droptail", "nothing to change is named; drop-tail has"),
    ("queue replace 0 red mim 3", "red has no parameter 'mim', did you mean 'min'?\n"),
    ("queue replace 0 fn mu 3", "fn has no parameter 'mu', it is capacity here\n"),
    ("queue replace 0 red adaptive bottom_ 3", "red has no parameter 'bottom_', "),
    ("queue replace 0 red maxthresh 3", "red has no parameter 'maxthresh', it is max here\n"),
    ("queue replace 0 red min", "min needs a value; it is"),
    ("queue replace 0 red min 3 min 4", "min is given twice"),
    ("queue replace 0 red min 90KB max 30KB", "min 92160 is out of range: allowed is 0 to 30719 bytes"),
    ("queue replace 0 red min 1x", "'1x' is not a size"),
    ("queue replace 0 red limit 1gb", "limit_bytes 1073741824 is out of range"),
    ("queue replace 0 red nodrop", "nodrop on has a meaning only with ecn"),
    ("queue replace 0 red ecn maybe", "red has no parameter 'maybe'"),
    ("queue replace", "number of the queue is missing"),
    ("queue replace 0", "policy is missing"),
    ("queue show 9", "queue 9 is out of range: allowed is 0 to 3; this core has 4"),
    ("queue show x", "queue 'x' is not a whole number; allowed is 0 to 3"),
    ("queue show 0 1", "'1' is one word too many"),
    ("queue tune", "command of queue 'tune' is not known; it is one of show"),
    ("quee show", "verb 'quee' is not known, did you mean 'queue'?"),
    ("s", "verb 's' may be shape or split or"),
    ("-x", "option '-x' is not known"),
    ("--jsn queue", "option '--jsn' is not known, did you mean '--json'?\n"),
    ("queue show -d", "-d needs a value"),
    ("-j class help", "help is text alone; leave -j out"),
    ("-j shape help", "help is text alone; leave -j out"),
    ("-j shape --help", "help is text alone; leave -j out"),
    ("-j help class", "help is text alone; leave -j out"),
    ("-j help", "help is text alone; leave -j out"),
    ("merge 0 class jfet 2s", "merge jfet 2s is out of range: allowed is 1ns to 1s"),
    ("merge 0 flow jfet 1us", "jfet"),
    ("match replace 16 10.0.0.0/8 class 1", "16"),
    ("match replace 1 10.0.0.0/33 class 1", "prefix of '10.0.0.0/33' is out of range: allowed is 0 to 32"),
    ("match replace 1 10.0.0/8 class 1", "destination '10.0.0/8' is not known"),
    ("match replace 1 10.0.0.0/8 class 16", "16"),
    ("match default", "what becomes"),
    ("merge 0 flow max_bytes 63", "merge max_bytes 63 is out of range: allowed is 64 to 9216"),
    ("merge 0 flow max_count 449", "merge max_count 449 is out of range: allowed is 2 to 448"),
    ("merge 0 flow max_sum", "max_sum"),
    ("split on tick 17", "jumbo tick 17 is out of range: allowed is 1 to 16"),
    ("merge 7 off", "queue 7 is out of range"),
    ("shape replace burst 3000", "rate is missing"),
    ("shape replace rate 1Gbit mpu 16384", "mpu 16384 is out of range: allowed is 0 to 16383 bytes"),
    ("shape replace rate 1Gbit mpu", "mpu"),
    ("shape replace rate 20Gbit", "rate 20Gbit is out of range: allowed is 64kbit to 10Gbit"),
    ("class replace EF queue 4", "queue 4 is out of range"),
    ("class replace 64 queue 1", "DSCP 64 is out of range: allowed is 0 to 63"),
    ("class replace XF queue 1", "DSCP 'XF' is not a whole number"),
    ("class replace 9-3 queue 1", "DSCPs '9-3' go backwards"),
    ("class replace EF", "keyword is missing; it is queue"),
    ("class max_frame 63", "max_frame 63 is out of range: allowed is 64 to 9216 whole bytes"),
    ("class max_frame 1514.5", "max_frame 1514.5 is out of range"),
    ("class max_frame big", "'big' is not a size"),
    # IEEE 802.3: 14 bytes of header, 802.1Q: 4 a tag; tc and ip count none of them in an MTU
    ("class mtu 1500", "max_frame the whole frame; write max_frame 1514, with a VLAN tag 1518, with two 1522"),
    ("class mtu 9216", "the largest MTU is 9202: write max_frame 9216"),
    ("class mtu 9200", "max_frame the whole frame; write max_frame 9214\n"),
    ("class mtu 9198", "write max_frame 9212, with a VLAN tag 9216\n"),
    ("class mtu 40", "write max_frame 64, the least\n"),
    ("class mtu 45", "write max_frame 64, with a VLAN tag 64, with two 67\n"),
    ("class mtu 0 1500", "write max_frame 64, the least\n"),
    ("class mtu", "write max_frame 1514"),
    ("queue replace 0 codel mtu 1500", "codel has no parameter 'mtu', it is maxpacket here"),
    (
        "queue replace 0 tbf rate 1mbit",
        "policy 'tbf' is not there; the core's shaper does that: weirctl shape replace rate",
    ),
    ("queue replace 0 fq_codel", "policy 'fq_codel' is not there; no core has a queue per flow; codel is the same"),
    ("queue help cdoel", "policy 'cdoel' is not known, did you mean 'codel'?"),
    ("queue replace 0 red policy 3", "red has no parameter 'policy'; it has unit"),
    # 2^32 - 1 ns at 1 Gbit/s and at 10: 536,870,911.9 and 5,368,709,118.75 bytes
    ("shape replace rate 1gbit burst 1e12", "burst 1000000000000 is out of range: allowed is 0 to 511.999MB"),
    ("shape replace rate 10gbit burst 6gb", "burst 6442450944 is out of range: allowed is 0 to 4.999GB"),
    ("shape replace rate 1e20", "rate 1e20 is out of range: allowed is 64kbit to 10Gbit"),
    ("queue replace 0 codel target 1e12", "target 1000000s is out of range: allowed is 1us to 4s"),
    ("shape replace rate 64kbit burst 34360", "burst 34360 is out of range: allowed is 0 to 34359 bytes"),
    ("queue replace 0 codel target 9s", "target 9s is out of range: allowed is 1us to 4s"),
    ("split on ethertype 0x0800", "belongs to IP or to VLAN tags"),
    ("split on ethertype 70000", "ethertype 70000 is out of range"),
    ("stats --watch 0", "--watch 0 is out of range: allowed is 0.1"),
    ("stats --watch abc", "--watch 'abc' is not a number of seconds; allowed is 0.1 to 86400"),
    ("stats --count -5", "--count -5 is out of range: allowed is 1 to 1000000000"),
    ("stats --count 2.5", "--count '2.5' is not a whole number"),
    ("-jx stats", "option '-jx' is not known"),
    ("-json stats", "option '-json' is not known, did you mean '--json'?"),
    ("-jd", "-d needs a value"),
    ("trace --count 0", "--count 0 is out of range"),
    ("trace --count many", "--count 'many' is not a whole number"),
    ("exporter --listen here", "--listen 'here' is not ADDRESS:PORT"),
    ("exporter --listen 127.0.0.1:99999", "port 99999 is out of range"),
    ("regs NO_SUCH", "register 'NO_SUCH' is not known"),
    ("regs 0x20000", "address 0x20000 is out of range"),
    ("restore", "file is missing"),
    ("restore /absent", "/absent: No such file or directory"),
    ("restore - --confirm 5", "--confirm reads standard input"),
    ("save /absent/f", "/absent/f: No such file or directory"),
    ("completion tcsh", "shell 'tcsh' is not known"),
]


@pytest.mark.parametrize(("line", "said"), REFUSED, ids=[line for line, _ in REFUSED])
def test_what_cannot_be_is_refused_before_anything_is_written(run: Any, every: FakeCore, line: str, said: str) -> None:
    code, out, err = run(*line.split())
    assert (code, out) == (2, "") and said in err
    assert "?;" not in err and "e+" not in err
    assert not every.log


def test_without_a_device_one_line_says_how_to_name_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WEIR_DEVICE", raising=False)
    assert main(["queue", "show"]) == 2
    assert "no device is named; give -d URI or set WEIR_DEVICE" in capsys.readouterr().err
    monkeypatch.setenv("WEIR_DEVICE", "unix:/absent")
    assert main(["queue", "show"]) == 1
    assert (
        capsys.readouterr().err
        == "weirctl: unix:/absent: No such file or directory; start the server, for instance `weir-sim serve --socket PATH`\n"
    )


def test_a_device_that_goes_in_the_middle_is_one_line(run: Any, every: FakeCore) -> None:
    for n in range(0, 200, 3):
        every.fail_at = n
        code, _, err = run("queue", "replace", 0, "red", "limit", "100KB")
        every.fail_at = None
        if code == 0:
            break
        assert code == 1 and "failed" in err
    else:
        pytest.fail("200 accesses did not configure a queue")


# ---- round trips


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(natural=legal())
def test_what_show_prints_makes_the_same_registers(register_map_file: RegisterFile, natural: dict[str, Any]) -> None:
    """`show --commands` on one core, its lines on another: every word the same."""
    import contextlib
    import io

    one, two = FakeCore(register_map_file), FakeCore(register_map_file)
    device = weir.Device(one)
    for queue in (0, 2, 3):  # limits after a reset are more than the buffer; libweir says the buffer
        device.queue_replace(queue, "drop-tail")
    device.shape("123456789bit", 4321, -7, 68)
    device.dscp_map({46: 1, 10: 3})
    device.queue_replace(1, "red", **natural)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["show", "--commands"], device) == 0
    other = weir.Device(two)
    for line in out.getvalue().splitlines():
        assert main(line.split()[1:], other) == 0, line
    configuration = [a for a in one.live if a in range(0x40, 0xC0) or (a >= 0x1000 and (a & 0x3FF) < 0xFC)]
    assert {a: one.live[a] for a in configuration} == {a: two.live[a] for a in configuration}


@pytest.mark.parametrize("policy", [p.name for p in weir.policies()])
def test_every_policy_is_shown_so_that_it_can_be_typed(run: Any, every: FakeCore, policy: str) -> None:
    """The short line of `queue show`, typed again."""
    assert run("queue", "replace", 0, policy)[0] == 0
    words = {a: v for a, v in every.live.items() if 0x1000 <= a < 0x10FC}
    _, out, _ = run("queue", "show", 0)
    assert out.startswith(f"queue 0 {policy} limit ")
    run("queue", "del", 0)
    assert run("queue", "replace", *out.split()[1:])[0] == 0
    assert {a: v for a, v in every.live.items() if 0x1000 <= a < 0x10FC} == words


@given(st.one_of(st.floats(0.001, 1e12), st.integers(0, 1 << 40).map(float)))
def test_texts_are_read_back_as_they_were(value: float) -> None:
    assert weir.parse_size(text.size(value)) == value
    assert weir.parse_rate(text.rate(value)) == value
    assert weir.parse_time(text.time(value)) == value
    assert float(text.number(value)) == value


def test_texts_are_short() -> None:
    assert [text.size(v) for v in (0, 1, 1000, 1024, 400 << 10, 3 << 20)] == [
        "0b",
        "1b",
        "1000b",
        "1KB",
        "400KB",
        "3MB",
    ]
    assert [text.rate(v) for v in (64e3, 1.5e6, 10e9, 1)] == ["64kbit", "1.5Mbit", "10Gbit", "1bit"]
    assert [text.time(v) for v in (15e3, 500, 1.5e6, 0.064)] == ["15ms", "500us", "1.5s", "64ns"]
    assert [text.about(v, "b") for v in (0, 999, 1234, 99960, 1.5e9)] == ["0b", "999b", "1.23kb", "100kb", "1.5Gb"]
    assert [text.about(v) for v in (999.4, 999.6, 999600, 999.6e9, -999.6, 0.5)] == [
        "999",
        "1k",
        "1M",
        "1000G",
        "-1k",
        "0.5",
    ]
    assert [text.about_ns(v) for v in (0, 999.6, 999_600, 2.5e9)] == ["0ns", "1us", "1ms", "2.5s"]
    assert [text.about_size(v) for v in (1013, 1024, 30000, 409600, 1048512)] == [
        "1013b",
        "1KB",
        "29.3KB",
        "400KB",
        "1MB",
    ]


# ---- counters


def test_statistics_have_the_words_of_tc(run: Any, every: FakeCore) -> None:
    """marked, early, pdrop, other: by the policy, by the limit, by others (tc-red(8), STATISTICS). In the kernel's red_enqueue()
    each selection is an overlimit, what nodrop lets pass too, and a selected packet that came CE is a mark:
    INET_ECN_set_ce() succeeds."""
    counts = {"EARLY": 100, "FORCED": 20, "HEAD_DROPPED": 3, "OVERFLOW": 4000, "FRONT": 500, "LINK_DOWN": 60000,
              "PARTIAL": 700000, "MARKED": 7, "HEAD_MARKED": 80, "ALREADY_CE": 9000000, "OUT": 1000,
              "NODROP": 20000000, "HEAD_ALREADY_CE": 300000000}  # fmt: skip
    for name, n in counts.items():
        put(every, f"{name}_PACKETS", n, 1)
        put(every, f"{name}_BYTES", 10 * n, 1)
    every.words[every.address("LIVE_BYTES", 1)], every.words[every.address("LIVE_PACKETS", 1)] = 3000, 2
    _, out, _ = run("-s", "queue", "show", 1)
    assert out.splitlines()[1:] == [
        " Sent 3000010800 bytes 300001080 pkt (dropped 764623, overlimits 329700210 requeues 0)",
        " backlog 3000b 2p requeues 0",
        "  marked 309000087 early 700123 pdrop 4500 other 60000",
    ]
    _, out, _ = run("-j", "stats")
    found = json.loads(out)
    assert found["queues"][1]["tc"] == {"marked": 309000087, "early": 700123, "pdrop": 4500, "other": 60000}
    assert found["queues"][1]["counters"]["overflow"] == {"packets": 4000, "bytes": 40000}
    assert found["queues"][1]["live"]["packets"] == 2 and len(found["queues"]) == 4
    _, out, _ = run("stats", 1)
    rows = {line.split("  ")[0]: line.split()[-1] for line in out.splitlines() if line}
    assert rows["sent"] == "300001080" and rows["dropped, overflow"] == "4000" and rows["marked"] == "87"
    assert rows["selected, CE already"] == "309000000" and rows["selected, let pass"] == "20000000"


def test_quantiles_are_bins_of_which_the_last_has_no_end() -> None:
    """docs/architecture.md, SOJOURN: bin b from 2^b ns on, the first from 0, the last 2.1 s and more."""
    histogram = [0] * 32
    assert stats.quantile(histogram, 0.5) is None and stats.delay(None) == "-"
    histogram[10], histogram[20] = 99, 1
    assert stats.quantile(histogram, 0.5) == stats.quantile(histogram, 0.99) == (1024, 2048)
    assert stats.quantile(histogram, 0.995) == (1 << 20, 2 << 20) and stats.delay((1 << 20, 2 << 20)) == "< 2.1ms"
    assert stats.delay(stats.quantile([1] + [0] * 31, 0.5)) == "< 2ns"
    histogram = [0] * 30 + [1, 99]
    assert stats.delay(stats.quantile(histogram, 0.01)) == "< 2.15s"
    assert stats.quantile(histogram, 0.5) == (1 << 31, None) and stats.delay((1 << 31, None)) == "≥ 2.1s"


def test_rates_are_per_second_of_device_time(every: FakeCore) -> None:
    device = weir.Device(every)
    before = device.state()
    put(every, "OUT_PACKETS", 500, 0)
    put(every, "OUT_BYTES", 125000, 0)
    put(every, "NOW", 1_000_000)
    shown_rates = stats.rates(before, device.state(), [0])
    assert "1Gbit 500kp" in " ".join(shown_rates.split())
    assert stats.rates(before, before, [0]) == "no time has passed on the device"
    put(every, "NOW", (1 << 48) - 1_000_000)
    before = device.state()
    put(every, "NOW", 0)  # 78 hours round
    put(every, "OUT_PACKETS", 1500, 0)
    assert " 1Mp" in stats.rates(before, device.state(), [0])


def test_a_reset_gives_no_rates(every: FakeCore) -> None:
    """Counters that went back have no difference: neither a negative one, nor 2^64 more."""
    device = weir.Device(every)
    device.queue_replace(0, "drop-tail", limit="100KB")
    shown = {0: device.queue_show(0)}
    put(every, "OUT_PACKETS", 500, 0)
    put(every, "OUT_BYTES", 125000, 0)
    before = device.state()
    for name, value in (("OUT_PACKETS", 2), ("OUT_BYTES", 500)):
        put(every, name, value, 0)
    put(every, "NOW", 1_000_000)
    after = device.state()
    assert stats.rates(before, after, [0]) == "the counters began anew: a reset came in between"
    seen = top.look(before, after, shown)
    assert (
        seen["began_anew"]
        and [seen["queues"][0][n] for n in ("in_bit_s", "out_bit_s", "marks_s", "drops_s")] == [None] * 4
    )
    assert "the counters began anew" in top.picture(seen) and "-" in top.picture(seen).split()
    put(every, "NOW", 2_000_000)
    put(every, "OUT_PACKETS", 4, 0)
    put(every, "OUT_BYTES", 1000, 0)
    seen = top.look(after, device.state(), shown)
    assert not seen["began_anew"] and seen["queues"][0]["out_bit_s"] == 500 * 8 / 1e-3
    put(every, "SOJOURN3", 7, 0)
    before = device.state()
    put(every, "SOJOURN3", 1, 0)
    assert stats.began_anew(before, device.state())


def test_metrics_add_up_to_marked_as_tc_has_it(run: Any, every: FakeCore) -> None:
    """Linux counts a packet that came CE and is selected as marked (net/sched/sch_red.c)."""
    for name, value in (
        ("MARKED", 3),
        ("HEAD_MARKED", 20),
        ("ALREADY_CE", 100),
        ("HEAD_ALREADY_CE", 4000),
        ("NODROP", 50000),
    ):
        put(every, f"{name}_PACKETS", value, 1)
        put(every, f"{name}_BYTES", value * 64, 1)
    samples = dict(line.rsplit(" ", 1) for line in run("exporter", "--once")[1].splitlines() if line[0] != "#")
    for sample, packets in (("already_ce_{}_total{queue=\"1\",at=\"arrival\"}", 100),
                            ("already_ce_{}_total{queue=\"1\",at=\"departure\"}", 4000),
                            ("nodrop_{}_total{queue=\"1\"}", 50000)):  # fmt: skip
        assert samples["weir_" + sample.replace("{}", "packets")] == f"{packets}"
        assert samples["weir_" + sample.replace("{}", "bytes")] == f"{packets * 64}"
    marked = [int(v) for k, v in samples.items() if k.startswith('weir_marked_packets_total{queue="1"')]
    assert sorted(marked) == [3, 20] and "  marked 4123 early" in run("-s", "queue", "show", 1)[1]


def test_a_backlog_that_falls_is_no_reset(every: FakeCore) -> None:
    """QUEUED_PACKETS and SPACED_PACKETS say what waits at the snapshot: they fall whenever more leaves than comes."""
    device = weir.Device(every)
    shown = {0: device.queue_show(0)}
    for name, value in (("QUEUED_PACKETS", 300), ("SPACED_PACKETS", 9)):
        every.words[every.address(name)] = value
    before = device.state()
    assert (before.core.queued, before.core.spaced) == (300, 9)
    for name, value in (("QUEUED_PACKETS", 100), ("SPACED_PACKETS", 0)):
        every.words[every.address(name)] = value
    put(every, "NOW", 1_000_000)
    put(every, "OUT_PACKETS", 200, 0)
    put(every, "OUT_BYTES", 50000, 0)
    after = device.state()
    assert not stats.began_anew(before, after)
    assert "400Mbit 200kp" in " ".join(stats.rates(before, after, [0]).split())
    assert top.look(before, after, shown)["queues"][0]["out_bit_s"] == 400e6
    put(every, "UPTIME", 5)
    before = device.state()
    put(every, "UPTIME", 4)
    assert stats.began_anew(before, device.state())


def test_top_says_a_size_as_limit_did(every: FakeCore) -> None:
    device = weir.Device(every)
    device.queue_replace(0, "red", limit="100KB", min="30KB", max="90KB")
    device.queue_replace(1, "drop-tail", unit="packets", limit=100)
    every.words[every.address("LIVE_BYTES", 0)] = every.words[every.address("LIVE_BYTES", 1)] = 100 << 10
    every.words[every.address("LIVE_AVERAGE", 0)] = (45 << 10) << 11
    state = device.state()
    rows = [
        line.split()
        for line in top.picture(top.look(None, state, {q: device.queue_show(q) for q in (0, 1)})).splitlines()[2:]
    ]
    told = [dict(zip(["queue", *rows[0][:5]], [row[1], *row[2:7]], strict=True)) for row in rows[1:]]
    assert told[0] | {"p": ""} == {
        "queue": "0",
        "policy": "red",
        "limit": "100KB",
        "q": "100KB",
        "packets": "0",
        "avg": "45KB",
        "p": "",
    }
    assert told[1]["limit"] == "100p" and told[1]["q"] == "100KB"


def test_top_as_json_is_an_object_a_line(run: Any, every: FakeCore) -> None:
    run("queue", "replace", 0, "red", "limit", "100KB", "min", "5KB", "max", "15KB")
    code, out, _ = run("-j", "top", "--count", 2, "--interval", 0.1)
    looks = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and len(looks) == 2 and looks[0]["queues"][0]["limit"] == 102400
    assert looks[0]["queues"][0]["out_bit_s"] is None and len(looks[1]["queues"]) == 4


def test_short_options_may_be_one_word(run: Any) -> None:
    """As the man page prints them: -js."""
    for words in (("-js", "queue", "show", 0), ("queue", "-sj", "show", 0), ("-s", "queue", "show", "-j", 0)):
        code, out, _ = run(*words)
        assert code == 0 and json.loads(out)[0]["statistics"]["tc"]["early"] == 0
    assert run("-jn", 1, "stats", "--watch")[0] == 0 and run("stats", "-jw", "0.1", "-n", 2)[0] == 0


def test_top_knows_the_probability_of_red() -> None:
    natural = {"policy": "red", "min": 5.0, "max": 15.0, "probability": 0.1, "gentle": True}
    found = [top.red_probability(natural, average) for average in (4.9, 5, 10, 15, 22.5, 30, 1e9)]
    assert found == pytest.approx([0, 0, 0.05, 0.1, 0.55, 1, 1])
    assert top.red_probability({**natural, "gentle": False}, 15) == 1
    assert top.red_probability({"policy": "pie"}, 3) is None


@pytest.mark.parametrize("width", [None, 200, 100, 90, 80, 72, 60])
def test_top_leaves_out_what_matters_less(every: FakeCore, width: int | None) -> None:
    device = weir.Device(every)
    device.queue_replace(0, "red", min="30KB", max="90KB", limit="100KB")
    device.queue_replace(1, "drop-tail", strict=True)
    before = device.state()
    for name in ("IN_ECT0", "OUT", "MARKED", "OVERFLOW"):
        for of in ("PACKETS", "BYTES"):
            every.words[every.address(f"{name}_{of}_LO", 0)] = 123456789
    every.words[every.address("NOW_LO")] = 10**9
    now = device.state()
    lines = top.picture(top.look(before, now, {q: device.queue_show(q) for q in range(4)}), width).splitlines()[2:]
    heads = lines[0].split()
    assert {"q", "avg", "p", "marks/s", "drops/s"} <= set(heads)
    assert len(lines) == 5 and (width is None or max(map(len, lines)) <= width)
    assert lines[1].count("123M") == 2
    wanted = ["policy", "limit", "q", "packets", "avg", "p", "in", "out", "marks/s", "drops/s", "delay", "99%"]
    if width is None or width >= 110:
        assert heads == wanted
    elif width == 80:
        assert heads == [w for w in wanted if w not in ("packets", "in", "out")]


# ---- the rest of the core


def test_class(run: Any, every: FakeCore) -> None:
    assert run("class", "replace", "EF,AF11,8-9,0x3f", "queue", 2) == (0, "", "")
    assert run("class", "default", "queue", 3)[0] == 0 and run("class", "max_frame", 1518)[0] == 0
    assert (
        every.applied("DSCP_MAP1") == 0x222
        and every.applied("DSCP_MAP5") == 2 << 24
        and every.applied("DSCP_MAP7") == 2 << 28
    )
    _, out, _ = run("class", "show")
    assert out.splitlines() == ["class dscp 0-7,11-45,47-62 queue 0", "class dscp 8-10,46,63 queue 2", "class default queue 3",
                                "class max_frame 1518"]  # fmt: skip
    assert run("class", "del", "all")[0] == 0 and every.applied("DSCP_MAP1") == 0
    assert core.dscps("AF41,cs6,VA,LE") == [34, 48, 44, 1]  # RFC 2597, 2474, 5865, 8622


def test_a_rate_of_another_link_is_told(run: Any, every: FakeCore) -> None:
    """RED's bandwidth and FN's capacity are the link's by default, and stay when the shaper changes."""
    assert run("queue", "replace", 0, "red", "limit", "100KB", "min", "10KB")[0] == 0
    assert run("queue", "replace", 1, "fn", "window", 100, "t", "1us")[0] == 0
    assert run("queue", "replace", 2, "red", "bandwidth", "100mbit", "adaptive")[0] == 0
    assert run("queue", "replace", 3, "pie")[0] == 0
    told = [
        "queue 0: bandwidth 10Gbit is not the link's rate, 100Mbit; if the queue has the whole link: weirctl queue change 0 "
        "bandwidth 100Mbit",
        "queue 1: capacity 10Gbit is not the link's rate, 100Mbit; if the queue has the whole link: weirctl queue change 1 "
        "capacity 100Mbit",
    ]
    assert run("shape", "replace", "rate", "100mbit") == (0, "".join(f"note: {t}\n" for t in told), "")
    assert [line for line in run("queue", "show")[1].splitlines() if "note" in line] == [f" note: {t}" for t in told]
    assert json.loads(run("-j", "doctor")[1])["rates"] == {"state": "note", "what": "; ".join(told)}
    for line in told:
        assert run(*line.split("weirctl ")[1].split()) == (0, "", "")
    assert shown(run, 0)["bandwidth"] == pytest.approx(100e6, rel=1e-5)
    assert json.loads(run("-j", "doctor")[1])["rates"]["state"] == "ok" and "note" not in run("queue", "show")[1]
    assert run("-j", "shape", "change", "burst", 3000) == (0, "", "")
    assert run("queue", "change", 0, "bandwidth", "100.02mbit")[0] == 0
    assert "bandwidth 100.02Mbit is not the link's rate, 100Mbit" in run("queue", "show", 0)[1]
    assert run("shape", "del")[1].count("note: queue") == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [("", ""), ("exempt_first", ""), ("exempt_first off", " exempt_first off"), ("spread geometric", " spread geometric"),
     ("spread geometric exempt_first", " spread geometric exempt_first")],
)  # fmt: skip
def test_an_exempt_first_packet_is_told_where_it_is_not_usual(run: Any, given: str, said: str) -> None:
    assert run("queue", "replace", 0, "red", "bandwidth", "10gbit", *given.split())[0] == 0
    line = run("queue", "show", 0)[1].strip()
    assert line.endswith(f"bandwidth 10Gbit{said}")


def test_shape(run: Any, every: FakeCore) -> None:
    assert run("shape", "replace", "rate", "100mbit", "burst", "3000", "overhead", "-4") == (0, "", "")
    assert every.applied("SHAPER_COST_LO") == 80 << 19 and every.applied("SHAPER_OVERHEAD") == 60 << 16 | 0xFFFC
    assert run("shape", "change", "rate", "1gbit")[0] == 0
    assert run("shape")[1] == "shape rate 1Gbit burst 3000b overhead -4 mpu 60\n"
    assert json.loads(run("-j", "shape")[1])["rate"] == 1e9
    assert run("shape", "change", "mpu", "0")[0] == 0 and every.applied("SHAPER_OVERHEAD") == 0xFFFC
    assert run("shape", "change", "overhead", "24")[0] == 0 and every.applied("SHAPER_OVERHEAD") == 24
    assert json.loads(run("-j", "shape")[1]) == {"rate": 1e9, "burst": 3000, "overhead": 24, "mpu": 0}
    assert run("shape", "replace", "rate", "1gbit", "mpu", "64")[0] == 0
    assert run("shape")[1] == "shape rate 1Gbit burst 1538b overhead 24 mpu 64\n"
    assert run("shape", "del")[0] == 0 and run("shape")[1] == "shape off, the line takes 10Gbit\n"
    assert every.applied("SHAPER_OVERHEAD") == 60 << 16 | 24


def test_split_and_merge(run: Any, every: FakeCore) -> None:
    assert run("split", "on", "ethertype", "0x88B6")[0] == 0
    assert run("split")[1] == "split on ethertype 0x88B6 protocol 253 form l2 tick 6 spacing off\n"
    assert run("split", "on", "form", "l3", "tick", 10)[0] == 0 and every.applied("JUMBO") == 1 | 1 << 4 | 10 << 8
    assert run("split")[1] == "split on ethertype 0x88B6 protocol 253 form l3 tick 10 spacing off\n"
    assert run("split", "on", "spacing", "1.5ms")[0] == 0 and every.applied("SPACING") == 1 << 31 | 1_500_000
    assert run("split")[1] == "split on ethertype 0x88B6 protocol 253 form l3 tick 10 spacing 1.5ms\n"
    assert run("split", "on")[0] == 0 and every.applied("SPACING") >> 31 == 1, "what is not named stays"
    assert run("split", "on", "spacing", "off")[0] == 0 and every.applied("SPACING") == 1_000_000
    assert "jumbo spacing 2s is out of range: allowed is 1ns to 1s" in run("split", "on", "spacing", "2s")[2]
    assert run("split", "off")[0] == 0 and run("split")[1].startswith("split off ethertype 0x88B6")
    assert run("split", "transit")[0] == 0 and run("split")[1].startswith("split transit ethertype 0x88B6")
    assert every.applied("JUMBO") & 3 == 2 and run("split", "off")[0] == 0
    assert run("merge")[1] == "".join(f"merge {q} off\n" for q in range(4))
    assert run("merge", 1, "flow", "max_bytes", 1500, "max_count", 9) == (0, "", "")
    assert [every.applied(name, 1) for name in ("MERGE", "MERGE_MAX_BYTES", "MERGE_MAX_SUM", "MERGE_MAX_COUNT")] == [
        1,
        1500,
        8960,
        9,
    ]
    assert run("merge", "show")[1].splitlines()[1] == "merge 1 flow max_bytes 1500 max_sum 8960 max_count 9"
    assert json.loads(run("-j", "merge")[1])["1"]["mode"] == "flow"
    assert run("merge", 1, "off")[0] == 0 and every.applied("MERGE", 1) == 0


def test_match_table_and_classes(run: Any, every: FakeCore, tmp_path: Path) -> None:
    def table() -> list[int]:
        return [v for a, v in every.words.items() if 0x6C <= a < 0x80 or 0x300 <= a < 0x400]

    assert run("match")[1] == "match default class 0\n"
    assert run("match", "replace", 3, "10.1.0.0/16", "class", 7) == (0, "", "")
    assert run("match", "replace", 15, "2001:db8::/48", "bypass")[0] == 0
    assert run("match", "replace", 0, "10.0.2.9&255.0.255.0", "class", 1)[0] == 0
    assert run("match", "default", "bypass")[0] == 0
    assert run("match")[1].splitlines() == [
        "match 0 10.0.2.0&255.0.255.0 class 1", "match 3 10.1.0.0/16 class 7", "match 15 2001:db8::/48 bypass",
        "match default bypass",
    ]  # fmt: skip
    assert every.applied("MATCH") == 1 << 4 and every.applied("MATCH_ACTION0") == 0x87 << 24 | 0x81
    assert every.applied("MATCH_ACTION3") == (0x80 | 0x20 | 0x10) << 24
    assert (
        every.words[every.address("MATCH3_VALUE0")] == 0x0A010000
        and every.words[every.address("MATCH3_MASK0")] == 0xFFFF0000
    )
    assert (
        every.words[every.address("MATCH15_VALUE0")] == 0x20010DB8
        and every.words[every.address("MATCH15_MASK1")] == 0xFFFF0000
    )
    assert run("merge", 1, "class", "jfet", "2.5us", "max_count", 9) == (0, "", "")
    assert run("merge")[1].splitlines()[1] == "merge 1 class jfet 2.5us max_bytes 9216 max_sum 8960 max_count 9"
    assert every.applied("MERGE", 1) == 2 and every.applied("MERGE_JFET", 1) == 2500
    file, before = tmp_path / "all.yaml", table()
    commands = run("show", "--commands")[1]
    assert run("save", file)[0] == 0 and run("match", "del", "all")[0] == 0 and run("merge", 1, "off")[0] == 0
    assert run("match", "default", "class", 2)[0] == 0 and table() != before
    assert run("restore", file)[0] == 0 and table() == before and every.applied("MERGE", 1) == 2
    assert "weirctl match replace 15 '2001:db8::/48' bypass" in commands
    assert run("match", "del", 3)[0] == 0 and "10.1.0.0" not in run("match")[1]


def test_mred(run: Any, every: FakeCore, tmp_path: Path) -> None:
    assert run("queue", "replace", 1, *"red limit 130000 min 30000 max 90000 avpkt 1000 burst 55".split())[0] == 0
    assert run("mred", 1, "low", 0.25, "high", 1) == (0, "", "")
    assert [every.applied(name, 1) for name in ("MRED", "MRED_LO", "MRED_HI")] == [1, 1 << 30, (1 << 32) - 1]
    slope = every.applied("MRED_SLOPE", 1)
    assert (slope & 0x3FFFF) * 2.0 ** -(slope >> 24) == pytest.approx(0.75 / 60000 * 2**17, rel=2**-18)
    assert run("mred")[1].splitlines()[:2] == ["mred 0 off", "mred 1 low 0.25 high 1"]
    # min and max change: 90000 bytes less 45000, which is 0.75 of the packets in 45000 bytes
    assert run("queue", "change", 1, "min", 45000)[0] == 0
    steeper = every.applied("MRED_SLOPE", 1)
    assert (steeper & 0x3FFFF) * 2.0 ** -(steeper >> 24) == pytest.approx(0.75 / 45000 * 2**17, rel=2**-18)
    assert json.loads(run("-j", "mred", "show")[1])["1"] == {"enable": True, "low": 0.25, "high": 1.0}
    names, file = ("MRED", "MRED_LO", "MRED_HI", "MRED_SLOPE"), tmp_path / "all.yaml"
    for low, high in ((0.25, 1), (1 / 3, 0.7), (0, 2.5e-9), (0.025, 0.5)):
        assert run("mred", 1, "low", low, "high", high)[0] == 0
        before = [every.applied(name, 1) for name in names]
        commands = [
            line.split() for line in run("show", "--commands")[1].splitlines() if line.startswith("weirctl mred")
        ]
        assert run("save", file)[0] == 0 and run("mred", 1, "off")[0] == 0 and every.applied("MRED", 1) == 0
        assert run("restore", file) == (0, "", "") and [every.applied(name, 1) for name in names] == before
        assert run("mred", 1, "off")[0] == 0
        assert [run(*words[1:])[0] for words in commands] == [0] * 4
        assert [every.applied(name, 1) for name in names] == before
    file.write_text("weir: 1\nqueues: {1: {policy: red, min: 30000, max: 90000}}\n")
    assert run("restore", file)[0] == 0 and every.applied("MRED", 1) == 0
    assert "mred needs red, isred or ared in queue 0" in run("mred", 0, "low", 0.1)[2]
    assert "is not a number" in run("mred", 1, "low", "x")[2] and "'off'" in run("mred", 1, "low", 0.1, "off")[2]


def test_merging_is_saved_and_restored(run: Any, every: FakeCore, tmp_path: Path) -> None:
    run("split", "on", "form", "l3", "tick", 7, "spacing", "20us")
    run("merge", 2, "flow", "max_sum", 3000)
    commands = run("show", "--commands")[1]
    assert (
        "weirctl merge 2 flow max_bytes 9216 max_sum 3000 max_count 448" in commands
        and "weirctl merge 0 off" in commands
        and "weirctl split on ethertype 0x88B5 protocol 253 form l3 tick 7 spacing 20us" in commands
    )
    file = tmp_path / "all.yaml"
    assert run("save", file)[0] == 0
    run("merge", 2, "off")
    run("merge", 0, "flow")
    run("split", "off", "form", "l2", "tick", 6)
    assert run("restore", file)[0] == 0
    assert [every.applied("MERGE", q) for q in range(4)] == [0, 0, 1, 0] and every.applied("MERGE_MAX_SUM", 2) == 3000
    assert every.applied("JUMBO") == 1 | 1 << 4 | 7 << 8 and every.applied("SPACING") == 1 << 31 | 20_000
    file.write_text("weir: 1\nmerge: {1: {mode: both}}\n")
    assert "merge.1.mode: 'both' is not known; choose one of off, flow, class" in run("restore", file)[2]
    file.write_text("weir: 1\ncore: {match: {3: {destination: 10.0.0.0/8}}}\n")
    assert "core.match.3: class is missing" in run("restore", file)[2]


def test_regs(run: Any, every: FakeCore) -> None:
    assert run("regs", "queue", 1, "LIMIT_BYTES", 4096)[0] == 0
    assert every.words[every.address("LIMIT_BYTES", 1)] == 4096
    assert run("regs", "queue", 1, "limit_bytes")[1].split() == ["0x1404", "LIMIT_BYTES", "0x00001000"]
    assert run("regs", "0x1404")[1] == "0x1404  0x00001000\n"
    assert "QUEUES=4 DATA_WIDTH=64" in run("regs", "params")[1]
    _, out, _ = run("-j", "regs")
    found = json.loads(out)
    assert {r["name"] for r in found if r["queue"] is None} >= {"MAGIC", "MAX_FRAME"} and len(found) > 150


def test_reset(run: Any, every: FakeCore) -> None:
    assert run("reset") == (0, "", "") and every.resets == 1


# ---- as typed in the pages

CONFIGURES = ("queue", "class", "shape", "split", "merge", "match", "mred")


def typed(page: Path) -> list[str]:
    """The commands of a page's code blocks that configure a device."""
    blocks = re.findall(r"^```\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    lines = [re.sub(r"\s+#.*|^\$ ", "", line) for block in blocks for line in block.splitlines()]
    words = [
        re.sub(r"^(?:\.venv/bin/)?weirctl (?:-d \S+ )?", "", line) for line in lines if re.match(r"\S*weirctl ", line)
    ]
    return [line for line in words if line.split()[0] in CONFIGURES and "…" not in line]


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if typed(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_are_taken(
    page: Path, register_map: RegisterFile, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other, on a core as large as `full`, with every policy."""
    device = weir.Device(FakeCore(register_map, policies=POLICIES, cells=16384, descriptors=4096))
    for line in typed(page):
        assert main(shlex.split(line), device) == 0, (line, capsys.readouterr().err)


def test_pages_have_commands() -> None:
    assert (
        len(PAGES) > 5
        and len(typed(ROOT / "docs" / "policies.md")) == 3
        and len(typed(ROOT / "docs" / "guide-board.md")) >= 8
    )


def test_the_coupled_pair_of_the_page_is_one(run: Any, every: FakeCore) -> None:
    for line in typed(ROOT / "docs" / "policies.md"):
        assert run(*line.split()) == (0, "", "")
    classic, low = shown(run, 0), shown(run, 1)
    assert (classic["low_latency"], classic["coupled"]) == (False, 1)
    assert (low["low_latency"], low["coupled"]) == (True, 0) and low["quantum"] == 15 * classic["quantum"]
    assert every.applied("DSCP_MAP5") >> 4 * (45 % 8) & 0xF == 1


# ---- help and completion


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_that_needs_no_device(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("weirctl ") and all(len(line) <= 132 for line in out.splitlines())
    assert main(["help", verb]) == 0 and capsys.readouterr().out == out


@pytest.mark.parametrize("verb", [v for v in VERBS if v not in ("save", "restore", "queue")])
def test_help_may_be_a_word_too(verb: str, run: Any, every: FakeCore) -> None:
    assert run(verb, "help") == run(verb, "--help") == run("help", verb) and run(verb, "help")[0] == 0
    assert not every.log


def test_help_of_a_policy_as_json(run: Any) -> None:
    told = json.loads(run("-j", "queue", "help", "codel")[1])
    assert told["name"] == "codel"
    assert {p["name"]: p["max"] for p in told["parameters"]}["maxpacket"] == 9216


def test_every_qdisc_of_the_page_is_told_what_to_use(run: Any, every: FakeCore) -> None:
    """docs/names.md, Qdiscs that are no policy here; from `tc qdisc` of iproute2 6.1."""
    page = (
        (ROOT / "docs" / "names.md")
        .read_text(encoding="utf-8")
        .partition("## Qdiscs that are no policy here")[2]
        .partition("\n## ")[0]
    )
    names = [
        name for row in re.findall(r"^\| (`.*?) \|", page, flags=re.M) for name in re.findall(r"`([a-z0-9_]+)`", row)
    ]
    assert {"tbf", "ets", "prio", "pfifo", "fq_codel", "cake"} <= set(names) and len(names) == len(set(names)) > 20
    for name in names:
        code, _, err = run("queue", "replace", 0, name, "limit", 1000)
        assert code == 2 and err.startswith(f"weirctl: policy '{name}' is not there; ") and not every.log


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {verb} " in out for verb in VERBS)
    assert main([]) == 2
    assert main(["queue", "help", "red"], weir.Device.__new__(weir.Device)) == 0
    assert "probability" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "may", "not_"),
    [
        ("", ["queue", "--json", "doctor"], ["red"]),
        ("queue", ["replace", "show"], ["red"]),
        ("queue replace 0", ["red", "codel"], ["min"]),
        ("queue replace 0 red min 30KB", ["max", "ecn"], ["min", "target"]),
        ("queue replace 0 red spread", ["uniform-wait", "geometric"], ["max"]),
        ("-d unix:/x queue replace 0 pie", ["target"], ["min"]),
        ("class replace EF", ["queue"], []),
        ("merge", ["show"], ["max_bytes"]),
        ("merge 0", ["off", "flow", "class"], ["jfet", "max_bytes"]),
        ("merge 0 flow", ["max_bytes", "max_sum", "max_count"], ["jfet", "flow"]),
        ("merge 0 class max_sum 3000", ["jfet", "max_bytes", "max_count"], ["max_sum"]),
        ("merge 0 class jfet", [], ["max_sum"]),
        ("merge show", [], ["off"]),
        ("mred 0", ["off", "low", "high"], ["show"]),
        ("mred 0 low 0.1", ["high"], ["low", "off"]),
        ("mred 0 off", [], ["low"]),
        ("queue replace", ["0", "7"], ["red"]),
        ("queue show", ["0"], ["8"]),
        ("queue show 0", [], ["1"]),
        ("queue help", ["red"], ["0"]),
        ("class replace EF queue", ["3"], ["queue"]),
        ("class", ["max_frame"], ["mtu"]),
        ("class default", ["queue"], ["EF"]),
        ("regs queue", ["0"], []),
        ("stats", ["0", "--watch"], []),
        ("trace", ["3", "--csv"], []),
    ],
)
def test_completion_offers_what_may_follow(before: str, may: list[str], not_: list[str], run: Any) -> None:
    found = completion.following(before.split())
    assert set(may) <= set(found) and not set(not_) & set(found)
    assert run("completion", "words", "--", *before.split())[1].split() == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_accepted_by_their_shell(shell: str, run: Any, tmp_path: Path) -> None:
    import shutil
    import subprocess

    code, out, _ = run("completion", shell)
    assert code == 0 and "weirctl completion words" in out
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    (tmp_path / "script").write_text(out, encoding="utf-8")
    done = subprocess.run([shell, "-n", str(tmp_path / "script")], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr


@pytest.mark.parametrize("words", [
    ("queue", "replace", "0", "\udcff"), ("queue", "change", "0", "limit", "3\udcff"), ("match", "replace", "0", "\udcff", "class", "1"),
    ("queue", "replace", "0", "red", "limit", "3\0KB"), ("shape", "rate", "1\0Mbit"),
])  # fmt: skip
def test_what_is_no_text_is_refused(core: FakeCore, run: Any, words: tuple[str, ...]) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "") and len(err.splitlines()) == 1
    assert not core.log
