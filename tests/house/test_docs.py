"""The pages made from code are the code's."""

import json
from pathlib import Path

from sandbox.journal.schema import describe
from sandbox.tools import rooms_picture
from sandbox.tools.reference import pages
from tests.house.conftest import NeededForRelease

ROOT = Path(__file__).parents[2]


def test_the_reference_pages_say_what_the_code_says(needed_for_release: NeededForRelease) -> None:
    stale = [name for name, page in sorted(pages().items()) if (ROOT / "docs" / name).read_text() != page]
    needed_for_release(stale, "run `manage.py makedocs`")


def test_the_schema_of_the_journal_changes_only_on_purpose() -> None:
    golden = ROOT / "tests" / "golden" / "events.json"
    assert describe() == json.loads(golden.read_text()), "a changed event changes old journals: see docs/events.md"


def test_the_picture_of_the_rooms_is_that_of_the_imports(needed_for_release: NeededForRelease) -> None:
    is_old = (ROOT / "docs" / rooms_picture.NAME).read_text() != rooms_picture.picture(ROOT)
    needed_for_release([rooms_picture.NAME] if is_old else [], "run `manage.py makedocs`")


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    chain = {("a", "b"), ("b", "c"), ("d", "c")}
    assert rooms_picture.arrows(chain | {("a", "c")}) == chain
