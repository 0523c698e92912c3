"""Pages of docs: those made from code, their index, their length and their lines."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from queueviz.management.commands import makedocs
from sandbox.journal.schema import describe
from sandbox.tools import rooms_picture
from sandbox.tools.reference import pages, write_pages
from tests.house.conftest import NeededForRelease, stale_pages

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
ENTRY = re.compile(r"^- \[[^\]]+\]\(([^)#]+)\): \S", re.MULTILINE)  # a page and its question
MOST_LINES = 250  # of a page
MOST_CHARACTERS = 160  # of a line


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


def test_the_fields_of_an_event_change_only_on_purpose(needed_for_release: NeededForRelease) -> None:
    stored = json.loads((ROOT / makedocs.EVENTS).read_text())
    described = describe()
    changed = [name for name, schema in stored.items() if described.get(name) != schema]
    assert changed == [], (
        "journals have these events with other fields. Give a new field a default and a test with an old "
        f"line; then remove the event from {makedocs.EVENTS} and run `manage.py makedocs`"
    )
    needed_for_release([name for name in described if name not in stored], "run `manage.py makedocs`")


def test_the_picture_of_the_rooms_is_that_of_the_imports(needed_for_release: NeededForRelease) -> None:
    is_old = (ROOT / "docs" / rooms_picture.NAME).read_text() != rooms_picture.picture(ROOT)
    needed_for_release([rooms_picture.NAME] if is_old else [], "run `manage.py makedocs`")


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    chain = {("a", "b"), ("b", "c"), ("d", "c")}
    assert rooms_picture.arrows(chain | {("a", "c")}) == chain


def texts(*patterns: str) -> Iterator[tuple[str, str]]:
    """Names and texts of the pages of docs that match, and of the two at the top."""
    matching = [path for pattern in patterns for path in sorted(DOCS.glob(pattern))]
    for path in (ROOT / "README.md", ROOT / "SECURITY.md", *matching):
        yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")


def wide_lines(text: str) -> list[int]:
    """Numbers of the lines that are too long; rows of tables, code blocks and single URLs may be."""
    numbers = []
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        is_free = is_code or line.startswith(("|", "    ")) or "://" in line.rpartition(" ")[2]
        if len(line) > MOST_CHARACTERS and not is_free:
            numbers.append(number)
    return numbers


def test_every_page_is_in_the_index_once() -> None:
    listed = Counter(ENTRY.findall(INDEX.read_text("utf-8")))
    pages = {path.name for path in DOCS.glob("*.md")} - {INDEX.name}
    assert {name: listed[name] for name in sorted(pages) if listed[name] != 1} == {}, (
        "docs/README.md has each page once"
    )
    assert listed["spec/README.md"] == listed["decisions/"] == 1


def test_no_page_is_too_long() -> None:
    lines = {name: len(text.splitlines()) for name, text in texts("*.md", "[!ds]*/*.md")}
    assert [f"{name}: {count}" for name, count in lines.items() if count > MOST_LINES] == [], "split it"


def test_no_line_is_too_long() -> None:
    wide = {name: wide_lines(text) for name, text in texts("*.md", "decisions/*.md")}
    assert {name: numbers for name, numbers in wide.items() if numbers} == {}, "wrap them"


def test_rows_code_and_addresses_may_be_long() -> None:
    long = "x" * MOST_CHARACTERS
    free = f"| {long} |\n```\n{long} x\n```\n    {long}\nhttps://example.org/{long}\n"
    assert wide_lines(free) == []
    assert wide_lines(f"{free}{long} x\n") == [7]
