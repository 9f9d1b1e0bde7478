#!/usr/bin/env python3
"""`make live`: real Linux TCP through the RTL, with one policy after the other on the same shaped link.

Two hosts (network namespaces) and a core between them, as `weir-sim live` makes them. In each case a few bulk flows with
ECN run for some seconds beside a probe; results are the receiver's, the probe's, the core's trace and its counters, which
have to equal those of the hosts' devices. Results are in build/live/: table.txt, live.png, live.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import picture
from bulk import goodput_mbit
from weir.ctl.text import number
from weir_sim import native, trace
from weir_sim.cli import guarded
from weir_sim.direction import Options
from weir_sim.errors import IdentityError, UsageError, out_of_range
from weir_sim.files import Outputs
from weir_sim.live import Live

BULK = Path(__file__).resolve().parent / "bulk.py"
LINK_RATE = 10e6
DELAY_S = 0.02
CONGESTION = "cubic"
FLOWS = 4
LIMIT = "100KB"
SETTLED_S = 2.0
"""The first seconds, in which flows start, are in the picture but not in the figures of delay."""
SLACK_S = 60.0


@dataclass(frozen=True)
class Case:
    """A policy and its settings, as `weirctl queue replace` takes them."""

    key: str
    title: str
    policy: str
    settings: dict[str, str]


CASES = (
    Case("drop-tail", "Drop-Tail", "drop-tail", {"limit": LIMIT}),
    Case("red", "RED", "red", {"limit": LIMIT, "min": "10KB", "max": "30KB", "probability": "0.1", "avpkt": "1000",
                               "burst": "20", "gentle": "on", "ecn": "on"}),
    Case("fn", "FN", "fn", {"limit": LIMIT, "qopt": "10KB", "window": "64", "t": "200ms", "ecn": "on"}),
    Case("pie", "PIE", "pie", {"limit": LIMIT, "target": "15ms", "tupdate": "15ms", "ecn": "on"}),
)  # fmt: skip


@dataclass
class Recorder:
    """What the core's trace tells: departures with their sojourn times, marks and drops, at times in s."""

    start_ns: int
    _left: list[tuple[npt.NDArray[Any], ...]] = field(default_factory=list)
    _acted: list[tuple[npt.NDArray[Any], ...]] = field(default_factory=list)

    def add(self, records: trace.Records) -> None:
        """Takes records."""
        left = records[(records["kind"] == trace.DEPARTURE) & (records["action"] != trace.DROP)]
        self._left.append((left["time_ns"].copy(), left["sojourn_ns"].copy(), left["length"].copy()))
        arrivals = records["kind"] == trace.ARRIVAL
        acted = records[(arrivals & (records["action"] != trace.ACCEPT))]
        self._acted.append((acted["time_ns"].copy(), acted["action"].copy()))

    def _seconds(self, time_ns: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        return (time_ns.astype(np.float64) - self.start_ns) / 1e9

    def departures(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Times in s, delays in ms, bytes."""
        times, sojourns, lengths = (np.concatenate(c) for c in zip(*self._left, strict=True))
        return self._seconds(times), sojourns / 1e6, lengths.astype(np.float64)

    def actions(self, action: int) -> npt.NDArray[np.float64]:
        """Times of marks or drops at arrival, in s."""
        times, actions = (np.concatenate(c) for c in zip(*self._acted, strict=True))
        return self._seconds(times[actions == action])


@dataclass(frozen=True)
class Result:
    """What came of a case."""

    case: Case
    figures: dict[str, Any]
    recorder: Recorder


def _share(values: Sequence[float], part: float) -> float:
    """Nearest-rank percentile."""
    ranked = sorted(values)
    return ranked[max(int(np.ceil(part * len(ranked))) - 1, 0)] if ranked else float("nan")


def _figures(live: Live, sent: dict[str, Any], recorder: Recorder, seconds: float) -> dict[str, Any]:
    """The row of a case; checks that all counters agree."""
    (ledger,) = live.finish()
    ledger.check()
    stats = live.there.core.stats()
    q = stats.queues[0]
    times, delays, _ = recorder.departures()
    chosen = (times > SETTLED_S) & (times < seconds)
    settled = delays[chosen] if chosen.any() else delays  # simulated time may have lost all of it
    round_trips = [ms for at, ms in sent["probes"] if at > SETTLED_S]
    names = {flow["congestion"] for flow in sent["flows"]}
    if names != {CONGESTION}:
        raise IdentityError(f"the flows ran {', '.join(sorted(names))}, not {CONGESTION}")
    pace, goodput = live.there.pace, goodput_mbit(sent["flows"])
    total = sum(flow["bytes"] for flow in sent["flows"])
    return {
        "goodput_mbit": goodput,
        "flows_mbit": [goodput * flow["bytes"] / total for flow in sent["flows"]],
        "retransmitted": sum(flow["retransmitted"] for flow in sent["flows"]),
        "delay_ms": {"mean": float(settled.mean()), "p95": _share(settled.tolist(), 0.95), "max": float(settled.max())},
        "rtt_ms": {"median": _share(round_trips, 0.5), "p95": _share(round_trips, 0.95)},
        "marked": q.marked.packets + q.head_marked.packets,
        "dropped": {name: getattr(q, name).packets for name in ("early", "forced", "overflow", "front", "head_dropped")},
        "arrived": {name: getattr(q, name).packets for name in ("in_not_ect", "in_ect0", "in_ect1", "in_ce")},
        "frames": {"sender": ledger.sent, "core": ledger.registers, "receiver": ledger.received},
        "behind": {"worst_ms": pace.worst_s * 1e3, "lost_s": pace.lost_s, "of_s": pace.elapsed_s},
    }  # fmt: skip


def _run(case: Case, preset: str, socket: Path, seconds: float) -> Result:
    """One case: hosts, core and flows of its own."""
    options = Options(preset, socket, LINK_RATE, case.policy, case.settings, DELAY_S, congestion=CONGESTION)
    with Live(options) as live:
        core = live.there.core
        live.server.start([sys.executable, str(BULK), "receive"], stdin=subprocess.DEVNULL)
        ready = time.monotonic() + 0.5
        while time.monotonic() < ready:
            live.turn()
        core.device.trace_enable()
        core.keep(frames=True, trace=True)
        recorder = Recorder(core.now_ns)
        live.there.port.traced = recorder.add
        words = ["send", "--flows", str(FLOWS), "--seconds", str(seconds), "--congestion", CONGESTION]
        sender = live.client.start(
            [sys.executable, str(BULK), *words], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
        )
        deadline = time.monotonic() + seconds + SLACK_S
        while sender.poll() is None:
            if time.monotonic() > deadline:
                raise UsageError(f"live: the flows of {case.title} have not ended {SLACK_S:g} s after their time")
            live.turn()
        assert sender.stdout is not None
        answer = sender.stdout.read()
        if sender.returncode != 0:
            raise UsageError(f"live: the sender of {case.title} failed with code {sender.returncode}")
        return Result(case, _figures(live, json.loads(answer), recorder, seconds), recorder)


def table(results: Sequence[Result]) -> str:
    """The table that is printed."""
    rows: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("goodput, Mbit/s", lambda f: f"{f['goodput_mbit']:.2f}"),
        ("queueing delay, mean", lambda f: f"{f['delay_ms']['mean']:.1f} ms"),
        ("queueing delay, 95th percentile", lambda f: f"{f['delay_ms']['p95']:.1f} ms"),
        ("round trip of the probe, median", lambda f: f"{f['rtt_ms']['median']:.1f} ms"),
        ("marked CE, packets", lambda f: f"{f['marked']}"),
        ("dropped, packets", lambda f: f"{sum(f['dropped'].values())}"),
        ("retransmitted by TCP, segments", lambda f: f"{f['retransmitted']}"),
        ("time that the model lost", lambda f: f"{f['behind']['lost_s']:.2f} s"),
    ]  # fmt: skip
    lines = [f"{'':<34}" + "".join(f"{r.case.title:>12}" for r in results)]
    lines += [f"{name:<34}" + "".join(f"{cell(r.figures):>12}" for r in results) for name, cell in rows]
    return "\n".join(lines)


def _session(preset: str, out: Path, seconds: float, cases: Sequence[Case]) -> int:
    """Runs the cases, prints their table and writes the results."""
    if not SETTLED_S + 1 <= seconds <= 3600:
        raise out_of_range("--seconds", number(seconds), f"{SETTLED_S + 1:g} to 3600")
    out.mkdir(parents=True, exist_ok=True)
    about = (f"{FLOWS} flows of TCP {CONGESTION} with ECN, {seconds:g} s, through the core into a link of "
             f"{LINK_RATE / 1e6:g} Mbit/s; {DELAY_S * 1e3:g} ms back; limit {LIMIT}")  # fmt: skip
    print(about, flush=True)
    results = []
    for case in cases:
        print(f"  {case.policy} {' '.join(f'{k} {v}' for k, v in case.settings.items())}", flush=True)
        results.append(_run(case, preset, out / "weir.sock", seconds))
    text = table(results)
    with Outputs() as files:
        picture.draw(files.path(out / "live.png"), results, about, seconds)
        files.open(out / "table.txt").write(f"{about}\n\n{text}\n".encode())
        rows = [{"policy": r.case.key, "settings": r.case.settings, **r.figures} for r in results]
        files.open(out / "live.json").write((json.dumps(rows, indent=2) + "\n").encode())
    print(f"\n{text}\n\nframes: the core's counters equal those of the hosts' devices in every case")
    if any(r.figures["behind"]["lost_s"] > 0 for r in results):
        print(
            "the model could not keep up all the time (last row): those figures are of the machine as well as of the core"
        )
    print(f"{out}: live.png, table.txt, live.json")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=native.root() / "build" / "live", help="directory of the results")
    parser.add_argument("--preset", default="aqm", help="core to simulate (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=15.0, help="duration of each case (default %(default)g)")
    parser.add_argument("--only", action="append", default=[], choices=[c.key for c in CASES], help="only these cases")
    a = parser.parse_args(arguments)
    cases = [case for case in CASES if not a.only or case.key in a.only]
    return guarded("live", lambda: _session(a.preset, a.out, a.seconds, cases))


if __name__ == "__main__":
    sys.exit(main())
