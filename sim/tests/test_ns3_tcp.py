"""TCP Tahoe and classic Reno against traces computed by hand.

The scene: segments of 1000 bytes, 100 ms round trip, window 1 at the start, an acknowledgement a segment, receiver's window 20.
Slow start: at 100 ms segment 1 goes, at 200 2 and 3, at 300 4 to 7, at 400 8 to 15. At 500 the acknowledgements of 8 and 9
open the window to 10: 16 to 19 go. Segment 10 is lost, so 11 to 15 give duplicates; with the third ten segments, 10 to
19, are in flight, the threshold becomes 5, and 10 goes again.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from random import Random

import pytest

from ns3_programs import run

START = {100: [1], 200: [2, 3], 300: [4, 5, 6, 7], 400: [*range(8, 16)], 500: [16, 17, 18, 19, 10]}
#: variant, lost segments, what is sent in the round trips that follow
TRACES = {
    # 600: 16 to 19 give duplicates, which Tahoe ignores; then 10 fills the hole, all to 19 is acknowledged, window 2.
    # 700: window 3, 4. 800: the first of four acknowledgements reaches the threshold of 5, and the others open by a segment a round trip: 5, 5.2, 5.4, 5.6.
    ("tahoe", "10"): {600: [20, 21], 700: [22, 23, 24, 25], 800: [26, 27, 28, 29, 30]},
    # 600: 10 is acknowledged, 12 missing: window 2, 12 and 13 go, though 13 was received (go back N).
    # 700: 12 fills the hole up to 19: window 3; the duplicate of 13 says nothing new. 800: 4, 5, 5.2.
    ("tahoe", "10,12"): {600: [12, 13], 700: [20, 21, 22], 800: [23, 24, 25, 26, 27]},
    # Window 5 + 3; duplicates 4 and 5 make it 10. 600: four more make it 14: 20 to 23 may go; then all to 19 is
    # acknowledged, which closes the window to 5 and, like any acknowledgement of new data (ns-2's too), opens it to 5.2; four are in flight: 24.
    # 700: five acknowledgements, 5.39, 5.58, 5.76, 5.93, 6.1: six go.
    ("reno", "10"): {600: [20, 21, 22, 23, 24], 700: [25, 26, 27, 28, 29, 30]},
    # 500: one duplicate less (12 is lost too), window 9. 600: 16 to 19 make it 13: 20 to 22 go. 12 is missing: fast recovery
    # ends with this partial acknowledgement, window 5, eleven in flight: silence. 700: 20 to 22 give three duplicates,
    # threshold 11/2, 12 goes again. 800: all to 22 is acknowledged: window 5.5, five go.
    ("reno", "10,12"): {600: [20, 21, 22], 700: [12], 800: [23, 24, 25, 26, 27]},
}
#: the same with a second hole for which duplicates were counted, and room in the window when the recovery ends
LATE = {
    # 600: 16, 17 and 19 make the window 13: 20 to 22. All to 17 is acknowledged: window 5, and 18 to 22 fill it. 700: three
    # duplicates, threshold 5/2, 18 goes again. 800: all to 22 is acknowledged: window 2.5, two go.
    ("10,18", 40): {600: [20, 21, 22], 700: [18], 800: [23, 24]},
    # 600: 16, 18 and 19 make it 13, but 20 is the last. All to 16 is acknowledged. 700: one duplicate is not three, so 17
    # waits for the timer, which began at 600 and takes a second.
    ("10,17", 20): {600: [20], 1600: [17]},
}
#: Segment 10 is lost and 8 is marked. 500: the acknowledgement of 8 echoes the mark: 9 to 15 are in flight, threshold and window 3.5. The third
#: duplicate sends 10 again and halves nothing: 10, 14, 15 are in flight; with the duplicates of 14 and 15 16 and 17 go, and 16 says that the window
#: was reduced (CWR). 600: 10 fills the hole up to 15; its acknowledgement still has the echo, of a mark that was answered. Window 3.5, and 3.79 with that
#: acknowledgement; 16 and 17 are in flight: 18 goes. 16's opens the window to 4.05: 19 and 20. 17's to 4.3: 21.
MARKED = {
    **dict.fromkeys(("reno", "newreno", "sack"), {500: [10, 16, 17], 600: [18, 19, 20, 21]}),
    # The third duplicate closes the window to 1, the threshold stays 3.5. 600: window 2. 700: 3 and 4, below the threshold.
    "tahoe": {500: [10], 600: [16, 17], 700: [18, 19, 20, 21]},
}
#: Segment 10 is lost; of the window that its reduction answers (Reno: to 19; NewReno and SACK sent 20 and 21 with the first two duplicates, RFC 3042) a late
#: segment is marked. Reduced at 500, said with the first new segment, at 600. Reno: 10 to 19 are in flight, 5. In NewReno 10 to 21 less three duplicates, 9/2; in
#: SACK the lost one is not in flight either, 8/2.
LATE_MARK = {("reno", "19"): (20, 5.0), ("newreno", "19"): (22, 4.5), ("newreno", "21"): (22, 4.5), ("sack", "19"): (22, 4.0), ("sack", "21"): (22, 4.0),
             ("tahoe", "19"): (20, 5.0)}  # fmt: skip
#: Segment 8 is marked, 10 to 15 are lost. 500: the echo halves the window, 9 to 15 are in flight: 3.5; all of it is out, nothing new goes. 1500: the timer, of
#: a second from the acknowledgement of 9 on; the threshold is of this window. Window 1, 2, 3, 4: 16 is the first that is new.
TIMEOUT = {1500: [10], 1600: [11, 12], 1700: [13, 14, 15, 16]}
#: 500: the acknowledgements of 8 to 15 open the window to 16: 16 to 31 go. 600: to 20, the receiver's: 32 to 39. 20 is lost, also the second time
#: (third duplicate, 600), and 22, 25 and 28 to 34. Ten duplicates come (of 21, 23, 24, 26, 27 and 35 to 39), then the timer, a second after the acknowledgement
#: of 19. Twenty are out, of which ten duplicates tell that they have come: ten are in flight by ns-3's count, and the threshold is 5. (So it is in ns-2, where a
#: timeout halves the window, which the third duplicate has halved before. RFC 2581's FlightSize is twenty.) Go back N: 20; 22, 23 in a window of 2; 25 to 27 of 3; 28 to 31 of 4. 2000: of the four acknowledgements
#: the first makes the window 5, others add 0.20, 0.19, 0.18: 5.58. 32 to 36. 2100: 32's (5.76) sends 37, 33's (5.93) 38, 34's is for all to 39: new begins.
#: Four of these had been received: 35 to 38 give four duplicates of 40, two now and two at 2200, and no loss. In Reno 34's opens the window too (6.1), as
#: one from a timeout does here. Each acknowledgement of 2200 adds a sixth: one segment more beside the one for each.
REPEATED = {
    1600: [20], 1700: [22, 23], 1800: [25, 26, 27], 1900: [28, 29, 30, 31], 2000: [32, 33, 34, 35, 36],
}  # fmt: skip
REPEATS = {
    "newreno": {2100: [37, 38, *range(40, 45)], 2200: [*range(45, 51)]},
    "reno": {2100: [37, 38, *range(40, 46)], 2200: [*range(46, 53)]},
}
#: The same start; 20, 22, 25 and 29 are lost once. 600: third duplicate, twenty in flight, threshold 10, 20 goes again. Window 2, 3, 4; 30 to 32 had been received and
#: give three duplicates at 1000, behind the acknowledgement of all to 39, which makes the window 5. 1100: five acknowledgements, below the threshold: ten go.
GO_BACK = {700: [22, 23], 800: [25, 26, 27], 900: [29, 30, 31, 32], 1000: [*range(40, 45)], 1100: [*range(45, 55)]}
THRESHOLDS = {("tahoe", "10"): [5.0], ("tahoe", "10,12"): [5.0], ("reno", "10"): [5.0], ("reno", "10,12"): [5.0, 5.5]}


def trace(
    variant: str, lost: str, segments: int = 40, marked: str = ""
) -> tuple[dict[int, list[int]], list[float], list[float]]:
    """Segments by time; thresholds in their order, of each millisecond the last; windows after each change."""
    sent: dict[int, list[int]] = {}
    by_time: dict[int, float] = {}
    windows: list[float] = []
    for line in run("tcp_trace", variant, 20, lost, segments, *([marked] if marked else [])).stdout.splitlines():
        at, what, *values = line.split()
        if what == "send":
            sent.setdefault(int(at), []).append(int(values[0]))
        elif what == "cwnd":
            windows.append(float(values[0]))
        elif what == "threshold" and float(values[0]) < 1e6:  # none at first
            # ns-3's own step on the way into a recovery is replaced within the same acknowledgement
            by_time[int(at)] = float(values[0])
    return sent, [threshold for threshold, _ in groupby(by_time.values())], windows


def said(variant: str, lost: str, marked: str) -> list[int]:
    """Segments that say CWR."""
    lines = run("tcp_trace", variant, 20, lost, 40, marked).stdout.splitlines()
    return [int(number) for _, what, number, *_ in map(str.split, lines) if what == "cwr"]


@pytest.mark.parametrize("case", TRACES, ids="-".join)
def test_the_sender_sends_what_was_computed_by_hand(case: tuple[str, str]) -> None:
    """Each round trip from the start to the recovery's end."""
    sent, thresholds, windows = trace(*case)
    expected = START | TRACES[case]
    assert {at: sent[at] for at in expected} == expected
    assert thresholds == THRESHOLDS[case]
    assert (1.0 in windows[1:]) == (case[0] == "tahoe"), "only Tahoe falls back to one segment"


