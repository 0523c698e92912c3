"""What holds for all tests: marks name claims there are, some wait for the night, what is long begins first."""

import os
import signal
from collections.abc import Generator
from datetime import date
from typing import Any

import pytest
from django.conf import settings as django_settings
from hypothesis import settings

from queueviz.fidelity.ledger import ledger
from sandbox.pipeline import few
from tests import nightly, units

# What a shell runs in its background ignores Ctrl-C, and so would the processes that tests press it in.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("shared machine", deadline=None)  # of a single example
settings.load_profile("shared machine")

# Java for a few small jobs: its second compiler and its parallel collector take half as much processor time again.
os.environ.setdefault("SPARK_SUBMIT_OPTS", few.JAVA)


# Who wants sandboxes that begin with a history asks for it, here and of servers: making one takes seconds.
os.environ.setdefault("QUEUEVIZ_HISTORY_S", "0")
django_settings.QUEUEVIZ_HISTORY_S = 0  # they were read before


@pytest.hookimpl(optionalhook=True)  # not there with -p no:xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> units.Units:
    return units.Units(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", type=nightly.which, default=nightly.NONE, metavar="none|all|DATE",
                     help="which of the tests marked nightly to play: of a date, the part CI plays on that day")
    parser.addoption("--third", type=date.fromisoformat, metavar="DATE", help="one of three parts of the tests")
    parser.addoption("--in-turn", type=date.fromisoformat, metavar="DATE", help="one of three parts of those so marked")


def pytest_report_header(config: pytest.Config) -> str:
    return nightly.header(config.getoption("--nightly"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen, day, turn = (config.getoption(option) for option in ("--nightly", "--third", "--in-turn"))
    left_out = [item for item in items if not nightly.is_in_third(item.nodeid, day)
                or (item.get_closest_marker("in_turn") and not nightly.is_in_third(item.nodeid, turn))
                or (item.get_closest_marker("nightly") and not nightly.is_played(item.nodeid, chosen))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
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
