"""The journal read backwards: memory first, then the files, to the first event there is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.cluster import journal_backwards
from sandbox.cluster.journal_backwards import look_back
from sandbox.control.readings import LookedBack
from sandbox.journal.event_filter import EventFilter, Term
from sandbox.journal.events import ActionTaken, Entry, LocksLost, MessagesStored, OffsetsPersisted
from sandbox.journal.segments import SegmentWriter

KEPT = 10_000  # entries in memory


def entry(seq: int) -> Entry:
    """A crash long ago, one fact among a hundred, and what no one wants to see one by one."""
    if seq == 3:
        return Entry(seq, seq, None, ActionTaken("CrashActor", {"actor": "A"}, "owner"))
    if seq % 100 == 0:
        return Entry(seq, seq, 3 if seq == 100 else None, LocksLost("broker-a", seq))
    if seq % 2:
        return Entry(seq, seq, None, OffsetsPersisted("broker-a", "consumerOffset.json", 8))
    return Entry(seq, seq, None, MessagesStored("T", "b", 0, seq, 1, seq * 100, 100))


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return [entry(seq) for seq in range(25_000)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, entries: list[Entry]) -> Path:
    directory = tmp_path_factory.mktemp("journal")
    writer = SegmentWriter(directory, segment_bytes=256 * 1024)
    for each in entries:
        writer.append(each)
    writer.close()
    return directory


def to_the_end(ask: Callable[[int | None], LookedBack]) -> tuple[list[int], int]:
    """The numbers of all rows, page by page, and how many pages it took."""
    found: list[int] = []
    page, pages = ask(None), 1
    found += [int(row["seq"]) for row in page.rows]
    while page.before is not None:
        page, pages = ask(page.before), pages + 1
        found += [int(row["seq"]) for row in page.rows]
    return found, pages


def test_the_newest_facts_come_first_however_much_else_happened_since(files: Path, entries: list[Entry]) -> None:
    page = look_back(entries[-KEPT:], files, EventFilter("told"), before=None, after=-1, most=6)
    assert [row["seq"] for row in page.rows] == ["24900", "24800", "24700", "24600", "24500", "24400"]


def test_facts_that_are_held_are_found_without_the_files(entries: list[Entry]) -> None:
    """Six facts for the Board's panel, however long ago they were."""
    held = [each for each in entries if each.seq % 100 == 0][-64:]
    page = look_back(entries[-50:], None, EventFilter("told"), before=None, after=-1, most=6, newest=held)
    assert [row["seq"] for row in page.rows] == ["24900", "24800", "24700", "24600", "24500", "24400"]


def test_pages_lead_from_memory_through_the_files_to_the_first_event(files: Path, entries: list[Entry]) -> None:
    found, _ = to_the_end(
        lambda before: look_back(entries[-KEPT:], files, EventFilter("told"), before=before, after=-1, most=40)
    )
    assert found == [*range(24_900, 0, -100), 3, 0], "each once, none left out where memory ends"


@pytest.mark.parametrize(
    "wanted", [EventFilter("actions"), EventFilter("told", (Term("crash"),))], ids=["causes", "search"]
)
def test_a_crash_of_long_ago_is_found(files: Path, entries: list[Entry], wanted: EventFilter) -> None:
    found, _ = to_the_end(lambda before: look_back(entries[-KEPT:], files, wanted, before=before, after=-1, most=40))
    assert found == [3]


def test_after_a_kill_the_files_alone_give_the_same(files: Path, entries: list[Entry]) -> None:
    ask = [look_back(memory, files, EventFilter("all"), before=12_346, after=-1, most=5) for memory in ([], entries)]
    assert [row["seq"] for row in ask[0].rows] == ["12345", "12344", "12343", "12342", "12341"]
    assert ask[0] == ask[1], "rows of files look as those of memory"


def test_one_page_looks_at_a_bounded_part_of_the_files_and_says_how_far_it_came(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_backwards, "LOOK_BYTES", 100_000)
    page = look_back([], files, EventFilter("told", (Term("zebra"),)), before=None, after=-1, most=40)
    assert page.rows == []
    assert page.before is not None
    assert 23_000 < page.before < 25_000
    assert page.at_ms == page.before
    found, pages = to_the_end(
        lambda before: look_back([], files, EventFilter("actions"), before=before, after=-1, most=40)
    )
    assert found == [3]
    assert pages > 10


def test_a_page_ends_where_the_reader_knows_what_is_older(files: Path, entries: list[Entry]) -> None:
    page = look_back(entries[-KEPT:], files, EventFilter("told"), before=24_900, after=24_600, most=40)
    assert [row["seq"] for row in page.rows] == ["24800", "24700"]
    assert page.before is None


def test_what_was_trimmed_is_the_end_and_is_named(files: Path, entries: list[Entry], tmp_path: Path) -> None:
    kept = sorted(files.glob("*.ndjson"))[2:]
    for path in kept:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    found, _ = to_the_end(lambda before: look_back([], tmp_path, EventFilter("all"), before=before, after=-1, most=500))
    first = int(kept[0].stem)
    assert found[-1] == first > 0
    assert look_back([], tmp_path, EventFilter("told"), before=None, after=-1, most=1).first_seq == first


def test_a_line_no_one_can_read_hides_nothing_older(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path)
    for each in (entry(0), entry(100)):
        writer.append(each)
    writer.close()
    [path] = tmp_path.glob("*.ndjson")
    path.write_bytes(path.read_bytes() + b"\0" * 40 + b"\n")
    assert [row["seq"] for row in look_back([], tmp_path, EventFilter("told"), before=None, after=-1, most=9).rows] == [
        "100",
        "0",
    ]


def test_an_empty_journal_has_no_rows_and_no_end_to_reach(tmp_path: Path) -> None:
    assert look_back([], tmp_path, EventFilter("told"), before=None, after=-1, most=40) == LookedBack([], None, None, 0)
    assert look_back([], None, EventFilter("told"), before=None, after=-1, most=40) == LookedBack([], None, None, 0)