@pytest.mark.parametrize("variant", REPEATS)
def test_duplicates_of_what_a_timeout_sent_twice_are_no_loss(variant: str) -> None:
    """RFC 6582, 3.2, step 2."""
    sent, thresholds, _ = trace(variant, "20,20,22,25,28,29,30,31,32,33,34", 60)
    expected = REPEATED | REPEATS[variant]
    assert {at: sent[at] for at in expected} == expected
    assert thresholds[-1] == 5.0


def test_duplicates_of_what_tahoe_sent_twice_are_no_loss() -> None:
    sent, thresholds, _ = trace("tahoe", "20,22,25,29", 60)
    assert {at: sent[at] for at in GO_BACK} == GO_BACK
    assert thresholds == [10.0]


def test_newreno_leaves_the_first_segment_behind_a_recovery_to_the_timer() -> None:
    """RFC 6582, 3.2, step 2; ns-3 sends it again at the third duplicate. 500: 20 and 21 go with the first two duplicates (RFC 3042); with the third 9 of 10 to 21 are in
    flight, 4.5. 600: all but 10 come; the last three duplicates leave room for 22, 23 and 24. All to 21 is acknowledged, and 4.72 are room for 25. 22 is lost:
    three duplicates acknowledge no more than what was out when the recovery began. The timer began at 600."""
    sent, _, _ = trace("newreno", "10,22")
    expected = {600: [22, 23, 24, 25], 1600: [22]}
    assert {at: numbers for at, numbers in sent.items() if 600 <= at <= 1600} == expected


