"""Options of the source `rocketmq`, named as the Kafka source names them; every error is one sentence."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from sandbox.kernel import json_bytes
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import matches
from sandbox.pipeline.sources.batch_limits import PACE, Pace, no_pace, pace_of
from sandbox.pipeline.sources.cluster_access import ACCESS, Access, access_of
from sandbox.pipeline.sources.cluster_rows import SCHEMA
from sandbox.pipeline.sources.option_hints import OF_CLUSTER
from sandbox.pipeline.sources.option_values import MIN_PARTITIONS, check_names, is_strict, least_partitions, listed
from sandbox.pipeline.sources.source_columns import INCLUDE_HEADERS, with_headers
from sandbox.pipeline.sources.store_offsets import EARLIEST, LATEST
from sandbox.pipeline.sources.store_options import fields_in, named_columns
from sandbox.pipeline.sources.time_bounds import FROM_TIME, TO_TIME, Bounds, bounds_of, no_ends
from sandbox.pipeline.sources.topic_pattern import PATTERN, pattern_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

TOPICS = ("subscribe", PATTERN, "assign")
NAMES = (
    *ACCESS,
    *TOPICS,
    "columns",
    "startingOffsets",
    "endingOffsets",
    *FROM_TIME,
    *TO_TIME,
    INCLUDE_HEADERS,
    *PACE,
    MIN_PARTITIONS,
    "failOnDataLoss",
)
Offsets = dict[MessageQueue, int]


class Chosen(NamedTuple):
    """The chosen queues: all of these topics, all of topics whose whole name matches the pattern, or just `queues`."""

    topics: tuple[str, ...] = ()
    pattern: "re.Pattern[str] | None" = None
    queues: frozenset[MessageQueue] | None = None

    def matches(self, topic: str) -> bool:
        """Return True if the pattern matches the topic."""
        assert self.pattern is not None
        return matches(self.pattern, topic)

    def has(self, queue: MessageQueue) -> bool:
        """Return True if the queue is chosen, given that its topic is."""
        return self.queues is None or queue in self.queues

    def includes(self, queue: MessageQueue) -> bool:
        """Return True if a queue of any topic is chosen."""
        return (
            self.matches(queue.topic) if self.pattern is not None else (queue.topic in self.topics and self.has(queue))
        )


class Asked(NamedTuple):
    """The parsed options of the source."""

    access: Access
    chosen: Chosen
    columns: list[str]
    starting: str | Offsets
    ending: str | Offsets
    times: Bounds
    pace: Pace
    min_partitions: int
    fail_on_data_loss: bool


def schema_of(options: Mapping[str, str]) -> pa.Schema:
    """Return the columns that the options choose.  Raises ValueError for an unknown option or column."""
    check_names(options, NAMES, OF_CLUSTER)
    return pa.schema([SCHEMA.field(name) for name in _columns(None, options)])


def asked_of(options: Mapping[str, str], schema: "StructType | None" = None) -> Asked:
    """Return the parsed options of a batch read.  Raises ValueError."""
    asked = _asked(options, schema, "earliest")
    no_pace(options)
    late = isinstance(asked.starting, dict) and LATEST in asked.starting.values()
    early = isinstance(asked.ending, dict) and EARLIEST in asked.ending.values()
    if asked.starting == "latest" or asked.ending == "earliest" or late or early:
        raise ValueError("A batch read begins at earliest and ends at latest, or at offsets in JSON.")
    return asked


def stream_of(options: Mapping[str, str], schema: "StructType | None" = None) -> Asked:
    """Return the parsed options of a stream.  Raises ValueError."""
    no_ends(options)
    return _asked(options, schema, "latest")


def _asked(options: Mapping[str, str], schema: "StructType | None", starting: str) -> Asked:
    check_names(options, NAMES, OF_CLUSTER)
    return Asked(
        access_of(options),
        chosen_of(options),
        _columns(schema, options),
        offsets_of(options, "startingOffsets", starting),
        offsets_of(options, "endingOffsets", "latest"),
        bounds_of(options, position_of, '{"orders": {"broker-a:0": time}}'),
        pace_of(options),
        least_partitions(options),
        is_strict(options),
    )


def chosen_of(options: Mapping[str, str]) -> Chosen:
    """Return the queues that one of the three options chooses.  Raises ValueError unless exactly one is set."""
    names = [name for name in TOPICS if name in options]
    if len(names) != 1:
        problem = " and ".join(names) + " are set" if names else "none is set"
        raise ValueError(f"Set exactly one of {', '.join(TOPICS)} to choose the topics; {problem}.")
    if names == ["subscribe"]:
        if topics := tuple(sorted(set(listed(options, "subscribe")))):
            return Chosen(topics)
        raise ValueError("Option subscribe names no topic. Write topics, separated by commas.")
    if names == ["assign"]:
        queues = frozenset(_assigned(options["assign"]))
        return Chosen(tuple(sorted({queue.topic for queue in queues})), None, queues)
    return Chosen(pattern=pattern_of(options[PATTERN]))


def offsets_of(options: Mapping[str, str], option: str, default: str) -> str | Offsets:
    """Return the value of an option: `earliest`, `latest` or offsets by queue.  Raises ValueError."""
    text = options.get(option, default).strip()
    if text in ("earliest", "latest"):
        return text
    try:
        return position_of(json_bytes.loads(text))
    except ValueError as error:
        raise ValueError(
            f'Option {option} must be earliest, latest or JSON {{"orders": {{"broker-a:0": 17}}}}: {error}.'
        ) from None


def position_of(value: Any) -> Offsets:
    """Return offsets by queue from JSON `{topic: {"broker-a:0": offset}}`.  Raises ValueError for another shape."""
    offsets: Offsets = {}
    for topic, queues in _table(value):
        for name, offset in _table(queues):
            if not isinstance(offset, int) or isinstance(offset, bool) or offset < EARLIEST:
                raise ValueError(f"queue {name} of topic {topic} has the invalid offset {offset}")
            offsets[_queue(topic, name)] = offset
    return offsets


def plain(offsets: Mapping[MessageQueue, int]) -> dict[str, dict[str, int]]:
    """Return the offsets as JSON values, in a fixed order; the inverse of `position_of`."""
    topics: dict[str, dict[str, int]] = {}
    for queue, offset in sorted(offsets.items()):
        topics.setdefault(queue.topic, {})[queue.row] = offset
    return topics


def _assigned(text: str) -> list[MessageQueue]:
    """Return the queues of option `assign`.  Raises ValueError.

    Queues are named with their broker, because every broker has a queue 0.
    """
    try:
        queues = [_queue(topic, name) for topic, names in _table(json_bytes.loads(text)) for name in _list(names)]
    except ValueError as error:
        raise ValueError(f'Option assign must be JSON {{"orders": ["broker-a:0"]}}: {error}.') from None
    if not queues:
        raise ValueError("Option assign names no queue.")
    return queues


def _queue(topic: str, name: Any) -> MessageQueue:
    broker, _, number = name.rpartition(":") if isinstance(name, str) else ("", "", "")
    if not broker or not (number.isascii() and number.isdigit()):
        raise ValueError(f"{name} is not a queue; write it with its broker, such as broker-a:0")
    return MessageQueue(topic, broker, int(number))


def _columns(schema: "StructType | None", options: Mapping[str, str]) -> list[str]:
    if schema is not None:
        return fields_in(schema, SCHEMA)
    return with_headers(named_columns(listed(options, "columns"), SCHEMA), SCHEMA, options)


def _table(value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise ValueError(f"{value} is not an object")
    return list(value.items())


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{value} is not a list")
    return value
