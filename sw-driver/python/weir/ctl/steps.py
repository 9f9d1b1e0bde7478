"""In which steps queues of a device get new configurations: cells and windows of FN are given up before others take them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import weir

from .errors import CALLERS
from .overlay import Overlay

#: A queue, and its policy with parameters.
Step = tuple[int, Mapping[str, Any]]


def steps(device: weir.Device, queues: Mapping[int, Mapping[str, Any]]) -> list[Step]:
    """The steps to these configurations: one a queue if that works.

    A window of FN keeps its place as long as the queue runs FN, so windows may stand in each other's way. Then the queues
    whose window changes run Drop-Tail first; if that is not enough, all that run FN do.
    """
    now = {q: device.queue_show(q) for q in queues}
    reserves = {q: _cells(queues[q].get("reserve", 0), device.capabilities.cell_bytes) for q in queues}

    def key(queue: int) -> tuple[bool, float, int]:
        return (queues[queue]["policy"] == "fn", reserves[queue] - now[queue]["reserve"], queue)

    def first_leaving(given_up: Iterable[int]) -> list[Step]:
        left = [(q, _without_window(now[q], reserves[q])) for q in given_up]
        return left + [(q, queues[q]) for q in sorted(queues, key=key)]

    windows = [q for q in queues if now[q]["policy"] == "fn"]
    if not windows:
        return first_leaving(())
    changed = [q for q in windows if queues[q]["policy"] != "fn" or reserves[q] < now[q]["reserve"]
               or _count(queues[q].get("window")) != now[q]["window"]]  # fmt: skip
    for given_up in ((), changed):
        if _works(device, plan := first_leaving(given_up)):
            return plan
    return first_leaving(windows)


def _without_window(shown: Mapping[str, Any], reserve: float) -> dict[str, Any]:
    """A queue as it is, but with Drop-Tail, and without the cells that it is to give back."""
    kept = {p.name: shown[p.name] for p in weir.policy_of("drop-tail").parameters if p.name in shown}
    return {"policy": "drop-tail", **kept, "reserve": min(shown["reserve"], max(0, reserve))}


def _works(device: weir.Device, plan: Iterable[Step]) -> bool:
    copy = weir.Device(Overlay(device))
    for queue, step in plan:
        values = dict(step)
        try:
            copy.queue_replace(queue, values.pop("policy"), **values)
        except weir.WeirError as error:
            if error.name not in CALLERS:
                raise
            return False
    return True


def _cells(reserve: Any, cell_bytes: int) -> float:
    """Cells of a reserve; 0 of one that will be refused."""
    try:
        size = weir.parse_size(reserve)
    except weir.WeirError:
        return 0
    if not math.isfinite(size):
        return 0
    return math.ceil(size / cell_bytes) if isinstance(reserve, str) and not reserve.isdigit() else size


def _count(value: Any) -> float | None:
    """A plain number, if it is one."""
    try:
        return None if value is None else weir.parse_number(value)
    except weir.WeirError:
        return None