#: 15, 16 and 33 are lost. 600: 17 to 29 give thirteen duplicates. The first two send 30 and 31; with the third 14 of 15 to 31 are in flight, 7, and 15 goes
#: again; the last three leave room for 32, 33 and 34, the receiver's window. 700: 30 and 31 give two more duplicates, and the window is full. Then all to 15 is
#: acknowledged: 16 goes again, and 35. 32 and 34, behind what was out when the recovery began, give two duplicates of 16. 800: all to 32 is acknowledged, which ends it. 33 to 35 are in flight: 36 to 39 in a window of 7.14. 35
#: gives the first duplicate of 33: 40. 900: 36's the second: 41. 37's the third: 6 of nine are in flight, 3, and 33 goes again. 38 to 40 leave no room.
#: 1000: 41's does, 42. All to 41 is acknowledged: 3.33, two more.
TWO_TRIPS = {600: [30, 31, 15, 32, 33, 34], 700: [16, 35], 800: [*range(36, 41)], 900: [41, 33], 1000: [42, 43, 44]}


def test_duplicates_of_one_recovery_are_not_those_of_the_next() -> None:
    """Else 34's has 33 sent again when the recovery ends, 35's, the first of 33, begins a recovery that sends it once more, and so on: 272 segments, for 150."""
    sent, thresholds, _ = trace("newreno", "15,16,33", 150)
    assert {at: sent[at] for at in TWO_TRIPS} == TWO_TRIPS
    assert thresholds[-1] == 3.0
    assert sum(map(len, sent.values())) == 150 + 3


