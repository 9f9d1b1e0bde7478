"""What tests tell with `record_property("summary", …)` stands before pytest's last line, also when workers ran them."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line a test, if any has something to tell."""
    lines = [
        f"{report.nodeid.rpartition('::')[2]}: {value}"
        for reports in (terminalreporter.stats.get(outcome, ()) for outcome in ("passed", "failed"))
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "summary" and report.when == "call"
    ]
    if lines:
        terminalreporter.section("told by tests")
        for line in sorted(lines):
            terminalreporter.line(line)
