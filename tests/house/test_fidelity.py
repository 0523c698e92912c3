"""The ledger and the tests fit: every row is shown by a test, every mark names a row, and the pages say which.

Read from the source, so it takes a second; `manage.py fidelity` also runs them.
"""

import re
from pathlib import Path

import pytest

from queueviz.fidelity import reference
from queueviz.fidelity.ledger import ledger
from queueviz.fidelity.marks import by_row, scan
from tests.house.conftest import NeededForRelease, stale_pages

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tests() -> dict[str, list[str]]:
    return by_row(scan(ROOT / "tests", ROOT))


def test_every_row_is_shown_by_a_test(tests: dict[str, list[str]]) -> None:
    assert [row for row in ledger() if row not in tests] == []


def test_every_mark_names_a_row(tests: dict[str, list[str]]) -> None:
    assert {row: shown for row, shown in tests.items() if row not in ledger()} == {}


def test_the_pages_say_what_ledger_and_tests_say(needed_for_release: NeededForRelease) -> None:
    needed_for_release(stale_pages(reference.pages(ROOT), ROOT / "docs"), "run `manage.py makedocs`")


def test_every_row_names_a_page_that_shows_it() -> None:
    assert [row for row, claim in ledger().items() if not claim.where] == []


def test_every_difference_is_marked_on_a_page() -> None:
    """`{% differs "D2" "D19" %}` in some template: article and code side by side, at the number in question."""
    marks = re.compile(r"{% differs ([^%]*)%}")
    marked = {
        name
        for path in (ROOT / "templates").rglob("*.html")
        for found in marks.findall(path.read_text("utf-8"))
        for name in re.findall(r"D\d+", found)
    }
    assert [claim.row for claim in ledger().section("D") if claim.row not in marked] == []
