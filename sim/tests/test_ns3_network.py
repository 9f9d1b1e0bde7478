"""The Weir queue in a simulated network, and the experiments' programs."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ns3_programs import PROGRAMS, ROOT, experiment, run

SHORT: dict[str, dict[str, object]] = {
    "isred": {"duration": 14, "sources": 20},
    "fn-red": {"duration": 1},
    "gateways": {"duration": 0.9},
    "mred": {"duration": 6, "weight": 0.03},  # an average that follows within seconds
}
VARIANTS: list[tuple[str, dict[str, object]]] = [
    ("isred", {"policy": "red"}),
    ("isred", {"policy": "isred"}),
    ("isred", {"policy": "isred", "mode": "chance", "source": "q"}),
    ("fn-red", {"policy": "fn"}),
    ("fn-red", {"policy": "fn-quadratic", "traffic": "fed"}),
    ("fn-red", {"policy": "red", "traffic": "sessions"}),
    ("gateways", {"gateway": "drop-tail", "scenario": "F"}),
    ("gateways", {"gateway": "dt-ecn-25", "tcp": "sack"}),
    ("gateways", {"gateway": "red-ecn", "scenario": "C"}),
    ("mred", {"side": "mred"}),
    ("mred", {"side": "red"}),
    ("mred", {"side": "mred", "scenario": "decrease", "low": 0.5, "high": 1, "timer": 0.005}),
]


def test_the_example_runs_and_its_decisions_agree() -> None:
    """example/dumbbell.cc, four TCP flows with ECN."""
    line = run("dumbbell").stdout
    words = line.split()
    arrived, left, agree = int(words[0]), int(words[3]), int(words[5])
    assert arrived > 5000 and agree == arrived + left


def test_the_example_that_merges_and_splits_loses_nothing() -> None:
    """example/merge.cc, a flow of 500,000 bytes each way over one link, queues and splits at both ends."""
    words = run("merge").stdout.replace(";", "").split()
    received, frames, packets, decisions, split = (int(words[i]) for i in (0, 3, 7, 9, 12))
    assert received == 2 * 500_000 and frames > 100 and packets > 2 * frames
    # 1000 segments, and an acknowledgement for every two; two records of each that was not dropped, and it comes out of a split
    assert decisions >= 2 * 1500 and packets <= split <= decisions // 2


@pytest.mark.parametrize(
    ("policy", "merge", "stretch", "delay"),
    [
        ("drop-tail", "on", 1, 5000),
        ("red", "on", 10, 5000),
        ("red", "off", 1, 1000),
        ("red", "off", 1, 0),
        ("drop-tail", "on", 1, 0),
    ],
)
def test_a_link_with_a_queue_at_each_end(policy: str, merge: str, stretch: int, delay: int) -> None:
    """Everything arrives; RTL and golden model have the same traces. The two ends have other random numbers, which are in the records of drop-tail too, where all else is alike."""
    rtl, golden, again = (
        run("both_check", kind, policy, merge, stretch, delay).stdout.splitlines()
        for kind in ("rtl", "golden", "golden")
    )
    assert golden == again and rtl[-1] == golden[-1] == "received 300000 300000"
    ends = []
    for of_rtl, of_golden in zip(rtl[:2], golden[:2], strict=True):
        *both, split = of_rtl.split()
        assert both == of_golden.split()[:-1], "the golden model alone compares nothing behind a split"
        _, arrivals, departures, trace, frames, packets = both
        assert int(arrivals) > int(departures) > 300
        assert (int(frames) > 20) == (int(split) > 300) == (merge == "on") and int(packets) >= 2 * int(frames)
        ends.append(trace)
    assert ends[0] != ends[1]


@pytest.mark.parametrize("program", ["isred", "fn-red", "gateways", "mred"])
def test_a_link_without_a_delay(program: str) -> None:
    """The queue may not lag behind by more than the shortest frame takes: an acknowledgement has 54 bytes."""
    got = experiment(program, queue="rtl", **SHORT[program], delay=0)
    assert got["core"]["compared"] == got["core"]["records"] > 300


@pytest.mark.parametrize(
    "program,options", VARIANTS, ids=lambda v: v if isinstance(v, str) else "-".join(map(str, v.values()))
)
def test_the_rtl_and_the_golden_model_give_the_same_network(program: str, options: dict[str, object]) -> None:
    """Two runs, closed loops of TCP: the same hash of the trace, the same bytes received, every record compared."""
    rtl = experiment(program, queue="rtl", **SHORT[program], **options)
    golden = experiment(program, queue="golden", **SHORT[program], **options)
    core = rtl["core"]
    print(f"{program} {options}: {core}")
    assert core["trace_hash"] == golden["core"]["trace_hash"] and rtl["goodput_bytes"] == golden["goodput_bytes"]
    assert rtl["results"] == golden["results"]
    assert core["compared"] == core["records"] > 500
    assert core["cycles"] > 50 * core["evaluated"] > 0, "idle time costs nothing"
    assert rtl["results"]["dropped"] + rtl["results"]["marked"] > 0 or options.get("gateway", "").startswith("dt-")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("program", "options"),
    [
        ("isred", {"policy": "red"}),
        ("fn-red", {"policy": "fn", "traffic": "sessions"}),
        ("gateways", {"gateway": "red-ecn"}),
        ("mred", {"side": "mred"}),
        ("datacenter", {"merge": "on", "warm": 0.001, "load": 1.6}),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_thread_of_its_own_changes_nothing(program: str, options: dict[str, object]) -> None:
    """The RTL beside the simulator, in turns with it, and beside it on one processor. It hears how far it may go, so it evaluates other
    idle cycles."""
    short = {"datacenter": {"duration": 0.001}} | SHORT
    beside, turns = (experiment(program, queue="rtl", thread=t, **short[program], **options) for t in ("on", "off"))
    assert beside["results"] == turns["results"]
    assert beside["core"]["evaluated"] > turns["core"]["evaluated"]
    for name in ("trace_hash", "records", "compared", "cycles"):
        assert beside["core"][name] == turns["core"][name], name
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        alone = experiment(program, queue="rtl", **short[program], **options)
    finally:
        os.sched_setaffinity(0, processors)
    assert alone["core"] == beside["core"] and alone["results"] == beside["results"]


@pytest.fixture(scope="module")
def lying_model(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """tests/lying_model.c in front of a cycle model, by core."""
    made = {}
    for core in ("network", "network-jumbo"):
        truth = ROOT / "build" / "model" / core / "libweir_model.so"
        made[core] = tmp_path_factory.mktemp(core) / "lying.so"
        command: list[Any] = [
            "gcc",
            "-shared",
            "-fPIC",
            "-Wall",
            "-Wextra",
            "-Werror",
            f"-I{ROOT / 'sim' / 'model'}",
            "-o",
            made[core],
        ]
        command += [ROOT / "sim" / "ns3" / "tests" / "lying_model.c", truth, f"-Wl,-rpath,{truth.parent}", "-ldl"]
        subprocess.run(command, check=True, timeout=120)
    return made


@pytest.mark.parametrize("thread", ["on", "off"])
@pytest.mark.parametrize(
    ("program", "lie", "message"),
    [
        ("isred", "record:300", "RTL and golden model disagree: "),
        ("isred", "frame:300", "left the queue with other bytes"),
        ("datacenter", "record:900", "RTL and golden model disagree: "),
        ("datacenter", "frame:900", "disagree: |other bytes"),
        ("datacenter", "", ""),
        ("isred", "", ""),
    ],
)
def test_a_bit_that_differs_ends_the_run(
    lying_model: dict[str, Path], program: str, lie: str, message: str, thread: str
) -> None:
    """One bit of one record, or of one frame that leaves a queue or a split; with no such bit the same library is taken."""
    short: dict[str, tuple[str, list[str]]] = {
        "isred": ("network", ["--duration=14", "--sources=20"]),
        "datacenter": ("network-jumbo", ["--merge=on", "--duration=0.001", "--warm=0.001", "--load=1.6"]),
    }
    core, words = short[program]
    done = run(
        program, *words, f"--model={lying_model[core]}", f"--thread={thread}", code=1 if lie else 0, WEIR_LIE=lie
    )
    assert re.search(message, done.stderr) and done.stderr.count("\n") == bool(lie)


def test_the_worker_keeps_order_and_tells_failures(tmp_path: Path) -> None:
    """tests/worker_check.cc, under the thread sanitizer."""
    folder, program = ROOT / "sim" / "ns3", tmp_path / "worker_check"
    sources = [folder / "tests" / "worker_check.cc", folder / "weir" / "worker.cc"]
    flags = ["-std=c++20", "-O1", "-fsanitize=thread", "-pthread", "-Wall", "-Wextra", "-Werror", f"-I{folder}"]
    subprocess.run(["g++", *flags, *sources, "-o", program], check=True, timeout=120)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("duration", [0.28, 0.280798, 0.282922])
def test_a_run_may_end_while_a_packet_is_decided(duration: float) -> None:
    """A record falls into the 2 us in which the core settles after the end of the last two."""
    rtl, golden = (
        experiment("gateways", scenario="E", gateway="dt-ecn-50", duration=duration, queue=queue)["core"]
        for queue in ("rtl", "golden")
    )
    assert rtl["records"] == rtl["compared"] == golden["records"] > 1000
    assert rtl["trace_hash"] == golden["trace_hash"]


def test_marks_reach_the_sources() -> None:
    """RED with ECN: sources that understand marks lose less, and still slow down."""
    ecn = experiment("gateways", queue="golden", duration=6, gateway="red-ecn")["results"]
    plain = experiment("gateways", queue="golden", duration=6, gateway="red")["results"]
    assert ecn["marked"] > 100 and plain["marked"] == 0
    assert ecn["early"] + ecn["forced"] < plain["early"] + plain["forced"]
    assert ecn["queue_packets_mean"] < 300


def test_red_above_mark_p_drops_where_it_would_mark() -> None:
    """ns-2's `mark_p_`: with a max_p of 0.02, 0.019 is below max and 0.1 above it, where with gentle RED p rises from 0.02 to 1."""
    early = {p: experiment("gateways", queue="golden", duration=6, scenario="F", gateway="red-ecn", **{"mark-p": p})["results"]
             for p in (0.019, 0.1, 1)}  # fmt: skip
    assert early[0.019]["marked"] < early[0.1]["marked"] < early[1]["marked"]
    # the last are of packets without ECN: SYN, and what is sent again
    assert early[0.019]["early"] > early[0.1]["early"] > 5 * early[1]["early"]


