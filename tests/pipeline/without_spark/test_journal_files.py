"""The journal as rows, without Spark: whole lines of the segments, with the types of the events' classes."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from sandbox.journal.events import (
    ALL,
    ActionTaken,
    ClockChanged,
    Entry,
    Event,
    FlowSkipped,
    MemberStateChanged,
    MessagesConsumed,
    OffsetCommitted,
    OffsetsReset,
    SandboxSlept,
)
from sandbox.journal.schema import to_row
from sandbox.journal.segments import segments
from sandbox.kernel.errors import CorruptRecord, StoreError
from sandbox.pipeline.sources.event_types import UnknownEvent, ddl, ddl_of, schema_of
from sandbox.pipeline.sources.journal_files import (
    Chosen,
    batches,
    chosen_of,
    ends_of,
    journals_of,
    pieces_of,
)
from sandbox.pipeline.sources.journal_stream import asked_of, partitions_of
from tests.pipeline.journals import BEGIN_MS, write_journal

COMMIT = OffsetCommitted("g", "orders", "broker-a", 0, 1 << 40, None, "timer", "c-1")
SKIPPED = FlowSkipped(5, 9, (("orders/broker-a/0", 3, 8),), (), (("g orders/broker-a/0", 3, 4),), 2)
MIXED: list[Event] = [
    COMMIT,
    SandboxSlept("idle"),
    SKIPPED,
    ActionTaken("SetRate", {"rate": 2.5, "why": ["ü", None]}, "owner"),
    ClockChanged(0.1, "action", 7),
    MessagesConsumed("g", "c-1", "orders", "broker-a", 0, (1, 2, 5), ("k", "", "l"), (), "SUCCESS", 0, 4, 1, ""),
    MemberStateChanged("g", "c-1", "crashed", (("orders/broker-a/0", ((1, 2), (5, 5))),)),
    OffsetsReset("r-1", "g", "offline", (("orders/broker-a/0", -1, 3),), 0, 4, "why", "owner"),
]


def read(directory: Path, *events: str, name: str = "s") -> list[dict[str, Any]]:
    found = batches(pieces_of({name: directory}), Chosen(events))
    return [row for batch in found for row in batch.to_pylist()]


def test_every_entry_is_a_row_that_holds_its_line(tmp_path: Path) -> None:
    rows = read(write_journal(tmp_path, MIXED))
    assert [(row["sandbox"], row["seq"], row["at_ms"], row["event"]) for row in rows] == [
        ("s", seq, BEGIN_MS + seq * 100, type(event).__name__) for seq, event in enumerate(MIXED)
    ]
    for seq, (row, event) in enumerate(zip(rows, MIXED, strict=True)):
        assert json.loads(row["fields"]) == json.loads(
            orjson.dumps(to_row(Entry(seq, row["at_ms"], None, event), longs_as_text=False))
        )


@pytest.mark.parametrize("event", ALL)
def test_every_event_has_a_schema_of_its_own(event: type[Event]) -> None:
    schema = schema_of([event.__name__])
    assert schema.names == ["sandbox", "seq", "at_ms", "event", *event._fields]
    assert ddl_of(schema).startswith("`sandbox` STRING, `seq` BIGINT, `at_ms` BIGINT, `event` STRING, `")


def test_fields_have_the_types_of_the_classes() -> None:
    schema = schema_of(["MemberStateChanged"])
    runs = "ARRAY<STRUCT<_1: BIGINT, _2: BIGINT>>"
    assert ddl(schema.field("unfinished").type) == f"ARRAY<STRUCT<_1: STRING, _2: {runs}>>"
    assert ddl(schema_of(["ClockChanged"]).field("rate").type) == "DOUBLE"
    assert ddl(schema_of(["LinkChanged"]).field("one_way").type) == "BOOLEAN"
    assert ddl(schema_of(["OffsetCommitted"]).field("previous").type) == "BIGINT"
    assert ddl(schema_of(["ActionTaken"]).field("fields").type) == "STRING"


def test_typed_fields_are_what_was_written(tmp_path: Path) -> None:
    directory = write_journal(tmp_path, MIXED)
    [row] = read(directory, "OffsetCommitted")
    assert row == {"sandbox": "s", "seq": 0, "at_ms": BEGIN_MS, "event": "OffsetCommitted", **COMMIT._asdict()}
    [row] = read(directory, "FlowSkipped")
    assert row["stored"] == [{"_1": "orders/broker-a/0", "_2": 3, "_3": 8}]
    assert (row["pulled"], row["others"]) == ([], 2)
    [row] = read(directory, "ActionTaken")
    assert json.loads(row["fields"]) == {"rate": 2.5, "why": ["ü", None]}
    [row] = read(directory, "MemberStateChanged")
    assert row["unfinished"] == [{"_1": "orders/broker-a/0", "_2": [{"_1": 1, "_2": 2}, {"_1": 5, "_2": 5}]}]
    [row] = read(directory, "MessagesConsumed")
    assert (row["offsets"], row["keys"], row["sharding"]) == ([1, 2, 5], ["k", "", "l"], [])


def test_several_events_share_a_table_and_each_fills_its_own_columns(tmp_path: Path) -> None:
    rows = read(write_journal(tmp_path, MIXED), "OffsetCommitted", "MessagesConsumed")
    commit, consumed = rows
    assert (commit["offset"], commit["offsets"], commit["topic"]) == (1 << 40, None, "orders")
    assert (consumed["offset"], consumed["offsets"], consumed["topic"]) == (None, [1, 2, 5], "orders")


def test_a_name_that_means_two_types_is_a_sentence() -> None:
    with pytest.raises(
        UnknownEvent,
        match=r"previous is STRING in QueueLocked and BIGINT in OffsetCommitted\. Read the events separately\.",
    ):
        schema_of(["QueueLocked", "OffsetCommitted"])
    with pytest.raises(UnknownEvent, match=r"No event Nonsense\. docs/events\.md lists them\."):
        schema_of(["Nonsense"])


def test_a_line_still_being_written_is_no_row_yet(tmp_path: Path) -> None:
    directory = write_journal(tmp_path, MIXED)
    [path] = segments(directory)
    whole = path.read_bytes()
    for cut in (len(whole) - 1, whole.rfind(b"\n", 0, -1) + 2):
        path.write_bytes(whole[:cut])
        assert [row["seq"] for row in read(directory)] == list(range(len(MIXED) - 1))
    path.write_bytes(whole[:20])
    assert read(directory) == []


def test_segments_that_were_dropped_are_missing_rows_and_nothing_else(tmp_path: Path) -> None:
    directory = write_journal(tmp_path, [COMMIT] * 40, segment_bytes=1_000)
    paths = segments(directory)
    planned = pieces_of({"s": directory})
    paths[0].unlink()
    first = int(paths[1].stem)
    assert [row["seq"] for row in read(directory)] == list(range(first, 40))
    seqs = [seq for batch in batches(planned, Chosen()) for seq in batch.column("seq").to_pylist()]
    assert seqs == list(range(first, 40))  # gone between plan and reading: the same


def test_segments_beyond_the_end_that_was_asked_for_are_not_opened(tmp_path: Path) -> None:
    directory = write_journal(tmp_path, [COMMIT] * 40, segment_bytes=1_000)
    firsts = [int(path.stem) for path in segments(directory)]
    pieces = pieces_of({"s": directory}, {"s": firsts[2]})
    assert [int(Path(piece.path).stem) for piece in pieces] == firsts[:2]


def test_short_journals_share_a_task_and_long_ones_are_split(tmp_path: Path) -> None:
    journals = {f"s-{number}": write_journal(tmp_path / str(number), MIXED) for number in range(30)}
    assert len(partitions_of(pieces_of(journals))) == 1
    [piece] = pieces_of({"s": tmp_path / "0"})
    assert [len(task.pieces) for task in partitions_of([piece._replace(end=8 << 20)] * 3)] == [1, 1, 1]


def test_lines_that_are_no_entries_are_named(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.ndjson"
    path.write_bytes(b"hello\n")
    with pytest.raises(CorruptRecord, match=r"0\.ndjson cannot be read: 'hello' is not JSON\."):
        read(tmp_path)
    path.write_bytes(b'{"seq": "x"}\n')
    with pytest.raises(CorruptRecord, match=r"is not a journal: '\{\"seq\": \"x\"\}' is not an entry\."):
        read(tmp_path)
    path.write_bytes(b'{"seq":0,"at_ms":0,"type":"OffsetCommitted","cause":null,"offset":"many"}\n')
    with pytest.raises(CorruptRecord, match="A journal has an invalid value"):
        read(tmp_path, "OffsetCommitted")


def test_an_entry_in_other_clothes_is_an_entry(tmp_path: Path) -> None:
    (tmp_path / f"{0:020}.ndjson").write_bytes(b'{"type": "FromTheFuture", "seq": 3, "at_ms": 9, "more": [1]}\n')
    assert [(row["seq"], row["at_ms"], row["event"]) for row in read(tmp_path)] == [(3, 9, "FromTheFuture")]


def test_lines_of_other_events_may_be_left_out(tmp_path: Path) -> None:
    directory = write_journal(tmp_path, [COMMIT, SKIPPED])
    [batch] = batches(pieces_of({"s": directory}), Chosen(lines_of=frozenset(["FlowSkipped"])))
    assert [row["fields"] is None for row in batch.to_pylist()] == [True, False]


def test_batches_are_of_bounded_length(tmp_path: Path) -> None:
    directory = write_journal(tmp_path, [COMMIT] * 10_000)
    lengths = [batch.num_rows for batch in batches(pieces_of({"s": directory}), Chosen())]
    assert lengths == [8_192, 10_000 - 8_192]


def test_where_journals_are_said_to_be(tmp_path: Path) -> None:
    directory = tmp_path / "pay-1" / "journal"
    directory.mkdir(parents=True)
    assert journals_of({"path": str(directory)}) == {"pay-1": directory}
    assert journals_of({"path": str(directory.parent)}) == {"pay-1": directory.parent}
    assert journals_of({"journals": json.dumps({"a": str(directory)})}) == {"a": directory}
    assert read(directory) == []
    missing = r"No directory .*/nowhere\. Set the journal directory of b\."
    with pytest.raises(StoreError, match=missing):
        journals_of({"journals": json.dumps({"b": str(tmp_path / "nowhere")})})
    with pytest.raises(StoreError, match="No journal"):
        journals_of({})


def test_of_fields_those_named_are_columns_and_the_others_may_disagree(tmp_path: Path) -> None:
    write_journal(tmp_path, MIXED)
    chosen = chosen_of({"events": "MemberStateChanged,QueueDropped", "columns": "state, client_id"})
    found = batches(pieces_of({"s": tmp_path}), chosen)
    assert [row for batch in found for row in batch.to_pylist()] == [
        {
            "sandbox": "s",
            "seq": 6,
            "at_ms": BEGIN_MS + 600,
            "event": "MemberStateChanged",
            "state": "crashed",
            "client_id": "c-1",
        }
    ]
    with pytest.raises(UnknownEvent, match="unfinished"):
        schema_of(("MemberStateChanged", "QueueDropped"))


@pytest.mark.parametrize("name", ["offset", "seq"])
def test_a_column_that_is_no_field_of_the_events_is_named(name: str) -> None:
    with pytest.raises(UnknownEvent, match=f"These events have no field {name}: QueueTaken"):
        schema_of(("QueueTaken",), ("group", name))


def test_columns_without_events_are_of_nothing() -> None:
    with pytest.raises(ValueError, match="needs the option events"):
        chosen_of({"columns": "group"})


def test_a_journal_is_read_up_to_its_end_and_one_without_an_end_not_at_all(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        write_journal(tmp_path / name, MIXED)
    ends = ends_of({"endingOffsets": f'{{"a": 2, "b": {1 << 63}}}'})
    pieces = pieces_of({name: tmp_path / name for name in ("a", "b", "c")}, ends)
    rows = [row for batch in batches(pieces, Chosen(), ends) for row in batch.to_pylist()]
    assert [(row["sandbox"], row["seq"]) for row in rows] == [
        *(("a", seq) for seq in range(2)),
        *(("b", seq) for seq in range(len(MIXED))),
    ]


@pytest.mark.parametrize("text", ["", "4", '{"a": "4"}', '{"a": true}'])
def test_ends_that_are_no_numbers_by_sandbox_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="endingOffsets must be JSON"):
        ends_of({"endingOffsets": text})


def test_a_stream_has_no_end(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a stream has no end"):
        asked_of({"path": str(tmp_path), "endingOffsets": "{}"})
