"""Clients and scenarios: what passed, what failed, what was skipped and why."""

import pytest

LONGER_THAN_S = 5.0  # is said
MANY = 6


class Table:
    """Rows are scenarios, columns are clients; a test without a client stands in the column `mqadmin`."""

    def __init__(self) -> None:
        self._cells: dict[str, dict[str, str]] = {}
        self._columns: list[str] = []
        self._reasons: dict[str, list[str]] = {}

    def add(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        name, _, client = report.nodeid.rpartition("::")[2].removesuffix("]").partition("[")
        scenario, client = name.removeprefix("test_").replace("_", " "), client or "mqadmin"
        if client not in self._columns:
            self._columns.append(client)
        outcome = {"passed": "pass", "failed": "FAIL", "skipped": "skip"}[report.outcome]
        if report.passed and report.duration > LONGER_THAN_S:
            outcome += f" {report.duration:.0f} s"
        self._cells.setdefault(scenario, {})[client] = outcome
        if report.skipped and isinstance(report.longrepr, tuple):
            self._reasons.setdefault(report.longrepr[2].removeprefix("Skipped: "), []).append(scenario)

    def lines(self) -> list[str]:
        if not self._cells:
            return []
        first = max(map(len, self._cells))
        widths = [max(len(column), 9) for column in self._columns]
        out = ["", "  ".join(["scenario".ljust(first), *map(str.ljust, self._columns, widths)])]
        for scenario, cells in self._cells.items():
            row = (cells.get(column, "").ljust(width) for column, width in zip(self._columns, widths, strict=True))
            out.append("  ".join([scenario.ljust(first), *row]).rstrip())
        for reason, scenarios in self._reasons.items():
            told = ", ".join(scenarios) if len(scenarios) < MANY else f"{len(scenarios)} scenarios"
            out.append(f"skipped: {reason} ({told})")
        return out