@pytest.mark.parametrize("tcp", ["reno", "sack"])
def test_a_source_that_stops_sends_nothing_new(tcp: str) -> None:
    """001, scenario A, nothing is lost: 15 of 25 sources stop at 4 s. What is under way then, and two segments, come within a round
    trip and a way: 3 links of 10 ms each way, and the queue, of 450 packets at most, twice. The send buffer alone would take a second."""
    got = experiment("gateways", queue="golden", gateway="dt-ecn-50", scenario="A", duration=6, tcp=tcp)
    after = got["after_stop_s"]
    print(min(after), max(after))
    assert got["results"]["dropped"] == 0 and len(after) == 15
    assert 0.03 <= min(after) and max(after) < 0.09 + 2 * 450 * 1500 * 8 / 45e6


def test_the_queue_of_ns3_is_close_to_the_rtl() -> None:
    """The same network with ns-3's own RED: no decision is the same, the loss is alike (three seeds, mean within a tenth)."""

    def loss(queue: str) -> float:
        runs = [experiment("isred", queue=queue, policy="red", seed=s, duration=20)["results"] for s in (1, 2, 3)]
        return sum(r["loss_percent"] for r in runs) / len(runs)

    ns3, golden = loss("ns3"), loss("golden")
    print(f"loss: ns-3 {ns3:.2f} %, Weir {golden:.2f} %")
    assert abs(ns3 - golden) < 0.1 * golden


