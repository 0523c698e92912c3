"""The pages made from code are the code's."""

import json
from pathlib import Path

import pytest

from sandbox.hosting.reference import pages
from sandbox.journal.schema import describe

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_reference_page_says_what_the_code_says(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == pages()[name], "run `manage.py makedocs`"


def test_the_schema_of_the_journal_changes_only_on_purpose() -> None:
    golden = ROOT / "tests" / "golden" / "events.json"
    assert describe() == json.loads(golden.read_text()), "a changed event changes old journals: see docs/events.md"
