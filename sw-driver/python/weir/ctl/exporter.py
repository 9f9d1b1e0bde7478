"""`weirctl exporter`: counters and live values for Prometheus (text format 0.0.4)."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import weir

from .context import Context
from .errors import Refusal
from .words import Words, whole

HELP = """\
weirctl exporter [--listen ADDRESS:PORT]   http://ADDRESS:PORT/metrics, 127.0.0.1:9419 unless given; IPv6 as [::1]:9419
weirctl exporter --once                    the same text to standard output, for a textfile collector

weir_up is 0 while the device does not answer; it is opened again at the next scrape.
docs/dashboard.json is a dashboard for Grafana.
"""
_PORT = 9419

#: Counters of a queue: (metric, label and its value, field), packets and bytes of each.
_VERDICTS = (("early", "early"), ("forced", "forced"), ("overflow", "overflow"), ("front", "front"), ("partial", "partial"),
             ("departure", "head_dropped"), ("link_down", "link_down"))  # fmt: skip
_MARKS = (("arrival", "marked"), ("departure", "head_marked"))
_ALREADY_CE = (("arrival", "already_ce"), ("departure", "head_already_ce"))
_ARRIVALS = (("not_ect", "in_not_ect"), ("ect0", "in_ect0"), ("ect1", "in_ect1"), ("ce", "in_ce"))
_REFUSED = ("bad", "runt", "oversize", "ingress_overflow", "malformed", "split_discarded")


def escape(value: str) -> str:
    """A label's value."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Page:
    """Metrics, each with its HELP and TYPE once."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, name: str, kind: str, what: str, samples: Iterator[tuple[Mapping[str, str], float]]) -> None:
        """A metric with its samples."""
        self._lines += [f"# HELP weir_{name} {what}", f"# TYPE weir_{name} {kind}"]
        for labels, value in samples:
            inside = ",".join(f'{k}="{escape(v)}"' for k, v in labels.items())
            self._lines.append(f"weir_{name}{{{inside}}} {value:.17g}" if inside else f"weir_{name} {value:.17g}")

    def histogram(self, name: str, what: str, samples: Iterator[tuple[Mapping[str, str], tuple[int, ...]]]) -> None:
        """Histograms of times: bin b of a sample is below 2^(b+1) ns. The sum is not known and left out."""
        self._lines += [f"# HELP weir_{name} {what}", f"# TYPE weir_{name} histogram"]
        for labels, bins in samples:
            inside = "".join(f'{k}="{escape(v)}",' for k, v in labels.items())
            total = 0
            for b, packets in enumerate(bins[:-1]):
                total += packets
                self._lines.append(f'weir_{name}_bucket{{{inside}le="{(2 << b) * 1e-9:.9g}"}} {total}')
            total += bins[-1]
            self._lines.append(f'weir_{name}_bucket{{{inside}le="+Inf"}} {total}')
            self._lines.append(f"weir_{name}_count{{{inside.rstrip(',')}}} {total}")

    def text(self) -> str:
        """The page."""
        return "\n".join(self._lines) + "\n"


def _up(up: bool) -> Page:
    out = Page()
    out.add("up", "gauge", "1 if the device answers; nothing else is there without it.", iter([({}, int(up))]))
    return out


def page(state: weir.State, policies: Mapping[int, str]) -> str:
    """All metrics of a state."""
    out = _up(True)
    queues = range(len(state.queues))

    def counts(field_of: tuple[tuple[str, str], ...], label: str, of: str) -> Iterator[tuple[dict[str, str], float]]:
        for q in queues:
            for value, name in field_of:
                yield {"queue": str(q), label: value}, getattr(getattr(state.queues[q], name), of)

    for of in ("packets", "bytes"):
        out.add(
            f"arrived_{of}_total",
            "counter",
            f"Arrivals of a queue by ECN codepoint, {of}.",
            counts(_ARRIVALS, "ecn", of),
        )
        out.add(f"sent_{of}_total", "counter", f"What left a queue, {of}.",
                (({"queue": str(q)}, getattr(state.queues[q].out, of)) for q in queues))  # fmt: skip
        out.add(f"dropped_{of}_total", "counter", f"Drops by cause, {of}.", counts(_VERDICTS, "cause", of))
        out.add(f"marked_{of}_total", "counter", f"CE marks, {of}.", counts(_MARKS, "at", of))
        out.add(f"already_ce_{of}_total", "counter", f"Selected, but CE already, {of}.", counts(_ALREADY_CE, "at", of))
        out.add(f"nodrop_{of}_total", "counter", f"Not-ECT, selected at arrival and accepted, {of}.",
                (({"queue": str(q)}, getattr(state.queues[q].nodrop, of)) for q in queues))  # fmt: skip
        out.add(f"refused_{of}_total", "counter", f"Frames that became no arrival, {of}.",
                (({"cause": name}, getattr(getattr(state.core, name), of)) for name in _REFUSED))  # fmt: skip
    live: tuple[tuple[str, str, str], ...] = (
        ("queue_bytes", "bytes", "Bytes that wait."), ("queue_packets", "packets", "Packets that wait."),
        ("queue_average", "average", "The policy's average queue, in the queue's unit."),
        ("queue_peak_bytes", "peak_bytes", "Most bytes between the last two snapshots."),
    )  # fmt: skip
    for metric, name, what in live:
        out.add(metric, "gauge", what, (({"queue": str(q)}, getattr(state.live[q], name)) for q in queues))
    out.histogram(
        "delay_seconds", "Time that packets waited.", (({"queue": str(q)}, state.queues[q].sojourn) for q in queues)
    )
    out.add(
        "queue_info", "gauge", "Policy of a queue.", (({"queue": str(q), "policy": p}, 1) for q, p in policies.items())
    )
    single: tuple[tuple[str, str, str, float], ...] = (
        ("free_cells", "gauge", "Free cells of the buffer.", state.core_live.free_cells),
        ("queued_packets", "gauge", "Packets in all queues at the moment of the counters.", state.core.queued),
        ("spaced_packets", "gauge", "Packets that wait for their spacing, no arrivals yet.", state.core.spaced),
        ("link_up", "gauge", "1 if the egress has a link.", int(state.core_live.link_up)),
        ("throttled_seconds_total", "counter", "Time that the shaper held a backlog.", state.core.throttled_ns / 1e9),
        ("trace_lost_total", "counter", "Trace records that nobody read in time.", state.core.trace_lost),
        ("configuration_generation", "gauge", "Configurations taken over so far.", state.core_live.generation),
        ("device_seconds", "gauge", "Time of the device.", state.core_live.now_ns / 1e9),
    )  # fmt: skip
    for name, kind, what, value in single:
        out.add(name, kind, what, iter([({}, value)]))
    return out.text()


def collect(device: weir.Device) -> str:
    """The page of a device as it stands."""
    with device.lock():
        state = device.state()
        policies = {q: str(device.queue_show(q)["policy"]) for q in range(len(state.queues))}
    return page(state, policies)


def scrape(context: Context) -> str:
    """The page as it is served: without an answer of the device weir_up alone. The device is opened again by the next call."""
    try:
        return collect(context.device)
    except weir.WeirError as error:
        if error.name != "BUSY":
            context.close()
        return f"{_up(False).text()}# {' '.join(error.message.split())}\n"


def place(listen: str) -> tuple[str, int]:
    """Address and port of ADDRESS:PORT, of [ADDRESS]:PORT for IPv6, or of :PORT for every address. Raises Refusal."""
    address, colon, port = listen.rpartition(":")
    bracketed = address.startswith("[") and address.endswith("]")
    if not colon or (":" in address and not bracketed):
        raise Refusal(f"--listen '{listen}' is not ADDRESS:PORT, e.g. 127.0.0.1:{_PORT} or [::1]:{_PORT}")
    return address[1:-1] if bracketed else address, whole(port, "port", 0, 65535)


class _Server(ThreadingHTTPServer):
    """Of IPv4 or IPv6, by its address; one line where a handler fails, and none where a client has gone."""

    def __init__(self, address: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        family = socket.AF_UNSPEC if address else socket.AF_INET
        self.address_family = socket.getaddrinfo(address or None, port, family, socket.SOCK_STREAM)[0][0]
        super().__init__((address, port), handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tells what the handler raised."""
        error = sys.exception()
        if not isinstance(error, OSError):
            print(f"weirctl: a scrape failed: {error!r}", file=sys.stderr, flush=True)


