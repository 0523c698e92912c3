"""Hooks of all tests: marks name claims there are, a plan chooses, what is long begins first."""

import json
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from hypothesis import settings

from queueviz.fidelity.ledger import ledger
from queueviz.translations import compile_translations
from sandbox.pipeline.spark import small_runs
from tests import plan, units

# What a shell runs in its background ignores Ctrl-C, and so would the processes that tests press it in.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("shared machine", deadline=None)  # of a single example
settings.load_profile("shared machine")

# Java for a few small jobs: its second compiler and its parallel collector take half as much processor time again.
os.environ.setdefault("SPARK_SUBMIT_OPTS", small_runs.JAVA)


# Who wants sandboxes that begin with a history asks for it, here and of servers: making one takes seconds.
os.environ.setdefault("QUEUEVIZ_HISTORY_S", "0")
django_settings.QUEUEVIZ_HISTORY_S = 0  # they were read before


@pytest.hookimpl(optionalhook=True)  # not there with -p no:xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> units.Units:
    return units.Units(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--wide", action="store_true", help="also what is marked wide or alone, which a plan plays by turns"
    )
    parser.addoption("--release", action="store_true", help="fail where a Chinese text or a page made from code is old")
    parser.addoption("--plan", type=Path, metavar="FILE", help="the units to play, as tests/stages.py writes them")
    parser.addoption(
        "--results", type=Path, metavar="FILE", help="where to write failed tests, and the seconds of each unit"
    )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        compile_translations()
    if not hasattr(config, "workerinput") and config.option.results:
        config.pluginmanager.register(Results(config.option.results))
    if config.option.plan:
        config.stash[PLANNED] = Planned(config.option.plan)


class Planned:
    """A stage of a plan: its units, and whether it also plays all cheap files."""

    def __init__(self, path: Path) -> None:
        order = json.loads(path.read_text())
        self.cheap, self.prefix, self._units = order["cheap"], order["prefix"], frozenset(order["units"])
        self._paths = frozenset(map(plan.path_of, self._units))

    def names(self, path: str) -> bool:
        """Return whether a test file has a unit to run."""
        return path in self._paths or (self.cheap and plan.is_cheap(path))

    def holds(self, item: pytest.Item) -> bool:
        unit = unit_of(item)
        return f"{self.prefix}{unit}" in self._units or (self.cheap and plan.is_cheap(unit))


PLANNED = pytest.StashKey[Planned]()


class Results:
    """Failed tests and costs, for the process that started this run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed: list[str] = []
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        unit = next((value for name, value in report.user_properties if name == "unit"), "")
        self._seconds[unit] += report.duration
        if report.failed:
            self._failed.append(report.nodeid)
            print(f"\nRed: {report.nodeid}", file=sys.stderr)  # at once: the summary is minutes away

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._path.write_text(json.dumps({"failed": sorted({*self._failed}), "seconds": self._seconds}))


def unit_of(item: pytest.Item) -> str:
    """Return the unit an item belongs to: its file, or what is marked in it."""
    return plan.unit_of(
        item.nodeid.partition("::")[0], next((mark for mark in plan.MARKS if item.get_closest_marker(mark)), "")
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file with nothing to play is not even collected: that takes longer than many a test."""
    planned = config.stash.get(PLANNED, None)
    if planned is None or not collection_path.name.startswith("test_"):
        return None
    return None if planned.names(collection_path.relative_to(plan.ROOT).as_posix()) else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    planned = config.stash.get(PLANNED, None)
    is_played = planned.holds if planned else lambda item: unit_of(item) == plan.path_of(item.nodeid)
    left_out = [] if config.option.wide else [item for item in items if not is_played(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
    for item in items:
        item.user_properties.append(("unit", f"{planned.prefix if planned else ''}{unit_of(item)}"))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: units.place_of(item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module with such a mark is not collected, and says why; a usage error would break xdist without a word."""
    report = yield
    faults = [fault for node in report.result or () if isinstance(node, pytest.Item) for fault in faults_of(node)]
    if faults:
        report.outcome, report.result, report.longrepr = "failed", [], "\n".join(faults)
    return report


def faults_of(item: pytest.Item) -> list[str]:
    marks = list(item.iter_markers("seed"))
    bare = [f'{item.nodeid}: name the rows this test shows, as in seed("0.27")' for mark in marks if not mark.args]
    wrong = [row for mark in marks for row in mark.args if row not in ledger()]
    return bare + [f"{item.nodeid}: {row!r} is no row of queueviz/fidelity/claims" for row in wrong]
