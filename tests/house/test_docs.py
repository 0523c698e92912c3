"""The pages made from code are the code's."""

import json
from pathlib import Path

from sandbox.journal.schema import describe
from sandbox.tools import rooms_picture
from sandbox.tools.reference import pages, write_pages
from tests.house.conftest import NeededForRelease, stale_pages

ROOT = Path(__file__).parents[2]


def test_the_reference_pages_say_what_the_code_says(needed_for_release: NeededForRelease) -> None:
    needed_for_release(stale_pages(pages(), ROOT / "docs"), "run `manage.py makedocs`")


def test_made_pages_replace_the_older_ones_of_their_folder(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "removed.md").write_text("of a module that is gone")
    written = list(write_pages({"events.md": "index", "events/life.md": "page"}, tmp_path))
    assert written == ["events.md", "events/life.md"]
    assert [path.name for path in (tmp_path / "events").iterdir()] == ["life.md"]
    assert stale_pages({"events.md": "index", "events/life.md": "new"}, tmp_path) == ["events/life.md"]
    assert stale_pages({"events.md": "index"}, tmp_path) == []


def test_a_page_without_a_module_is_stale(tmp_path: Path) -> None:
    list(write_pages({"events/life.md": "page", "events/wire.md": "page"}, tmp_path))
    assert stale_pages({"events/life.md": "page"}, tmp_path) == ["events/wire.md"]


def test_the_schema_of_the_journal_changes_only_on_purpose() -> None:
    golden = ROOT / "tests" / "golden" / "events.json"
    assert describe() == json.loads(golden.read_text()), "a changed event changes old journals: see docs/events.md"


def test_the_picture_of_the_rooms_is_that_of_the_imports(needed_for_release: NeededForRelease) -> None:
    is_old = (ROOT / "docs" / rooms_picture.NAME).read_text() != rooms_picture.picture(ROOT)
    needed_for_release([rooms_picture.NAME] if is_old else [], "run `manage.py makedocs`")


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    chain = {("a", "b"), ("b", "c"), ("d", "c")}
    assert rooms_picture.arrows(chain | {("a", "c")}) == chain