def server(context: Context, address: str, port: int) -> ThreadingHTTPServer:
    """An HTTP server of /metrics at an address or a name, "" for all of IPv4; the caller runs it. Raises OSError."""
    turn = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        """Answers GET and HEAD."""

        timeout = 10

        def do_GET(self) -> None:
            """/metrics, and a page that leads there."""
            if self.path.split("?")[0] == "/metrics":
                with turn:
                    content = scrape(context) if self.command == "GET" else ""
                self._answer(200, "text/plain; version=0.0.4; charset=utf-8", content)
            elif self.path == "/":
                self._answer(200, "text/html; charset=utf-8", '<a href="/metrics">metrics</a>\n')
            else:
                self._answer(404, "text/plain; charset=utf-8", "only /metrics is here\n")

        def do_HEAD(self) -> None:
            """The same without content; the device is not asked."""
            self.do_GET()

        def _answer(self, code: int, kind: str, content: str) -> None:
            data = content.encode()
            self.send_response(code)
            self.send_header("Content-Type", kind)
            if self.command == "GET":
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    return _Server(address, port, Handler)


def run(context: Context, words: Words) -> int:
    """The verb."""
    words.end()
    if context.options.once:
        context.say(collect(context.device).rstrip("\n"))
        return 0
    listen = context.options.listen or f"127.0.0.1:{_PORT}"
    address, port = place(listen)
    collect(context.device)
    try:
        http = server(context, address, port)
    except OSError as error:
        raise Refusal(f"--listen {listen}: {error.strerror or error}") from None
    host = f"[{address}]" if ":" in address else address or "0.0.0.0"
    context.say(f"http://{host}:{http.server_address[1]}/metrics")
    # the main thread only waits, so that an interrupt always finds it
    threading.Thread(target=http.serve_forever, args=(0.2,), daemon=True).start()
    try:
        while True:
            time.sleep(3600)
    finally:
        http.shutdown()
        http.server_close()
