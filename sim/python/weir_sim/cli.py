"""`weir-sim`: replays captures through the cycle model of a Weir core.

Exit codes: 0 done; 1 the model is missing or failed, or an output could not be written to its end; 2 bad input or
arguments, one line says which; 3 packets or bytes did not add up; 129, 130, 143 ended by a signal; 141 nobody reads the
output. Output files appear whole or not at all.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import weir
from weir.ctl import text
from weir.ctl.ending import complain, give_up, prepare_streams
from weir.ctl.errors import BROKEN_PIPE
from weir.ctl.interrupt import INTERRUPTED, interrupted_quits

from . import native
from .errors import IdentityError, UsageError, out_of_range
from .files import STDOUT, check_ending, is_stdout
from .native import ModelError
from .pcap import CaptureError, read_capture

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

SPELLINGS = {"adaptative": "adaptive"}
"""tc's words for what is called otherwise here."""


def _settings(pairs: Sequence[str]) -> dict[str, str]:
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key:
            raise UsageError(
                f"--set {pair}: write key=value, for instance min=30KB; `weir-sim policies` lists the keys"
            )
        if key in ("policy", "queue"):
            raise UsageError(f"--set {pair}: the policy is given by --policy, and the queue is always 0")
        settings[SPELLINGS.get(key, key.replace("-", "_"))] = value if equals else "on"
    return settings


def _needs(option: str, value: str, built: Sequence[str], preset: str) -> None:
    """Refuses what needs hardware that this version does not build."""
    if value in built:
        return
    from .core import Core

    device = Core(preset).device
    raise UsageError(
        f"{option} {value}: not built in this version: FEATURES of preset '{preset}' is "
        f"0x{device.capabilities.features:08x}; leave out {option} or use {option} {' or '.join(built)}"
    )


def _rules(given: Sequence[str]) -> dict[int, tuple[str, int | str]]:
    """The match table of `--match` options."""
    rules: dict[int, tuple[str, int | str]] = {}
    for n, rule in enumerate(given):
        where, equals, number = rule.rpartition("=")
        if not equals or not (number == "bypass" or (number.isdecimal() and int(number) < 16)):
            raise UsageError(
                f"--match {rule}: write DESTINATION=CLASS with a class of 0 to 15, or bypass, as 10.1.0.0/16=3"
            )
        rules[n] = (where, "bypass" if number == "bypass" else int(number))
    if len(rules) > 16:
        raise UsageError(f"--match was given {len(rules)} times: allowed is 16")
    return rules


MERGE_ONLY = ("jfet", "match", "match_default", "max_bytes", "max_sum", "max_count", "l3")
LEAST_JFET_US = 0.001


def _jfet_us(text: str) -> float:
    try:
        jfet = weir.parse_time(text)
    except weir.WeirError as error:
        raise UsageError(f"--jfet {text}: {error}") from None
    if not jfet >= LEAST_JFET_US:
        raise UsageError(
            f"--jfet {text} is too short: allowed is 1ns to 1s; with 1ns a group has its first packets only"
        )
    return jfet


def _shares(text: str) -> tuple[float, float]:
    """LOW:HIGH of --mred."""
    low, colon, high = text.partition(":")
    try:
        shares = float(low), float(high)
    except ValueError:
        shares = None
    if not colon or shares is None or not 0 <= shares[0] <= shares[1] <= 1:
        raise UsageError(f"--mred {text}: write LOW:HIGH, shares of 0 to 1 and LOW not above HIGH, as 0.1:0.5")
    return shares


def _distinct(source: Path | None, outputs: Sequence[Path | None], binary: Sequence[Path | None] = ()) -> None:
    """Refuses outputs that cannot be written, or would be written over one another or over the capture."""

    def place(path: Path) -> Path:
        return Path("-") if is_stdout(path) else path.resolve()

    seen = {place(source): "the capture"} if source and str(source) != "-" else {}
    for path in (*outputs, *binary):
        if path is None:
            continue
        stdout = is_stdout(path)
        if sys.__stdout__ is None and os.fspath(path) in STDOUT_NAMES:
            raise UsageError(f"{path}: standard output is closed; name a file, or send it into a file or a pipe")
        if stdout and path in binary and os.isatty(STDOUT):
            raise UsageError(f"{path}: standard output is a terminal; send it into a file or a pipe")
        if path.is_dir():
            raise UsageError(f"{path}: is a directory")
        if not path.resolve().parent.is_dir():
            raise UsageError(f"{path}: the directory {path.parent} does not exist")
        if not stdout and not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
            raise UsageError(f"{path}: no permission to write it")
        if not stdout and path.exists() and not path.is_file():
            continue
        if place(path) in seen:
            raise UsageError(f"{path}: is also {seen[place(path)]}")
        seen[place(path)] = "another output"