def test_whole_jumbo_frames_in_the_queue_of_ns3_are_close_to_the_core() -> None:
    """RED on whole jumbo frames, ns-3's own and Weir's: loss of packets in three seeds, mean within a seventh."""

    def loss(queue: str) -> float:
        runs = [experiment("mred", queue=queue, side="red", seed=s)["results"] for s in (1, 2, 3)]
        return sum(r["loss_percent"] for r in runs) / len(runs)

    ns3, golden = loss("ns3"), loss("golden")
    print(f"loss: ns-3 {ns3:.2f} %, Weir {golden:.2f} %")
    assert abs(ns3 - golden) < golden / 7


def test_another_seed_gives_another_run_and_the_same_seed_the_same() -> None:
    """Results can be reproduced."""
    hashes = [experiment("isred", queue="golden", seed=s, duration=12)["core"]["trace_hash"] for s in (1, 1, 2)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_the_edges_of_the_experiment_make_jumbo_frames() -> None:
    """Two flows of full segments of 500 bytes: six fit into 3000 (40 + 6·490 = 2980), and short acknowledgements travel with them."""
    got = experiment("mred", queue="ns3", side="red", duration=10, flows=0)
    made = got["edge"]
    print(made, got["results"]["throughput_percent"])
    assert made["jumbo_packets"] > 50 * made["packets_alone"] and made["jumbo_packets"] > 5 * made["jumbo_frames"]
    assert 70 < got["results"]["throughput_percent"] < 100
    alone = experiment("mred", queue="ns3", side="red", duration=10, flows=0, timer=0)
    assert alone["edge"]["jumbo_frames"] == 0 and alone["edge"]["packets_alone"] > 1000
    five = experiment("mred", queue="ns3", side="red", duration=10, flows=0, count=5)["edge"]
    assert 4 * five["jumbo_frames"] < five["jumbo_packets"] <= 5 * five["jumbo_frames"]


@pytest.mark.parametrize("side", ["mred", "red"])
def test_losses_are_counted_in_packets(side: str) -> None:
    """What comes is sent, dropped or still there; halves and seconds add up; MRED cuts packets out, RED drops whole frames early."""
    got = experiment("mred", queue="rtl", check="off", side=side, duration=8, weight=0.03)
    r, seconds = got["results"], got["series"]
    print({k: v for k, v in r.items() if isinstance(v, (int, float)) and v})
    causes = {c: r[c] for c in ("early", "forced", "overflow", "partial")}
    assert r["dropped"] == sum(causes.values()) == sum(seconds["drops_per_s"])
    assert r["arrived"] == sum(seconds["arrivals_per_s"]) > 5 * r["arrived_frames"]
    # the queue holds 60,000 bytes, of which a packet has 54 and more
    assert 0 <= r["arrived"] - r["dropped"] - r["sent"] < 60_000 / 54
    first, second = (
        100 * sum(seconds["drops_per_s"][a : a + 4]) / sum(seconds["arrivals_per_s"][a : a + 4]) for a in (0, 4)
    )
    assert abs(first - r["loss_first_percent"]) < 1e-6 and abs(second - r["loss_second_percent"]) < 1e-6
    assert second > first and r["throughput_half_percent"] < r["throughput_percent"] < 100
    assert r["utilisation_percent"] == r["throughput_percent"]
    assert r["partial"] > 50 > r["early"] if side == "mred" else r["partial"] == 0 and r["early"] > 50


def test_congestion_falls_when_the_new_flows_have_ended() -> None:
    """`decrease`: they begin with the others and carry their share of the link in half of the time."""
    for scenario, sign in (("increase", -1), ("decrease", 1)):
        r = experiment("mred", queue="ns3", side="red", scenario=scenario, duration=30)["results"]
        assert (r["queue_first"] - r["queue_second"]) * sign > 3 and (
            r["loss_first_percent"] - r["loss_second_percent"]
        ) * sign > 2


#: what a parameter that once was a constant changes; its value today is the default
SET: list[tuple[str, dict[str, object]]] = [
    *(("gateways", {name: value}) for name, value in (("delay", 0.02), ("access-delay", 0.02), ("ssthresh", 3000), ("jitter", 1))),
    ("gateways", {"gateway": "drop-tail", "window": 2000}),
    *(("gateways", {"min-rto": value, "gateway": "drop-tail", "limit": 20}) for value in (0.05,)),
    ("gateways", {"initial-window": 3}),
    ("gateways", {"ack-every": 2}),
    *(("gateways", {"gateway": "red", "limit": 40, name: value}) for name, value in (("min", 5), ("max", 30), ("spread", "geometric"))),
    ("gateways", {"gateway": "dt-ecn", "limit": 40, "utilisation": 20}),
    *(("gateways", {"connections": value}) for value in ("10,25,11", "10,5,10")),
    *(("fn-red", {"policy": "red", "k": 2, name: value}) for name, value in (("max", 20), ("gentle", "on"))),
    *(("fn-red", {name: value}) for name, value in (("spread", "geometric"), ("ecn-every", 1))),
    *(("fn-red", {name: value}) for name, value in (("delay", 0.02), ("access-rate", 2e6), ("access-delay", 0.01), ("jitter", 0.5))),
    *(("fn-red", {"traffic": "sessions", name: value}) for name, value in (("mean", 20000), ("shape", 3))),
    *(("isred", {name: value}) for name, value in (
        ("access-rate", 1e6), ("access-delay", 0.02), ("late-rate", 1e6), ("late-delay-least", 0.001), ("late-delay-most", 0.1),
        ("late", 9), ("jitter", 1))),
    ("isred", {"mode": "gain", "gain": 4}),
    *(("mred", {name: value}) for name, value in (
        ("access-rate", 2e6), ("left-delay", 0.02), ("right-delay", 0.02), ("delay-step", 0.01), ("edge-rate", 2e6), ("apart", 0.01),
        ("jitter", 1), ("tick", 12), ("long-window", 5))),
]  # fmt: skip


@pytest.mark.parametrize(("program", "options"), SET, ids=lambda v: v if isinstance(v, str) else "-".join(map(str, v)))
def test_each_parameter_is_in_the_result_and_changes_it(program: str, options: dict[str, object]) -> None:
    """A run with another value, the golden model; `parameters` has it."""
    *_, name = options
    name = "min-rto" if "min-rto" in options else name
    without = {n: v for n, v in options.items() if n != name}
    changed, same = (experiment(program, queue="golden", **SHORT[program], **o) for o in (options, without))
    assert changed["parameters"][name] == options[name] != same["parameters"][name]
    assert changed["core"]["trace_hash"] != same["core"]["trace_hash"]


def test_the_window_of_the_long_flows_is_theirs() -> None:
    """000: of one jumbo frame, six packets of 446 bytes, twice in a round trip of 52 ms and more."""
    most = 2 * 6 * 446 * 10 / 0.052
    alone = {"queue": "golden", "duration": 10, "flows": 0, "reverse": 0}
    assert 0 < experiment("mred", **alone, **{"long-window": 1})["goodput_bytes"] < most
    assert experiment("mred", **alone, window=1)["goodput_bytes"] > most


BAD: list[tuple[str, list[str], int, str]] = [
    ("isred", ["--sorces=3"], 2, "unknown parameter --sorces"),
    ("isred", ["--sources=2"], 2, "must be 3 to 1000"),
    ("isred", ["--sources=many"], 2, "must be a number"),
    ("isred", ["--sources=15.5"], 2, "--sources=15.5 must be a whole number"),
    ("isred", ["--seed=1.5"], 2, "must be a whole number"),
    ("isred", ["--queue=golden", "--model=/nowhere"], 2, "--model is of --queue rtl only"),
    ("isred", ["--policy=red", "--slope=3"], 2, "--slope is of --policy isred only"),
    ("fn-red", ["--policy=red", "--ws=7"], 2, "--ws is of --policy fn and fn-quadratic only"),
    ("fn-red", ["--k=7"], 2, "--k is of --policy red only"),
    ("isred", ["--policy=codel"], 2, "must be one of red, isred, drop-tail"),
    ("isred", ["--max=40"], 2, "may not exceed"),
    ("isred", ["sources"], 2, "is not a parameter"),
    ("isred", ["--sources"], 2, "needs a value"),
    ("isred", ["--queue=ns3", "--policy=isred"], 1, "ns-3 has no queue like this"),
    ("isred", ["--rate=1"], 2, "must be 64000"),
    ("isred", ["--min=9", "--max=9"], 2, "--min, --max: RED's min, 9, must be below its max, 9"),
    ("isred", ["--queue=ns3", "--policy=red", "--min=20", "--max=15"], 2, "RED's min, 20, must be below its max, 15"),
    (
        "isred",
        ["--queue=ns3", "--policy=red", "--spread=geometric"],
        2,
        "--spread must be one of uniform, uniform-wait with --queue ns3",
    ),
    (
        "isred",
        ["--queue=golden", "--core=network-jumbo"],
        1,
        "policy isred is not built into this core; choose one of drop-tail, red",
    ),
    ("isred", ["--seed=2", "--seed=3"], 2, "--seed is given twice"),
    ("mred", ["--queue=ns3", "--side=red", "--min=14", "--max=5"], 2, "RED's min, 14, must be below its max, 5"),
    (
        "mred",
        ["--queue=golden", "--core=network"],
        1,
        "the core network has no jumbo frames; choose one of full, network-jumbo",
    ),
    *(
        (
            "datacenter",
            [f"--queue={queue}", "--core=network", "--merge=off"],
            2,
            "--core must be one of full, network-jumbo",
        )
        for queue in ("rtl", "golden")
    ),
    *(("isred", [f"--queue={queue}", "--policy=red", "--min=14.5"], 1, "max") for queue in ("rtl", "golden", "ns3")),
    (
        "fn-red",
        ["--queue=golden", "--spread=uniform-wait"],
        2,
        "--spread must be one of geometric, uniform with --policy fn",
    ),
    ("gateways", ["--ack-every=3"], 2, "must be 1 to 2"),
    ("both_check", ["golden", "red", "on", "10001", "1000"], 1, "stretch 10001 is out of range: allowed is 1 to 10000"),
    (
        "fn-red",
        ["--queue=ns3", "--policy=red", "--buffer=1500", "--qopt=1000"],
        2,
        "RED's max, 15, may not exceed the limit of the queue, 1.4",
    ),
    ("fn-red", ["--policy=red", "--k=5", "--max=4"], 2, "--k, --max, --buffer: RED's min, 5, must be below its max, 4"),
    ("fn-red", ["--max=20"], 2, "--max is of --policy red only"),
    ("gateways", ["--min=300"], 2, "RED's min, 300, must be below its max, 225"),
    ("gateways", ["--connections=1,2"], 2, "--connections=1,2 must be three whole numbers of 0 to 1000"),
    ("gateways", ["--connections=0,0,0"], 2, "must be three whole numbers"),
    ("gateways", ["--connections=1,-2,3"], 2, "must be three whole numbers"),
    ("gateways", ["--connections=1,2,3", "--scenario=B"], 2, "--scenario is of a run without --connections only"),
    ("gateways", ["--utilisation=30"], 2, "--utilisation is of --gateway dt-ecn only"),
    ("gateways", ["--initial-window=0"], 2, "must be 1 to 100"),
    ("dumbbell", ["--foo"], 1, "takes no parameters, not '--foo'"),
    ("merge", ["3"], 1, "takes no parameters, not '3'"),
    ("isred", ["--model=/nowhere/libweir_model.so"], 1, "the cycle model is missing"),
    ("fn-red", ["--qopt=300000"], 2, "may not exceed"),
    ("fn-red", ["--ws=5000"], 2, "must be 1 to 4096"),
    ("gateways", ["--scenario=G"], 2, "must be one of A, B"),
    ("gateways", ["--gateway=drop-front"], 2, "no golden model"),
    ("gateways", ["--gateway=drop-tail", "--gentle=off"], 2, "--gentle is of --gateway red and red-ecn only"),
    ("isred", ["--queue=golden", "--check=off"], 2, "--check is of --queue rtl only"),
    ("isred", ["--queue=golden", "--thread=off"], 2, "--thread is of --queue rtl only"),
    ("isred", ["--queue=ns3", "--core=full"], 2, "--core is of --queue rtl and golden only"),
    ("mred", ["--side=red", "--low=0.2"], 2, "--low is of --side mred only"),
    ("mred", ["--jumbo=on"], 2, "unknown parameter --jumbo"),
    ("mred", ["--scenario=up"], 2, "must be one of increase, decrease"),
    ("mred", ["--mtu=1019"], 2, "--mtu=1019 must be 1020 to 9216"),
    ("mred", ["--size=1500"], 2, "--mtu=3000 must be 3020 to 9216"),
    ("mred", ["--low=0.7"], 2, "--low may not exceed --high"),
    ("mred", ["--timer=0.1"], 2, "must be 0 to 0.067"),
    ("mred", ["--max=21"], 2, "may not exceed"),
    ("mred", ["--count=449"], 2, "must be 1 to 448"),
    ("mred", ["--queue=golden", "--count=40", "--size=100", "--duration=3"], 1, "the golden model covers up to 31"),
    ("mred", ["--queue=ns3"], 1, "ns-3 has no queue like this"),
    ("mred", ["--model=/nowhere/libweir_model.so"], 1, "the cycle model is missing"),
    ("isred", ["--policy=isred", "--gain=3"], 2, "--gain is of --mode gain only"),
    ("isred", ["--late-delay-least=0.02"], 2, "--late-delay-least may not exceed --late-delay-most"),
    ("isred", ["--access-rate=1"], 2, "must be 64000"),
    ("fn-red", ["--mean=5000"], 2, "--mean is of --traffic sessions and fed only"),
    ("fn-red", ["--traffic=fed", "--shape=1"], 2, "--shape=1 must be 1.01 to 100"),
    ("gateways", ["--mark-p=0.1"], 2, "--mark-p is of --gateway red-ecn with --queue golden only"),
    ("gateways", ["--gateway=red", "--queue=golden", "--mark-p=0.1"], 2, "--mark-p is of --gateway red-ecn with"),
    ("gateways", ["--gateway=red-ecn", "--queue=golden", "--mark-p=0"], 2, "--mark-p=0 must be 1e-06 to 1"),
    ("gateways", ["--window=2001"], 2, "--window=2001 must be 1 to 2000"),
    ("gateways", ["--min-rto=0"], 2, "--min-rto=0 must be 0.001 to 60"),
    ("gateways", ["--ssthresh=-1"], 2, "must be 0 to"),
    ("mred", ["--tick=17"], 2, "must be 1 to 16"),
    ("mred", ["--tick=8"], 2, "--timer=0.02 must be 0 to 0.01677696, 65535 units of --tick"),
    ("mred", ["--long-window=0"], 2, "must be 1 to 1000"),
    ("gateways", ["--out=/nowhere/x.json", "--queue=golden"], 1, "/nowhere/x.json cannot be written"),
]


def test_numbers_may_be_written_with_an_exponent() -> None:
    """ns-3's attributes know none: they have the same number."""
    options: dict[str, object] = {"queue": "ns3", "policy": "red", "duration": 12}
    plain, other = (
        experiment("isred", **options, **more)["results"]
        for more in ({}, {"limit": "3e1", "weight": "2e-3", "max": "1.5e1"})
    )
    assert plain == other and plain["arrived"] > 500


@pytest.mark.parametrize("program,words,code,message", BAD, ids=lambda v: " ".join(v) if isinstance(v, list) else None)
def test_bad_input_is_one_line_and_a_code(program: str, words: list[str], code: int, message: str) -> None:
    """Never a silent default."""
    done = run(program, *words, code=code)
    assert done.stderr.count("\n") == 1 and message in done.stderr and done.stderr.startswith(program + ": ")
    assert not done.stdout


def test_a_result_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """A directory of that name; a file behind a link; what is no file; a full device."""
    words = ["--queue=golden", "--duration=0.2"]
    (tmp_path / "x.json").mkdir()
    assert "x.json cannot be written" in run("gateways", *words, f"--out={tmp_path / 'x.json'}", code=1).stderr
    (tmp_path / "y.json").write_text("old")
    (tmp_path / "link.json").symlink_to("y.json")
    run("gateways", *words, f"--out={tmp_path / 'link.json'}")
    assert (tmp_path / "link.json").is_symlink() and json.loads((tmp_path / "y.json").read_text())["core"]
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    run("gateways", *words, f"--out={tmp_path / 'pipe'}")
    assert json.loads(reader.communicate(timeout=60)[0])["core"] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert "/dev/full cannot be written" in run("gateways", *words, "--out=/dev/full", code=1).stderr
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [PROGRAMS / "gateways", *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1 and "standard output" in done.stderr
    assert sorted(f.name for f in tmp_path.iterdir()) == ["link.json", "pipe", "x.json", "y.json"]


def test_a_model_that_is_not_one_is_refused(tmp_path: Path) -> None:
    """A file that is no library, and a library without the functions."""
    (tmp_path / "x.so").write_text("no")
    assert "cannot be loaded" in run("isred", f"--model={tmp_path / 'x.so'}", code=1).stderr
    other = ROOT / "build" / "lib" / "libweir.so"
    assert "has no function" in run("isred", f"--model={other}", code=1).stderr


def test_the_library_installs_and_a_program_builds_against_it(tmp_path: Path) -> None:
    """Headers and library alone, with the line of docs/ns3.md."""
    subprocess.run(["make", "-s", "-C", ROOT / "sim" / "ns3", "install", f"PREFIX={tmp_path}"], check=True, timeout=300)
    ns3 = next((ROOT / ".venv-ns3" / "lib").glob("python3*/site-packages/ns3"))
    text = (ROOT / "docs" / "ns3.md").read_text()
    line = next(block for block in re.findall(r"```sh\n(.*?)```", text, re.S) if "-lweir-ns3" in block)
    for name in ("dumbbell", "merge"):
        (tmp_path / "program.cc").write_text((ROOT / "sim" / "ns3" / "example" / f"{name}.cc").read_text())
        names = {"NS3": str(ns3), "PREFIX": str(tmp_path)}
        subprocess.run(["sh", "-ec", line], cwd=tmp_path, env=os.environ | names, check=True, timeout=300)
        done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=300, check=True)
        assert "agree with the golden model" in done.stdout
