"""Options of a cluster reader and the meaning of broker responses: pure functions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.client.admin.messages import PulledBytes
from sandbox.kernel.errors import CorruptRecord, StoreError
from sandbox.message import record
from sandbox.message.message import InboundMessage
from sandbox.message.msg_id import host_bytes
from sandbox.message.queue import MessageQueue
from sandbox.pipeline.rocketmq import RocketMQ
from sandbox.pipeline.sources.cluster_access import Access
from sandbox.pipeline.sources.cluster_offsets import Ends, Range, begins, between, split
from sandbox.pipeline.sources.cluster_options import Pace, asked_of, plain, position_of, schema_of, stream_of
from sandbox.pipeline.sources.cluster_pull import step
from sandbox.pipeline.sources.store_options import ddl_of

HOST = host_bytes("10.0.0.2", 10911)
QUEUE = MessageQueue("T", "broker-a", 0)
FOUND, LATER, GONE, MOVED = 0, 19, 20, 21
NAMES = {"names": "a:9876"}
GOOD = {**NAMES, "subscribe": "T"}


def answer(code: int, next_offset: int, *offsets: int, remark: str = "") -> PulledBytes:
    body = b"".join(
        record.encode(InboundMessage("T", 0, b"x", b"", 0, 0, 0, 1, HOST), offset, offset * 100, 2, HOST)
        for offset in offsets
    )
    return PulledBytes(code, remark, next_offset, 0, 100, body)


@pytest.mark.parametrize(
    ("given_answer", "offsets", "at", "lost_at"),
    [
        (answer(FOUND, 13, 10, 11, 12), [10, 11, 12], 13, None),
        (answer(FOUND, 30, *range(10, 30)), list(range(10, 20)), 20, None),
        (answer(FOUND, 14, 10, 13), [10, 13], 14, 11),
        (answer(FOUND, 15, 10, 11), [10, 11], 15, 12),
        (answer(FOUND, 12, 8, 9, 10, 11), [10, 11], 12, None),
        (answer(GONE, 17, remark="NO_MATCHED_MESSAGE"), [], 17, None),
        (answer(GONE, 17, remark="MESSAGE_WAS_REMOVING"), [], 17, 10),
        (answer(GONE, 90, remark="MESSAGE_WAS_REMOVING"), [], 20, 10),
        (answer(LATER, 15, remark="OFFSET_FOUND_NULL"), [], 15, 10),
        (answer(MOVED, 16, remark="OFFSET_TOO_SMALL"), [], 16, 10),
    ],
)
def test_a_response_has_messages_and_names_the_missing_ones(
    given_answer: PulledBytes, offsets: list[int], at: int, lost_at: int | None
) -> None:
    """To a pull at 10 of what ends at 20."""
    found = step(given_answer, 10, 20)
    assert found is not None
    assert [one.queue_offset for one in found.pulled.records] == offsets
    assert (found.at, found.lost_at) == (at, lost_at)


@pytest.mark.parametrize(
    "given_answer",
    [
        answer(LATER, 10, remark="OFFSET_OVERFLOW_ONE"),
        answer(MOVED, 0, remark="OFFSET_OVERFLOW_BADLY"),
        answer(GONE, 10),
        answer(FOUND, 0, 1, 2),
    ],
)
def test_an_answer_without_progress_is_none(given_answer: PulledBytes) -> None:
    assert step(given_answer, 10, 20) is None


def test_an_answer_that_is_no_sequence_of_records_is_refused() -> None:
    for wrong in (answer(FOUND, 12, 11, 10), answer(FOUND, 11, 10)._replace(body=b"x" * 200)):
        with pytest.raises(CorruptRecord):
            step(wrong, 10, 20)


@given(st.lists(st.integers(0, 50), max_size=6), st.integers(0, 60))
def test_ranges_are_split_without_a_gap_into_parts_of_nearly_one_size(sizes: list[int], least: int) -> None:
    ranges = [Range(QUEUE._replace(queue_id=number), 7, 7 + size) for number, size in enumerate(sizes)]
    parts = split(ranges, least)
    assert [(part.queue, offset) for part in parts for offset in range(part.begin, part.end)] == [
        (one.queue, offset) for one in ranges for offset in range(one.begin, one.end)
    ]
    assert len(parts) == max(len([size for size in sizes if size]), min(least, sum(sizes)))
    assert all(part.size for part in parts)
    divided = [part.size for part in parts if sizes[part.queue.queue_id] > part.size]
    assert all(part.size <= 2 * size + 2 for part in parts for size in divided)


def test_a_batch_of_a_stream_is_read_from_its_checkpoint_alone() -> None:
    other = QUEUE._replace(queue_id=1)
    assert between({QUEUE: 5}, {QUEUE: 9, other: 3}) == [Range(QUEUE, 5, 9), Range(other, 0, 3)]
    assert between({QUEUE: 5}, {QUEUE: 5}) == []
    assert between({QUEUE: 5}, {QUEUE: 3}) == [Range(QUEUE, 0, 3)], "it was created again"
    assert between({QUEUE: 5}, {QUEUE: 3}, is_first=True) == [], "an earlier start of the query had written it down"


def test_only_a_master_proves_that_a_queue_has_become_shorter() -> None:
    """A slave may be behind: the stream keeps its place."""
    assert begins({QUEUE: 10}, {QUEUE: Ends(0, 5, by_master=False)}, fail_on_data_loss=True) == {QUEUE: 10}
    assert begins({QUEUE: 10}, {QUEUE: Ends(2, 5)}, fail_on_data_loss=False) == {QUEUE: 2}
    with pytest.raises(StoreError, match="ends at 5 and has no offset 10"):
        begins({QUEUE: 10}, {QUEUE: Ends(0, 5)}, fail_on_data_loss=True)


def test_offsets_are_written_as_they_are_read() -> None:
    text = {"T": {"broker-a:0": 17, "broker-a:1": -1}, "U": {"b:c:0": -2}}
    assert plain(position_of(text)) == text


def test_options_are_read_and_columns_chosen() -> None:
    asked = stream_of(
        {
            **GOOD,
            "names": "a:1; b:2",
            "accessKey": "k",
            "secretKey": "s",
            "tls": "True",
            "minOffsetsPerTrigger": "5",
            "maxOffsetsPerTrigger": "7",
            "maxTriggerDelay": "2m",
            "startingOffsets": '{"T": {"broker-a:0": 3}}',
        }
    )
    assert asked.access == Access(("a:1", "b:2"), "k", "s", tls=True)
    assert "'s'" not in repr(asked)
    assert (asked.pace, asked.starting) == (Pace(7, 5, 120_000), {QUEUE: 3})
    assert stream_of(GOOD).starting == "latest"
    assert asked_of(GOOD).starting == "earliest"
    assert ddl_of(schema_of({**GOOD, "columns": "broker, body"})) == "broker STRING, body BINARY"
    assert RocketMQ(dict(GOOD)).schema().startswith("topic STRING, broker STRING, queueId INT, queueOffset BIGINT")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {**GOOD, "startingOffset": "latest"},
            "No option startingOffset. Did you mean startingOffsets? Options ",
        ),
        ({**GOOD, "zzz": "red"}, "No option zzz. Options are: names, accessKey"),
        (NAMES, "Set exactly one of subscribe, subscribePattern, assign to choose the topics; none is set."),
        (
            {**GOOD, "assign": "{}"},
            "Set exactly one of subscribe, subscribePattern, assign to choose the topics; su",
        ),
        ({**NAMES, "subscribe": " , "}, "Option subscribe names no topic"),
        ({**NAMES, "subscribePattern": "("}, "Option subscribePattern is not a regular expression: missing )"),
        (
            {**NAMES, "assign": '{"T": [0]}'},
            'Option assign must be JSON {"orders": ["broker-a:0"]}: 0 is no',
        ),
        ({**NAMES, "assign": "{}"}, "Option assign names no queue."),
        ({"subscribe": "T"}, "The option names is missing. Set it to the name servers, such as 127.0.0.1:9876."),
        ({**GOOD, "accessKey": "k"}, "Set both options accessKey and secretKey"),
        ({**GOOD, "tls": "yes"}, "Option tls must be true or false, not yes."),
        ({**GOOD, "startingOffsets": "soon"}, "Option startingOffsets must be earliest, latest or JSON"),
        ({**GOOD, "startingOffsets": '{"T": {"0": 3}}'}, "Option startingOffsets must be earliest, latest or JSON"),
        (
            {**GOOD, "startingOffsets": '{"T": {"a:0": true}}'},
            "Option startingOffsets must be earliest, latest or JSON",
        ),
        ({**GOOD, "startingOffsets": "latest"}, "A batch read begins at earliest and ends at latest, or at offsets"),
        (
            {**GOOD, "endingOffsets": '{"T": {"a:0": -2}}'},
            "A batch read begins at earliest and ends at latest, or at off",
        ),
        (
            {**GOOD, "startingOffsets": "earliest", "startingTimestamp": "1"},
            "Set startingTimestamp or startingOffsets",
        ),
        (
            {**GOOD, "startingTimestamp": "noon"},
            "Option startingTimestamp must be a number of 0 or more, not noon.",
        ),
        (
            {**GOOD, "startingOffsetsByTimestampStrategy": "skip"},
            "Option startingOffsetsByTimestampStrategy must be la",
        ),
        (
            {**GOOD, "maxTriggerDelay": "soon"},
            "Option maxTriggerDelay must be a duration such as 30s, 15m or 1h, not soon",
        ),
        (
            {**GOOD, "minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"},
            "Option minOffsetsPerTrigger (9) is more th",
        ),
        (
            {**GOOD, "maxOffsetsPerTrigger": "5"},
            "Option maxOffsetsPerTrigger needs a stre",
        ),
        ({**GOOD, "minPartitions": "1000000"}, "Option minPartitions is 1000000; the maximum is 100000."),
        ({**GOOD, "columns": "tagsCode"}, "No column tagsCode. Did you mean tags? Columns are: topic, broker, queueId"),
        ({**GOOD, "failOnDataLoss": "no"}, "Option failOnDataLoss must be true or false, not no."),
    ],
)
def test_options_that_make_no_sense_are_refused_in_words(options: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError) as said:
        asked_of(options)
    assert str(said.value).startswith(says)


def test_a_stream_has_no_end() -> None:
    with pytest.raises(ValueError, match=r"^Option endingOffsets needs a batch read: a stream has no end\.$"):
        stream_of({**GOOD, "endingOffsets": json.dumps({"T": {"broker-a:0": 3}})})
