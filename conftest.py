"""For all tests: programs that they start take SIGINT and SIGHUP as from a terminal.

A shell starts a job in the background with SIGINT ignored, nohup one with SIGHUP ignored, and both pass to children: tests of
what a program does at a signal would wait for ever, or see no effect.
"""

import signal

import pytest


def pytest_configure() -> None:
    """Before the first test, also in the processes of pytest-xdist."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first: at the end no process works on one long test while the others have nothing to do."""

    def seconds(item: pytest.Item) -> float:
        slow = item.get_closest_marker("slow")
        return slow.args[0] if slow else 0

    items.sort(key=seconds, reverse=True)