@pytest.mark.parametrize(("variant", "more"), [("newreno", 0), ("sack", 1)])
@pytest.mark.parametrize("marks", [0, 2], ids=["no-ecn", "marks"])
def test_nothing_is_sent_again_that_was_not_lost_but_for_the_timer(variant: str, more: int, marks: int) -> None:
    """Three to five random losses in the windows of three round trips, sixty times: what NewReno sends again is what the third duplicate or a partial
    acknowledgement names. ns-3's SACK may send the first hole behind a recovery's end twice: from the scoreboard, and when the next SACK begins its recovery."""
    random = Random(6582)
    without_timer = 0
    for _ in range(60):
        lost = random.sample(range(8, 40), random.randint(3, 5))
        marked = random.sample(range(8, 40), marks)
        sent, _, windows = trace(variant, ",".join(map(str, lost)), 150, ",".join(map(str, marked)))
        if 1.0 in windows[1:]:
            continue
        without_timer += 1
        numbers = Counter(n for at in sent.values() for n in at)
        needed = Counter({n: 1 + lost.count(n) for n in range(1, 151)})
        assert needed <= numbers and numbers.total() <= needed.total() + more, (lost, marked)
    assert without_timer >= 40


@pytest.mark.parametrize(("lost", "segments"), LATE)
def test_reno_takes_no_hole_for_lost_when_its_recovery_ends(lost: str, segments: int) -> None:
    sent, _, _ = trace("reno", lost, segments)
    expected = START | LATE[lost, segments]
    assert {at: numbers for at, numbers in sent.items() if at <= max(expected)} == expected


@pytest.mark.parametrize("variant", MARKED)
def test_a_loss_in_a_marked_window_is_repaired_at_once_and_halves_nothing_more(variant: str) -> None:
    """Nobody waits for the timer; the window is that of one reduction."""
    sent, thresholds, windows = trace(variant, "10", marked="8")
    expected = {at: START[at] for at in START if at < 500} | MARKED[variant]
    assert {at: sent[at] for at in expected} == expected
    assert thresholds == [3.5]
    assert (1.0 in windows[1:]) == (variant == "tahoe")


@pytest.mark.parametrize("variant", MARKED)
def test_a_mark_in_a_window_whose_loss_was_answered_changes_nothing(variant: str) -> None:
    """Segment 12 comes marked behind the hole of 10: the echo comes while it is being repaired."""
    assert trace(variant, "10", marked="12") == trace(variant, "10")


