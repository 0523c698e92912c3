"""A pytest plugin (`-p queueviz.fidelity.collector`) that runs marked tests and records their outcomes.

Only tests marked with a requested row run.  At the end the plugin writes one JSON file: `{"tests": [{"id", "rows",
"outcome"}], "unread": [modules]}`, in the order of arrival.  It works with xdist: the rows of a test travel with its
report.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROWS = "seed rows"  # name of the property that carries a test's rows to the controller
PASSED = "passed"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fidelity")
    group.addoption("--fidelity-out", default=None, metavar="FILE", help="write outcomes by row to FILE")
    group.addoption("--fidelity-rows", default="", metavar="ROWS", help="only tests of these rows, comma between")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "seed(*rows): shows these rows of docs/fidelity.md")
    out = config.getoption("--fidelity-out")
    if out and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Tally(Path(out)), "fidelity tally")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = set(filter(None, config.getoption("--fidelity-rows").split(",")))
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        rows = rows_of(item)
        item.user_properties.append((ROWS, rows))
        (left if asked and not asked & set(rows) else kept).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def rows_of(item: pytest.Item) -> list[str]:
    return [str(row) for mark in item.iter_markers("seed") for row in mark.args]


class Tally:
    """The outcome of each test: `passed`, `failed` or `skipped`, the worst of setup, call and teardown."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.tests: dict[str, dict[str, object]] = {}
        self.unread: dict[str, None] = {}  # each worker reports them

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.unread[report.nodeid] = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        rows: Any = next((value for name, value in report.user_properties if name == ROWS), ())
        if not rows:
            return
        test = self.tests.setdefault(report.nodeid, {"id": report.nodeid, "rows": list(rows), "outcome": PASSED})
        if report.outcome == "failed" or (report.outcome == "skipped" and test["outcome"] == PASSED):
            test["outcome"] = report.outcome  # an expected failure is reported as skipped: it shows nothing either

    def pytest_sessionfinish(self) -> None:
        self.out.write_text(json.dumps({"tests": list(self.tests.values()), "unread": list(self.unread)}), "utf-8")
