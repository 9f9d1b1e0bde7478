"""The edge of a domain with jumbo frames in ns-3: groups by class and timer, the split with its spacing, TCP through both."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from jumbo_frames import ipv4, ipv6, spread
from ns3_programs import run
from weir_sim.jumbo.merge import Arrival, ClassMerger, Limits, by_destination
from weir_sim.jumbo.packet import JumboFormat
from weir_sim.jumbo.wire import build, dissect, split, waits_ns

TICK = 4
FORM = JumboFormat(l3=True, tick=TICK)
Row = tuple[int, bytes]


def edge(rows: Sequence[Row], *, most: int = 9216, count: int = 448, timer: int = 5000, shape: str = "shape", tick: int = TICK,
         classes: Sequence[str] = ("10.0.1.0/24",)) -> tuple[list[tuple[int, int, bytes]], list[Row]]:  # fmt: skip
    """What edge_check says: (ns, packets, packet) on the link, (ns, packet) out of the far edge; no Ethernet headers."""
    text = "".join(f"{ns} {frame.hex()}\n" for ns, frame in rows)
    lines = [line.split() for line in run("edge_check", most, count, tick, timer, shape, *classes, text=text).stdout.splitlines()]  # fmt: skip
    link = [(int(w[1]), int(w[2]), bytes.fromhex(w[3])) for w in lines if w[0] == "link"]
    return link, [(int(w[1]), bytes.fromhex(w[2])) for w in lines if w[0] == "out"]


def refused(rows: Sequence[Row]) -> list[tuple[int, int, bytes]]:
    """What goes over the link, where the far edge ends the program, as a frame is malformed."""
    text = "".join(f"{ns} {frame.hex()}\n" for ns, frame in rows)
    done = run("edge_check", 9216, 448, TICK, 5000, "shape", "10.0.1.0/24", text=text, code=1)
    assert done.stderr.startswith("edge_check: a jumbo frame is malformed") and done.stderr.count("\n") == 1
    lines = [line.split() for line in done.stdout.splitlines()]
    return [(int(w[1]), int(w[2]), bytes.fromhex(w[3])) for w in lines if w[0] == "link"]


def packets(count: int, length: int = 100) -> list[bytes]:
    """Frames with IPv4 packets of one class, alike but for their content."""
    return [ipv4(length, n, number=n) for n in range(count)]


def jumbo(frames: Sequence[bytes], times: Sequence[int], number: int = 0) -> bytes:
    """The jumbo frame of the wire format, without its Ethernet header."""
    return build(frames, times, FORM, number)[14:]


def test_the_timer_closes_a_group_and_what_comes_then_is_too_late() -> None:
    """Three packets within JFET leave together when it ends; the one that comes at that moment waits for its own."""
    a, b, c, d = packets(4)
    link, out = edge([(1000, a), (2000, b), (5999, c), (6000, d)])
    assert link == [(6000, 3, jumbo([a, b, c], [1000, 2000, 5999])), (11000, 1, d[14:])]
    # spacings in ticks of 16 ns: 125 - 62, 374 - 125
    assert out == [(6000, a[14:]), (6000 + 63 * 16, b[14:]), (6000 + 312 * 16, c[14:]), (11000, d[14:])]


def test_a_packet_that_would_pass_the_size_closes_the_group() -> None:
    """40 + 4·2 + 2·100 = 248 bytes are two packets, 352 three: with 351 the third closes the group as it comes."""
    a, b, c = packets(3)
    rows = [(0, a), (1000, b), (2000, c)]
    assert edge(rows, most=351)[0] == [(2000, 2, jumbo([a, b], [0, 1000])), (7000, 1, c[14:])]
    assert edge(rows, most=352)[0] == [(5000, 3, jumbo([a, b, c], [0, 1000, 2000]))]


def test_the_count_closes_a_group() -> None:
    """Two packets a frame; with one none is made and nothing waits."""
    frames = packets(5)
    rows = [(100 * n, f) for n, f in enumerate(frames)]
    link, _ = edge(rows, count=2)
    assert [(ns, n) for ns, n, _ in link] == [(200, 2), (400, 2), (5400, 1)]
    assert [p for _, _, p in link] == [
        jumbo(frames[:2], [0, 100]),
        jumbo(frames[2:4], [200, 300], 1),
        frames[4][14:],
    ]
    assert edge(rows, count=1)[0] == [(ns, 1, f[14:]) for ns, f in rows]


def test_one_packet_leaves_as_it_came() -> None:
    """After JFET, with every byte; without a timer at once."""
    (a,) = packets(1)
    assert edge([(10, a)]) == ([(5010, 1, a[14:])], [(5010, a[14:])])
    assert edge([(10, a)], timer=0) == ([(10, 1, a[14:])], [(10, a[14:])])


def test_each_class_has_a_group_and_the_rest_passes() -> None:
    """Destinations 10.0.1.2 and 10.0.2.2 are classes, 10.0.3.2 is none, nor is IPv6."""
    one, two, three = (spread(ipv4(100, flow, number=flow)) for flow in (0, 1, 2))
    six = ipv6(80)
    rows = [(0, one), (1, two), (2, three), (3, one), (4, two), (5, six)]
    link, _ = edge(rows, classes=("10.0.1.0/24", "10.0.2.0/24"))
    assert link == [
        (2, 1, three[14:]),
        (5, 1, six[14:]),
        (5000, 2, jumbo([one, one], [0, 3])),
        (5001, 2, jumbo([two, two], [1, 4], 1)),
    ]


@pytest.mark.parametrize(
    "other",
    [
        ipv4(100, 1, trailer=b"x"),
        ipv4(100, 1, protocol=253),
        ipv4(104, 1, options=bytes(4)),
        ipv4(100, 1, fragment=0x2005),
    ],
    ids=["trailer", "jumbo protocol", "options", "fragment"],
)
def test_a_packet_that_may_not_join_closes_the_group_and_follows_it(other: bytes) -> None:
    """Order: never past those of its class."""
    a, b = packets(2)
    rows = [(0, a), (10, b), (20, other)]
    link = refused(rows) if other[23] == 253 else edge(rows)[0]
    assert link == [(20, 2, jumbo([a, b], [0, 10])), (20, 1, other[14:])]


def test_another_dscp_opens_another_group() -> None:
    """Rule 6: packets of one frame have one DSCP."""
    a, b, c = packets(1)[0], ipv4(100, 1, dscp=46), ipv4(100, 2, dscp=46)
    link, _ = edge([(0, a), (10, b), (20, c)])
    assert link == [(10, 1, a[14:]), (5010, 2, jumbo([b, c], [10, 20]))]


@pytest.mark.parametrize("seed", range(4))
def test_groups_are_those_of_the_software_model(seed: int) -> None:
    """Random traffic of four classes, one packet in ten of a kind that may not join: `weir_sim.jumbo.merge.ClassMerger`; out of the
    far edge comes every flow as it went in."""
    rng = random.Random(seed)
    most, count, jfet = rng.choice((600, 1500, 9216)), rng.choice((3, 448)), rng.choice((300, 3000, 30_000))
    oracle = ClassMerger(Limits(FORM, max_bytes=most, max_count=count), jfet, by_destination(24, 0))
    rows: list[Row] = []
    expected: list[tuple[int, list[bytes]]] = []

    def wake(until: int) -> None:
        while (at := oracle.wake_ns()) is not None and at <= until:
            take(at)

    def take(at: int) -> None:
        while members := oracle.take(at):
            expected.append((at, [m.frame for m in members]))

    now = 0
    for number in range(1500):
        now += rng.choice((0, rng.randrange(100), rng.randrange(3000)))
        odd, length, flow = rng.randrange(40), rng.choice((20, 40, 46, rng.randrange(28, 500))), rng.randrange(6)
        ecn = rng.randrange(4)
        frame = spread(ipv4(length, flow, number=number, dscp=46 if odd == 0 else 0, ecn=ecn))
        if odd == 1:
            frame = spread(ipv4(length, flow, number=number, trailer=b"xy"))
        elif odd == 2:
            frame = spread(ipv4(length + 4, flow, number=number, options=bytes(4)))
        elif odd == 3:
            frame = spread(ipv4(max(28, length), flow, number=number, fragment=rng.randrange(1, 8192)))
        rows.append((now, frame))
        wake(now)
        oracle.arrive(Arrival.of(now, frame, FORM, number))
        take(now)
    wake(1 << 62)
    link, out = edge(rows, most=most, count=count, timer=jfet, classes=[f"10.0.{n}.0/24" for n in range(1, 5)])
    assert [(ns, n) for ns, n, _ in link] == [(at, len(members)) for at, members in expected]
    identification = 0
    times = {id(frame): ns for ns, frame in rows}
    for (_, n, got), (_, members) in zip(link, expected, strict=True):
        want = members[0][14:] if n == 1 else jumbo(members, [times[id(m)] for m in members], identification)
        assert got == want
        identification += n > 1
    assert identification > 50
    for addresses in {f[26:34] for _, f in rows}:
        assert [p for _, p in out if p[12:20] == addresses] == [f[14:] for _, f in rows if f[26:34] == addresses]


@pytest.mark.parametrize("mark", [False, True])
def test_the_far_edge_splits_what_is_left(mark: bool) -> None:
    """A jumbo frame that lost its first and third packet: the others have their bytes and their times, as if nothing were gone; with
    CE on the outer header RFC 6040 is applied, Not-ECT is dropped."""
    frames = [ipv4(60 + n, n % 4, ecn=(2, 2, 1, 2 if not mark else 0, 3)[n], number=n) for n in range(5)]
    whole = bytearray(build(frames, [0, 1600, 1616, 3200, 9600], FORM, 7))
    at = 40 + 4 * 5
    lengths = [len(f) - 14 for f in frames]
    starts = [at + sum(lengths[:n]) for n in range(5)]
    cut = bytearray(whole[:at]) + b"".join(whole[starts[n] : starts[n] + lengths[n]] for n in (1, 3, 4))
    for gone in (0, 2):
        cut[40 + 4 * gone : 42 + 4 * gone] = bytes(2)
    cut[16:18] = (len(cut) - 14).to_bytes(2, "big")
    cut[15] = cut[15] & 0xFC | (3 if mark else 2)
    cut[24:26] = bytes(2)
    total = sum(int.from_bytes(cut[14 + i : 16 + i], "big") for i in range(0, 20, 2)) % 0xFFFF
    cut[24:26] = (0xFFFF - (total or 0xFFFF)).to_bytes(2, "big")
    inside = dissect(bytes(cut), FORM)
    assert inside
    expected = list(zip((50 + w for w in waits_ns(inside)), (f[14:] for f in split(inside).frames), strict=True))
    assert [ns for ns, _ in expected] == ([50 + 1600, 50 + 9600] if mark else [50 + 1600, 50 + 3200, 50 + 9600])
    assert edge([(50, bytes(cut))])[1] == expected
    assert edge([(50, bytes(cut))], shape="plain")[1] == [(50, packet) for _, packet in expected]


def test_a_packet_that_came_alone_waits_behind_those_of_its_addresses() -> None:
    """10.0.0.1's packet comes while two of its own wait for their time; 10.0.0.2's is not held up."""
    a, b = ipv4(100, 0, number=1), ipv4(100, 0, number=2)
    late, other = ipv4(100, 0, number=3, dscp=46, options=bytes(4)), ipv4(104, 1, options=bytes(4))
    _, out = edge([(0, a), (4000, b), (5500, late), (5600, other)])
    assert out == [(5000, a[14:]), (5600, other[14:]), (9000, b[14:]), (9000, late[14:])]


@pytest.mark.parametrize(
    "words,why",
    [
        ((63, 448, 4, 0), "an edge's longest frame in bytes of 63 must be 64 to 9216"),
        ((9217, 448, 4, 0), "of 9217 must be 64 to 9216"),
        ((9216, 0, 4, 0), "an edge's packets in a frame of 0 must be 1 to 448"),
        ((9216, 449, 4, 0), "of 449 must be 1 to 448"),
        ((9216, 448, 32, 0), "an edge's tick of 32 must be 0 to 31"),
        ((9216, 448, 4, 1048561), "an edge's timer in ns of 1048561 must be 0 to 1048560"),
    ],
)
def test_a_limit_out_of_its_range_is_refused(words: tuple[int, ...], why: str) -> None:
    """One line that names value and range. 65535 ticks of 16 ns are 1,048,560 ns."""
    done = run("edge_check", *words, "shape", code=1)
    assert why in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("shape", ["on", "off"])
@pytest.mark.parametrize("mred", ["0.1:0.6", "1:1", ""], ids=["mred", "whole frames pay", "red"])
def test_tcp_through_both_edges_delivers_every_byte(mred: str, shape: str) -> None:
    """Four flows of 150 kB; jumbo frames lose packets in the core, or are lost, and the streams are whole nevertheless. The RTL, each
    record compared, and the golden model alone give the same."""
    words = "unit frames limit_bytes 60000 min 2 max 8 probability 0.1 weight 0.02 avpkt 3000".split()
    words += ["mred", mred] if mred else []
    done = [run("edge_tcp", kind, 150_000, "shape", shape, *words).stdout for kind in ("checked", "golden")]
    received, wrong, frames, cuts, drops, compared = map(int, done[0].split())
    print(done)
    assert received == 600_000 and wrong == 0 and frames > 200 and compared > 1000
    assert done[0].split()[:5] == done[1].split()[:5]
    assert cuts > 10 if mred else cuts == 0 and drops > 2


def test_a_core_without_a_model_or_with_mred_of_nothing_is_refused() -> None:
    """One line each."""
    for words, why, env in (
        (["rtl", 1000], "the cycle model is missing", {"WEIR_MODEL": "/nowhere/libweir_model.so"}),
        (["rtl", 1000, "mred", "0.7:0.2"], "low", {}),
    ):
        done = run("edge_tcp", *words, code=1, **env)
        assert why in done.stderr and done.stderr.count("\n") == 1