@pytest.mark.parametrize(("variant", "marked"), LATE_MARK)
def test_the_first_new_segment_after_a_reduction_for_loss_says_so(variant: str, marked: str) -> None:
    """So the receiver's echo of a mark in that window ends before the next window begins (RFC 3168, 6.1.2)."""
    first, threshold = LATE_MARK[variant, marked]
    _, thresholds, _ = trace(variant, "10", marked=marked)
    assert said(variant, "10", marked) == [first] and thresholds[-1] == threshold
    assert trace(variant, "10", marked=marked) == trace(variant, "10")


def test_a_mark_behind_the_window_that_was_answered_reduces_again() -> None:
    """Of 20, which says that the window was reduced for 10: at 700 its echo finds 21 to 24 in flight."""
    _, thresholds, _ = trace("reno", "10", marked="20")
    assert thresholds == [5.0, 2.0] and said("reno", "10", "20")[0] == 20


@pytest.mark.parametrize("variant", MARKED)
def test_a_timeout_in_a_marked_window_halves_nothing_more(variant: str) -> None:
    """ns-2's `timeout`."""
    sent, thresholds, _ = trace(variant, "10,11,12,13,14,15", marked="8")
    assert {at: sent[at] for at in TIMEOUT} == TIMEOUT
    assert thresholds == [3.5]
    assert said(variant, "10,11,12,13,14,15", "8") == [16]


@pytest.mark.parametrize("variant", MARKED)
def test_a_mark_alone_halves_the_window_once(variant: str) -> None:
    """As above without the loss: 9 to 15 are in flight when the echo comes, and every acknowledgement up to 15 has it."""
    _, thresholds, windows = trace(variant, "40", 40, "8")
    assert thresholds[0] == 3.5 and 3.5 in windows
    assert len(thresholds) <= 2, "another for the last segment, which is lost"


@pytest.mark.parametrize("variant", ["tahoe", "reno", "newreno", "sack"])
@pytest.mark.parametrize("lost", ["3", "10", "10,12", "10,11,12,13", "20,22,24,40", "1", "40"])
def test_every_segment_arrives_after_any_loss(variant: str, lost: str) -> None:
    """Forty segments; what was lost is sent again, and nothing more than was in flight."""
    sent, _, _ = trace(variant, lost)
    numbers = [n for at in sorted(sent) for n in sent[at]]
    assert set(numbers) == set(range(1, 41))
    for n in map(int, lost.split(",")):
        assert numbers.count(n) >= 2
    assert len(numbers) <= 40 + 20


@pytest.mark.parametrize("k", [21, 25, 40])
def test_marks_and_losses_for_seconds_leave_the_link_full_and_most_packets_whole(k: int) -> None:
    """Ten flows of NewReno, five with ECN, over RED at 10 Mb/s. In congestion avoidance a window of W packets loses one of 3/8 W² (Mathis et al. 1997).
    Ten flows share 25 packets of the path and the k to 3k of the queue: W is 2.5 + k/10 where the queue holds k, and the share 8/(3 W²): 12.6 % at k = 21, 6.3 % at 40.
    The start besides, without a threshold, may overshoot by a buffer, 197 packets. Only the timer has the receivers get anything twice."""
    words = ("--queue=golden", "--policy=red", f"--k={k}", "--rate=10000000", "--duration=10")
    document = json.loads(run("fn-red", *words).stdout)
    results = document["results"]
    share = 8 / (3 * (2.5 + k / 10) ** 2)
    assert results["dropped"] <= share * results["arrived"] + 197
    assert results["utilisation_percent"] >= 95
    assert document["goodput_bytes"] >= 0.95 * results["sent"] * 1010, "of payload; less was sent twice"


def test_two_holes_cost_reno_a_second_reduction_and_newreno_one() -> None:
    """What NewReno was made for."""
    assert len(THRESHOLDS["reno", "10,12"]) == 2
    _, thresholds, _ = trace("newreno", "10,12")
    assert len(thresholds) == 1
