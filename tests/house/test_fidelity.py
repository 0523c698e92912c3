"""The ledger and the tests fit: every row is shown by a test, every mark names a row, and the page says which.

Read from the source, so it takes a second; `manage.py fidelity` also runs them.
"""

from pathlib import Path

import pytest

from queueviz.fidelity import reference
from queueviz.fidelity.ledger import ledger
from queueviz.fidelity.marks import by_row, scan

ROOT = Path(__file__).parents[2]

# Rows nobody has written a test for yet.  May only shrink: a row that has a test must leave.
STILL_WITHOUT_TEST: set[str] = {
    "2.2", "4.21", "4.22", "4.23", "4.24", "4.27", "4.28", "4.29", "4.31", "4.32", "D42",
}  # fmt: skip


@pytest.fixture(scope="module")
def tests() -> dict[str, list[str]]:
    return by_row(scan(ROOT / "tests", ROOT))


def test_every_row_is_shown_by_a_test(tests: dict[str, list[str]]) -> None:
    assert [row for row in ledger() if row not in tests and row not in STILL_WITHOUT_TEST] == []


def test_no_row_is_called_untested_that_is_tested(tests: dict[str, list[str]]) -> None:
    assert sorted(STILL_WITHOUT_TEST & tests.keys()) == [], "take them out of STILL_WITHOUT_TEST"
    assert sorted(STILL_WITHOUT_TEST - ledger().keys()) == [], "these are no rows"


def test_every_mark_names_a_row(tests: dict[str, list[str]]) -> None:
    assert {row: shown for row, shown in tests.items() if row not in ledger()} == {}


def test_the_page_says_what_ledger_and_tests_say() -> None:
    page = (ROOT / "docs" / reference.NAME).read_text("utf-8")
    assert page == reference.page(ROOT), "run `manage.py makedocs`"
