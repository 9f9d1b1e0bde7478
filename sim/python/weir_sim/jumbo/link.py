"""A link behind a merger: when each frame leaves, and as what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .merge import Arrival, Limits, Merger
from .wire import build, frame_bytes

OVERHEAD = 24
"""preamble 8, FCS 4, gap 12"""
SHORTEST = 60


def wire_bytes(length: int) -> int:
    """What a frame of `length` bytes without FCS takes of a link, padding, preamble, FCS and gap included."""
    return max(length, SHORTEST) + OVERHEAD


class Sent(NamedTuple):
    """A frame on the link."""

    start_ns: int
    end_ns: int
    """start of its first bit, and of the next frame's at the earliest; ns, rounded down"""
    length: int
    """bytes without FCS or padding"""
    members: list[Arrival]
    """the frames it carries; one alone travels as it is"""

    def frame(self, limits: Limits, identification: int = 0) -> bytes:
        """The frame as it is sent."""
        if len(self.members) == 1:
            return self.members[0].frame
        return build([m.frame for m in self.members], [m.time_ns for m in self.members], limits.form, identification)


def _length(members: list[Arrival], limits: Limits) -> int:
    first = members[0].packet
    if len(members) == 1 or first is None:
        return len(members[0].frame)
    total = sum(len(m.packet.ip) for m in members if m.packet)
    return frame_bytes(first.tags, len(members), total, limits.form.l3)


def serve(arrivals: Iterable[Arrival], merger: Merger, rate: int, limits: Limits) -> Iterator[Sent]:
    """Sends what arrives through a merger over a link, in order of departure, until nothing is left.

    Args:
        arrivals: by time, not falling.
        merger: the queue, empty at first.
        rate: of the link, bit/s. It is never idle while there is a frame to take.
        limits: of a group, as the merger has them.
    """
    waiting = iter(arrivals)
    following = next(waiting, None)
    now = 0  # the moment at which the link is free, in units of 1/rate ns, so that nothing is rounded
    while True:
        while following is not None and following.time_ns * rate <= now:
            merger.arrive(following)
            following = next(waiting, None)
        if members := merger.take(now // rate):
            length = _length(members, limits)
            end = now + 8 * 10**9 * wire_bytes(length)
            yield Sent(now // rate, end // rate, length, members)
            now = end
            continue
        moments = [following.time_ns] if following is not None else []
        if (wake := merger.wake_ns()) is not None:
            moments.append(wake)
        if not moments:
            return
        now = max(now, min(moments) * rate)
