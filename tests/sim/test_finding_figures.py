"""The figures of a finding prove its sentences, and what mends it says beforehand what it does."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.findings.figures import BESIDE, COLUMNS, Figures
from sandbox.findings.finding import Finding
from sandbox.findings.watch import FindingWatch
from sandbox.simulation.findings.plants import PLANTS
from sandbox.simulation.findings.run import play_findings
from tests.sim.test_planted_findings import SEEDS

WITHOUT_FIGURES = {
    "clock_behind",  # its sentence has all its figures
    "delay_waiting",
    "delivered_again",
    "half_message_open",
    "permission",
    "table_damaged",
    "writes_refused",
}
NOT_ALWAYS = {"dead_letters_grow", "queue_without_reader"}  # no message waits; the read permission is off


@pytest.fixture
def open_findings(monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """The findings that are open after each look."""
    each_look: list[Finding] = []
    look = FindingWatch.look

    def noted(watch: FindingWatch, *args: Any, **more: Any) -> None:
        look(watch, *args, **more)
        each_look.extend(each.finding for each in watch.tracker.open)

    monkeypatch.setattr(FindingWatch, "look", noted)
    return each_look


@pytest.mark.parametrize("seed", SEEDS)
def test_a_finding_proves_its_numbers_and_says_what_mends_it(seed: int, open_findings: list[Finding]) -> None:
    play_findings(seed)
    for finding in open_findings:
        assert finding.remedy or finding.reason, f"{finding.code}: what mends it, or why no action does"
        if finding.remedy is not None:
            assert finding.remedy.does or finding.remedy.action == "CrashActor", "its dialog has a preview"
        if finding.figures is None:
            assert finding.code in WITHOUT_FIGURES | NOT_ALWAYS, finding.code
            continue
        assert_one_shape(finding.figures)
        known = set(numbers_of(finding.figures))
        stated = {
            (name, value) for sentence in finding.says for name, value in sentence.values.items() if is_number(value)
        }
        assert {(name, value) for name, value in stated if str(value) not in known} == set(), (finding.says, known)


def test_codes_without_figures_are_codes() -> None:
    assert {*PLANTS, "clock_behind"} >= WITHOUT_FIGURES


def assert_one_shape(table: Figures) -> None:
    for row in table.rows:
        assert tuple(row.values) == table.columns
    assert set(table.columns) <= COLUMNS.keys()
    assert table.total.keys() <= set(table.columns)
    assert table.beside.keys() <= BESIDE.keys()
    assert all(value is not None for value in table.beside.values())


def is_number(value: object) -> bool:
    return str(value).replace(".", "", 1).isdecimal()


def numbers_of(table: Figures) -> Iterator[str]:
    """Yield the cells, the number of rows, and the numbers of rows with one value, and of all of them but one."""
    yield from map(str, (table.window_ms, len(table.rows) + table.left_out))
    for values in (*(row.values for row in table.rows), table.total, table.beside):
        for value in values.values():
            yield from map(str, value) if isinstance(value, tuple) else (str(value),)
    for column in table.columns:
        for count in Counter(row.values[column] for row in table.rows).values():
            yield from (str(count), str(count - 1))