def build_wave_model(preset: str) -> None:
    """Builds the library that can write waveforms, unless it is up to date."""
    native.check_preset(preset)
    if not native.library(preset, True).exists():
        print("building the model that writes waveforms (once)", file=sys.stderr)
    command = [sys.executable, native.root() / "sim" / "model" / "build.py", "--preset", preset, "--wave",
               "--out", native.library(preset, True).parent]  # fmt: skip
    done = subprocess.run([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        why = done.stderr.decode(errors="replace").splitlines() or ["no reason is told"]
        raise ModelError(f"the model that writes waveforms cannot be built: {why[-1].removeprefix('model: ')}")


def _rate(text: str) -> float:
    try:
        return weir.parse_rate(text)
    except weir.WeirError as error:
        raise UsageError(f"--link-rate {text}: {error}") from None


def _check_speedup(speedup: float) -> None:
    if not 0 < speedup < float("inf"):
        raise out_of_range("--speedup", text.number(speedup), "above 0; 1 keeps the capture's times")


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 1 << 64:
        raise out_of_range("--seed", str(seed), "0 to 18446744073709551615 (2^64 - 1)")


def _replay(a: argparse.Namespace) -> int:
    from .replay import Options, replay
    from .report import summary

    _distinct(a.input, [a.stats, a.trace], [a.output, a.plot, a.wave])
    check_ending(a.output, "capture")
    check_ending(a.stats, "table")
    check_ending(a.trace, "table")
    check_ending(a.plot, "picture")
    check_ending(a.wave, "waveform")
    _check_speedup(a.speedup)
    _check_seed(a.seed)
    for name in ("max_bytes", "max_sum", "max_count"):
        if getattr(a, name) is not None and getattr(a, name) < 1:
            raise out_of_range(f"--{name.replace('_', '-')}", str(getattr(a, name)), "1 and above")
    settings = _settings(a.set)
    capture = read_capture(a.input)  # told first if it cannot be read
    _needs("--merge", a.merge, ("off", "flow", "class"), a.preset)
    _needs("--jumbo", a.jumbo, ("opaque", "split", "transit"), a.preset)
    if a.spacing and a.jumbo != "split":
        raise UsageError("--spacing is for packets of jumbo frames that are split; add --split")
    if a.mred and a.jumbo != "transit":
        raise UsageError("--mred is for jumbo frames that pass as they are; add --transit")
    for name in MERGE_ONLY if a.merge == "off" else ():
        if getattr(a, name):
            raise UsageError(
                f"--{name.replace('_', '-')} is for packets that are merged; add --merge flow or --merge class"
            )
    jfet = a.jfet or "100us"
    _jfet_us(jfet)
    if a.wave:
        build_wave_model(a.preset)
    rate = _rate(a.link_rate)
    result = replay(
        Options(
            source=a.input,
            target=a.output,
            policy=a.policy,
            settings=settings,
            link_rate=rate,
            speedup=a.speedup,
            seed=a.seed,
            stats=a.stats,
            trace=a.trace,
            plot=a.plot,
            wave=a.wave,
            preset=a.preset,
            skip=not a.no_skip,
            jumbo=a.jumbo,
            merge=a.merge,
            form="l3" if a.l3 else "l2",
            max_bytes=a.max_bytes or 0,
            max_sum=a.max_sum or 0,
            max_count=a.max_count or 0,
            jfet=jfet,
            spacing=a.spacing or "",
            mred=_shares(a.mred) if a.mred else None,
            match=_rules(a.match),
            match_default="bypass" if a.match_default == "bypass" else int(a.match_default or 0),
            reorder=a.reorder,
        ),
        capture,
    )
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    print(summary(result.stats))
    return 0


def _jumbo_report(a: argparse.Namespace) -> int:
    from .jumbo.merge import Limits
    from .jumbo.packet import JumboFormat
    from .jumbo.report import Options, report
    from .jumbo.text import text as lines

    _distinct(a.input, [a.json], [a.write])
    check_ending(a.write, "capture")
    check_ending(a.json, "table")
    try:
        limits = Limits(JumboFormat(l3=a.l3), max_bytes=a.max_bytes, max_count=a.max_count)
    except ValueError as error:
        raise UsageError(f"--{str(error).replace('_', '-').replace('=', ' ')}") from None
    jfet_us = _jfet_us(a.jfet)
    prefix = (a.prefix, a.prefix6)
    result, notes = report(
        Options(a.input, a.merge, round(_rate(a.link_rate)), a.speedup, round(jfet_us * 1000), prefix, limits, a.json,
                a.write, a.reorder)
    )  # fmt: skip
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    print(lines(result))
    return 0


def _bench(a: argparse.Namespace) -> int:
    from .bench import run

    if a.output is None:
        a.output = native.root() / "build" / ("bench-only.json" if a.only or a.quick else "bench.json")
        a.output.parent.mkdir(parents=True, exist_ok=True)
    _distinct(None, [a.output])
    return run(a.output, a.preset, a.quick, a.only)


def _waves(a: argparse.Namespace) -> int:
    from .waves import run

    if a.output is None:
        a.output = native.root() / "build" / "waves" / "core.vcd"
        a.output.parent.mkdir(parents=True, exist_ok=True)
    _distinct(None, [a.output])
    check_ending(a.output, "waveform")
    build_wave_model(a.preset)
    return run(a.output, a.preset)


def _serve(a: argparse.Namespace) -> int:
    from .serve import Options, run
    from .traffic import source

    if a.socket is None and a.pty is None:
        raise UsageError("serve: name a place: --socket PATH, --pty PATH or both")
    if not 0 <= a.slow < float("inf"):
        raise out_of_range("--slow", text.number(a.slow), "0 and above; 1 is real time")
    _check_speedup(a.speedup)
    _check_seed(a.seed)
    traffic = source(a.traffic, a.speedup, a.seed, a.reorder) if a.traffic else None
    for note in traffic.notes if traffic else ():
        print(f"note: {note}", file=sys.stderr)
    rate = None if a.link_rate is None else _rate(a.link_rate)
    return run(Options(a.preset, a.socket, a.pty, traffic, rate, a.slow))


def _seed(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no whole number; write for instance 7 or 0x7") from None


def _time_s(option: str, text: str) -> float:
    try:
        return weir.parse_time(text) / 1e6
    except weir.WeirError as error:
        raise UsageError(f"{option} {text}: {error}") from None


def _live(a: argparse.Namespace) -> int:
    from .direction import Options
    from .live import run

    command = a.command[1:] if a.command[:1] == ["--"] else a.command
    delay = a.delay if a.delay is not None else "0" if a.cores == 2 else "20ms"
    options = Options(a.preset, a.socket, _rate(a.link_rate), a.policy, _settings(a.set), _time_s("--delay", delay),
                      a.slow, a.mtu, a.congestion, not a.no_ecn, a.cores, a.server, command, a.seconds)  # fmt: skip
    # standard output is the command's, if there is one
    return run(options, partial(print, file=sys.stderr if command else sys.stdout, flush=True))


def _policies(a: argparse.Namespace) -> int:
    from .report import policies

    print(policies(a.policy))
    return 0


CAPTURE = "capture to read (pcap or pcapng, as such or in gzip or zstd); - is standard input"
REORDER = "put packets that are out of order in their places, within 10,000 packets"
STDOUT_NAMES = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""What a person calls standard output, also where it is closed."""
OUTPUTS = ("output", "stats", "trace", "plot", "wave", "json", "write")
"""Arguments that name an output."""


class _Parser(argparse.ArgumentParser):
    """One whose help does not ignore errors of what it is written to."""

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        print(self.format_help(), end="", file=file)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = _Parser(prog="weir-sim", description="Weir's queue, cycle by cycle, on captures of traffic.")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    p = verbs.add_parser("replay", help="send a capture through the core", description=(
        "Sends the frames of a pcap or pcapng capture into the core at their times, and writes what comes out, with "
        "the times in ns at which it does. All traffic goes through queue 0."))  # fmt: skip
    p.add_argument("input", type=Path, metavar="IN", help=CAPTURE)
    p.add_argument("output", type=Path, metavar="OUT", help="capture to write (pcap, ns); - is standard output")
    p.add_argument("--policy", required=True, help="what manages the queue; `weir-sim policies` lists them")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of the policy, as tc writes it: min=30KB, probability=0.02, ecn; repeat for more")  # fmt: skip # noqa: E501
    p.add_argument("--link-rate", default="10Gbit", metavar="RATE", help="rate of the link behind the queue (default %(default)s)")  # fmt: skip # noqa: E501
    p.add_argument("--speedup", type=float, default=1.0, metavar="X", help="divide the times of the capture by X (default 1)")  # fmt: skip # noqa: E501
    p.add_argument("--reorder", action="store_true", help=REORDER)
    p.add_argument(
        "--merge",
        choices=("off", "flow", "class"),
        default="off",
        help="merge packets that wait into jumbo frames: flow, those of one flow; class, those of one class, for a time",
    )
    p.add_argument("--jfet", metavar="TIME", help="merge class: from a group's first packet to its close (default 100us)")  # fmt: skip # noqa: E501
    p.add_argument("--match", action="append", default=[], metavar="DESTINATION=CLASS", help="merge: class (0 to 15) of packets to 10.1.0.0/16 or 2001:db8:1::/48, or bypass: never merged; the first that matches counts; 16 at most")  # fmt: skip # noqa: E501
    p.add_argument("--match-default", choices=(*map(str, range(16)), "bypass"), metavar="CLASS", help="merge: the same for all others (default 0)")  # fmt: skip # noqa: E501
    p.add_argument("--max-bytes", type=int, metavar="N", help="merge: largest jumbo frame without FCS (default 9216)")  # fmt: skip # noqa: E501
    p.add_argument("--max-sum", type=int, metavar="N", help="merge: most bytes of IP packets in one (default 8960)")  # fmt: skip # noqa: E501
    p.add_argument("--max-count", type=int, metavar="N", help="merge: most packets in one (default 448)")
    p.add_argument("--l3", action="store_true", help="merge: the form with an outer IPv4 header")
    p.add_argument("--jumbo", choices=("opaque", "split", "transit"), default="opaque", help="what to do with jumbo frames that arrive")  # fmt: skip # noqa: E501
    p.add_argument("--split", dest="jumbo", action="store_const", const="split", help="the same as --jumbo split")
    p.add_argument("--spacing", metavar="TIME", help="split: packets wait for the spacing that their jumbo frame tells, so long at most (e.g. 1ms)")  # fmt: skip # noqa: E501
    p.add_argument("--transit", dest="jumbo", action="store_const", const="transit", help="the same as --jumbo transit")
    p.add_argument("--mred", metavar="LOW:HIGH", help="transit, policy red, isred or ared: a jumbo frame that is selected stays, and the one nearest the head loses this share of its packets, LOW at min to HIGH at max (e.g. 0.1:0.5)")  # fmt: skip # noqa: E501
    p.add_argument("--seed", type=_seed, default=1, metavar="N", help="seed of the random numbers (default 1)")  # fmt: skip # noqa: E501
    p.add_argument("--stats", type=Path, metavar="F.json", help="write the counters and delays")
    p.add_argument("--trace", type=Path, metavar="F.csv", help="write every arrival and departure")
    p.add_argument("--plot", type=Path, metavar="F.png", help="draw queue, average and verdicts over time")
    p.add_argument("--wave", type=Path, metavar="F.vcd", help="write the waveform (large: 100 MB a busy simulated ms)")
    p.add_argument("--preset", default="full", help="core to simulate (default %(default)s)")
    p.add_argument("--no-skip", action="store_true", help="simulate idle time cycle by cycle; same results, slower")
    p.set_defaults(run=_replay, needs=("plot", "replay", "report"))

    p = verbs.add_parser("jumbo-report", help="what merging to jumbo frames would do to a capture", description=(
        "Sends the frames of a capture over a link with and without merging, in a software model of docs/jumbo.md (no RTL "
        "runs), and tells frames and bytes saved, packets a frame, and delay."))  # fmt: skip
    p.add_argument("input", type=Path, metavar="IN", help=CAPTURE)
    p.add_argument("--merge", choices=("flow", "class"), default="flow", help="groups by flow (JFEPM) or by class with a timer (JumboGen); default %(default)s")  # fmt: skip # noqa: E501
    p.add_argument("--link-rate", default="10Gbit", metavar="RATE", help="rate of the link behind the queue (default %(default)s)")  # fmt: skip # noqa: E501
    p.add_argument("--speedup", type=float, default=1.0, metavar="X", help="divide the times of the capture by X (default 1)")  # fmt: skip # noqa: E501
    p.add_argument("--reorder", action="store_true", help=REORDER)
    p.add_argument("--jfet", default="100us", metavar="TIME", help="class: how long a group may wait (default %(default)s)")  # fmt: skip # noqa: E501
    p.add_argument("--prefix", type=int, default=24, metavar="BITS", help="class: leading bits of the IPv4 destination that name it (default %(default)s)")  # fmt: skip # noqa: E501
    p.add_argument("--prefix6", type=int, default=64, metavar="BITS", help="the same for IPv6 (default %(default)s)")
    p.add_argument("--max-bytes", type=int, default=9216, metavar="N", help="largest jumbo frame without FCS (default %(default)s)")  # fmt: skip # noqa: E501
    p.add_argument("--max-count", type=int, default=448, metavar="N", help="most packets in one (default %(default)s)")
    p.add_argument("--l3", action="store_true", help="the form with an outer IPv4 header")
    p.add_argument("-j", "--json", type=Path, metavar="F.json", help="write the report as JSON")
    p.add_argument("--write", type=Path, metavar="OUT.pcap", help="write what leaves (pcap, ns)")
    p.set_defaults(run=_jumbo_report, needs=("jumbo.report", "jumbo.text"))

    p = verbs.add_parser("bench", help="measure the core and the model against their goals")
    p.add_argument("--output", type=Path, metavar="F.json", help="file of the figures (default build/bench.json; of some build/bench-only.json)")  # fmt: skip # noqa: E501
    p.add_argument("--preset", default="full", help="core to measure (default %(default)s)")
    p.add_argument("--quick", action="store_true", help="a tenth of the frames, for a look")
    p.add_argument("--only", default="", metavar="TEXT", help="only what has TEXT in its name: 'transit with MRED'")
    p.set_defaults(run=_bench, needs=("bench",))

    p = verbs.add_parser("serve", help="offer a core to libweir and weirctl", description=(
        "Runs a core and answers the register protocol (docs/register-protocol.md) until it is interrupted. Simulated time "
        "follows real time, --slow times slower; a rate in weirctl is one in simulated time."))  # fmt: skip
    p.add_argument("--preset", default="full", help="core to simulate (default %(default)s)")
    p.add_argument("--socket", type=Path, metavar="PATH", help="UNIX socket to serve: weirctl -d unix:PATH")
    p.add_argument("--pty", type=Path, metavar="PATH", help="link to a pseudo-terminal to serve: weirctl -d uart:PATH")
    p.add_argument("--traffic", metavar="RATE|PCAP", help="random traffic of that rate, or a capture again and again (default none)")  # fmt: skip # noqa: E501
    p.add_argument("--speedup", type=float, default=1.0, metavar="X", help="divide the times of the capture by X (default 1)")  # fmt: skip # noqa: E501
    p.add_argument("--reorder", action="store_true", help=REORDER)
    p.add_argument("--link-rate", metavar="RATE", help="shape the link to this rate at the start (default off)")
    p.add_argument("--slow", type=float, default=1000.0, metavar="N", help="N seconds pass for one of simulated time (default %(default)g); 0: time passes by register accesses alone")  # fmt: skip # noqa: E501
    p.add_argument("--seed", type=_seed, default=1, metavar="N", help="seed of the random traffic (default 1)")  # fmt: skip # noqa: E501
    p.set_defaults(run=_serve, needs=("serve", "traffic"))

    p = verbs.add_parser("live", help="two hosts with this kernel's TCP, and the core between them", description=(
        "Makes two network namespaces, client and server, and moves their frames: client to server through a core, back over "
        "a wire. weirctl changes the core meanwhile. With COMMAND, runs it on the client and ends with it; without, runs "
        "until it is interrupted. Root is needed only where users may make no namespaces."))  # fmt: skip
    p.add_argument("--socket", type=Path, default=Path("/tmp/weir"), metavar="PATH", help="UNIX socket for weirctl (default %(default)s)")  # fmt: skip # noqa: E501
    p.add_argument("--link-rate", default="20Mbit", metavar="RATE", help="rate of the link behind the core (default %(default)s)")  # fmt: skip # noqa: E501
    p.add_argument("--policy", default="drop-tail", help="what manages queue 0 at the start (default %(default)s)")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of the policy, as in replay; repeat for more")  # fmt: skip # noqa: E501
    p.add_argument("--delay", metavar="TIME", help="delay of the wire back (default 20ms)")
    p.add_argument("--cores", type=int, choices=(1, 2), default=1, help="2: a core in the way back as well, in place of the wire (default 1)")  # fmt: skip # noqa: E501
    p.add_argument("--congestion", default="cubic", metavar="NAME", help="TCP's congestion control (default %(default)s)")  # fmt: skip # noqa: E501
    p.add_argument("--no-ecn", action="store_true", help="TCP does not ask for ECN")
    p.add_argument("--mtu", type=int, default=1500, metavar="N", help="MTU of the hosts (default %(default)s)")
    p.add_argument("--slow", type=float, default=1.0, metavar="N", help="N seconds pass for one of simulated time (default %(default)g)")  # fmt: skip # noqa: E501
    p.add_argument("--server", action="append", default=[], metavar="COMMAND", help="run this on the server meanwhile; repeat for more")  # fmt: skip # noqa: E501
    p.add_argument("--seconds", type=float, metavar="N", help="end after N seconds")
    p.add_argument("--preset", default="aqm", help="core to simulate (default %(default)s: the fastest with every policy)")  # fmt: skip # noqa: E501
    p.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="run this on the client; its exit code is that of weir-sim")  # fmt: skip # noqa: E501
    p.set_defaults(run=_live, needs=("live",))

    p = verbs.add_parser("waves", help="write the waveform of a short, busy scene")
    p.add_argument("output", type=Path, nargs="?", metavar="OUT.vcd", help="file to write (default build/waves/core.vcd)")  # fmt: skip # noqa: E501
    p.add_argument("--preset", default="full", help="core to simulate (default %(default)s)")
    p.set_defaults(run=_waves, needs=("waves",))

    p = verbs.add_parser("policies", help="list the policies, their parameters, ranges and defaults")
    p.add_argument("policy", nargs="?", help="only this one")
    p.set_defaults(run=_policies, needs=("report",))
    return top


DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors that an output has while it is written: nothing that was given is wrong."""


def _terminate(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def guarded(name: str, work: Callable[[], int]) -> int:
    """Does the work of a program and answers its exit code; an error becomes one line after the program's name."""
    try:
        prepare_streams()
        try:
            return work()
        finally:
            sys.stdout.flush()
    except ImportError as error:
        said, code = f"{error}; run `make setup`", 1
    except BrokenPipeError:
        give_up(sys.stdout)
        return BROKEN_PIPE
    except OSError as error:
        if error.filename is None:
            give_up(sys.stdout)
        said = f"{error.filename or 'standard output'}: {error.strerror or error}"
        code = 1 if error.errno in DISK else 2
    except ModelError as error:
        said, code = str(error), 1
    except KeyboardInterrupt:
        said, code = "interrupted", INTERRUPTED
    except IdentityError as error:
        said, code = str(error), 3
    except (UsageError, CaptureError, weir.WeirError) as error:
        said, code = str(error), 2
    complain(name, said.removeprefix(f"{name}: "))
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `weir-sim` and answers its exit code."""

    def work() -> int:
        a = parser().parse_args(arguments)
        with interrupted_quits("weir-sim"):  # in an import, KeyboardInterrupt may come out as anything
            for module in ("weir._device", *(f"weir_sim.{name}" for name in a.needs)):
                import_module(module)
            if getattr(a, "plot", None):
                import_module("matplotlib.pyplot")
        # text keeps out of an output that goes there
        said = sys.stderr if any(is_stdout(getattr(a, name, None)) for name in OUTPUTS) else sys.stdout
        with contextlib.redirect_stdout(said):
            return int(a.run(a))

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _terminate)
    return guarded("weir-sim", work)


if __name__ == "__main__":
    sys.exit(main())
