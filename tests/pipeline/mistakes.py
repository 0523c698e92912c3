"""Typical mistakes of users of the Spark formats, with the line that they read first.

`{store}`, `{journal}` and `{port}` in options are a store with the topic `orders`, whose only queue has ten messages,
a journal, and a port on which nothing listens.
"""

from typing import NamedTuple

ONCE, STREAM, WRITE = "once", "stream", "write"
STORE, JOURNAL, CLUSTER = "rocketmq-store", "rocketmq-journal", "rocketmq"
OPTION = "ROCKETMQ_INVALID_OPTION"


class Mistake(NamedTuple):
    """A read or write that fails.  `says`: the beginning of the sentence.  `columns`: a schema in Spark's DDL."""

    name: str
    form: str
    how: str
    options: dict[str, str]
    condition: str
    says: str
    columns: str | None = None


def of_store(name: str, options: dict[str, str], condition: str, says: str, how: str = ONCE) -> Mistake:
    return Mistake(name, STORE, how, {"path": "{store}", **options}, condition, says)


def of_cluster(name: str, options: dict[str, str], condition: str, says: str, how: str = ONCE) -> Mistake:
    return Mistake(name, CLUSTER, how, options, condition, says)


MISTAKES = (
    Mistake(
        "no path", STORE, ONCE, {}, OPTION, "No store. Set load(DIR), or the option stores as JSON {name: directory}."
    ),
    Mistake(
        "a directory without a store",
        STORE,
        ONCE,
        {"path": "{journal}"},
        "ROCKETMQ_UNREADABLE_FILES",
        "{journal} is not a store: it has no directory commitlog. Choose the store directory of a broker.",
    ),
    of_store("a wrong name", {"topik": "orders"}, OPTION, "No option topik. Did you mean topic? Options are: path"),
    of_store(
        "Kafka's servers",
        {"kafka.bootstrap.servers": "localhost:9092"},
        OPTION,
        "No option kafka.bootstrap.servers. A store is read from files: load(DIR). The format rocketmq reads a",
    ),
    of_store(
        "JSON without quotes",
        {"startingOffsets": "{orders: {0: 5}}"},
        OPTION,
        'Option startingOffsets must be earliest, latest or JSON {topic: {"0": offset}}: ',
    ),
    of_store(
        "an unknown queue",
        {"startingOffsets": '{"order": {"0": 5}}'},
        OPTION,
        "Option startingOffsets names queue 0 of topic order, which does not exist.",
    ),
    of_store(
        "a start past the end",
        {"startingOffsets": '{"orders": {"0": 99}}'},
        "ROCKETMQ_OFFSETS_OUT_OF_RANGE",
        "startingOffsets is 99 for queue 0 of topic orders, which ends at 10. Choose an offset up to 10, or set",
    ),
    of_store(
        "a start past the end of a stream",
        {"startingOffsets": '{"orders": {"0": 99}}'},
        "ROCKETMQ_OFFSETS_OUT_OF_RANGE",
        "startingOffsets is 99 for queue 0 of topic orders, which ends at 10. Choose an offset up to 10, or set",
        STREAM,
    ),
    of_store(
        "a start after the end",
        {"startingOffsets": '{"orders": {"0": 8}}', "endingOffsets": '{"orders": {"0": 3}}'},
        "ROCKETMQ_OFFSETS_OUT_OF_RANGE",
        "startingOffsets is 8 for queue 0 of topic orders, and endingOffsets is 3. Choose a start before the end.",
    ),
    of_store(
        "an unknown topic",
        {"subscribe": "order"},
        "ROCKETMQ_UNKNOWN_TOPIC",
        "No topic order in the store. Did you mean orders?",
    ),
    of_store(
        "a pattern that is none",
        {"subscribePattern": "orders-("},
        OPTION,
        "Option subscribePattern is not a regular expression: missing ), unterminated subpattern at character 8 of",
    ),
    of_store(
        "an unknown column",
        {"columns": "topic,value"},
        OPTION,
        "No column value. Did you mean body? Columns are: topic, queueId",
    ),
    of_store(
        "a date instead of milliseconds",
        {"startingTimestamp": "2026-11-28"},
        OPTION,
        "Option startingTimestamp must be a number of 0 or more, not 2026-11-28.",
    ),
    of_store(
        "a limit of batches without a stream",
        {"maxOffsetsPerTrigger": "5"},
        OPTION,
        "Option maxOffsetsPerTrigger needs a stream: a batch read has no triggers.",
    ),
    of_store(
        "an end of a stream",
        {"endingTimestamp": "5"},
        OPTION,
        "Option endingTimestamp needs a batch read: a stream has no end.",
        STREAM,
    ),
    Mistake(
        "a column of another type",
        STORE,
        ONCE,
        {"path": "{store}"},
        OPTION,
        "Column queueOffset is BIGINT, not STRING. Read it as that type and cast it.",
        "topic STRING, queueOffset STRING",
    ),
    Mistake(
        "an event with a slip",
        JOURNAL,
        ONCE,
        {"path": "{journal}", "events": "OffsetCommited"},
        OPTION,
        "No event OffsetCommited. Did you mean OffsetCommitted? docs/events.md lists them.",
    ),
    of_cluster(
        "Kafka's servers for a cluster",
        {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"},
        OPTION,
        "No option kafka.bootstrap.servers. Set names to the name servers, such as 127.0.0.1:9876.",
    ),
    of_cluster(
        "Kafka's group",
        {"names": "127.0.0.1:{port}", "subscribe": "orders", "groupIdPrefix": "mine"},
        OPTION,
        "No option groupidprefix. The source joins no consumer group and commits no offset. Remove the option.",
        STREAM,
    ),
    of_cluster(
        "a name server that does not run",
        {"names": "127.0.0.1:{port}", "subscribe": "orders"},
        "ROCKETMQ_UNREACHABLE",
        "No name server answers at 127.0.0.1:{port}: ",
    ),
    of_cluster(
        "a write with Kafka's columns",
        {"names": "127.0.0.1:{port}", "topic": "orders"},
        OPTION,
        "A message has no value. Did you mean body? Columns are: body, topic, keys, tags, properties",
        WRITE,
    ),
)
