"""The messages of all stores, and which of them are copies for a retry.

A failed message is stored again: delayed in SCHEDULE_TOPIC_XXXX, then in the group's retry topic, at last in its dead
letters.  Each copy names its origin: by the offset id where the broker made it, by the unique key where the client sent
it itself (spec broker-behaviour 2.2, client-behaviour 8).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.message.properties import ORIGIN_MESSAGE_ID, REAL_TOPIC, UNIQ_KEY
from sandbox.message.topic_names import DEAD_LETTER_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC, SYSTEM_PREFIX, SYSTEM_TOPICS
from sandbox.pipeline.jobs.job import Source
from sandbox.pipeline.sealed.reading import messages
from sandbox.store.reader import StoreReader

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

COLUMNS = ("topic", "queueId", "queueOffset", "physicalOffset", "keys", "tags", "properties", "bornTimestamp",
           "storeTimestamp", "storeHost")
QUEUE = ("sandbox", "topic", "broker", "queue_id")
PLACE = (*QUEUE, "queue_offset")


def names_of(source: Source) -> dict[str, tuple[str, str]]:
    """Store → its sandbox and its broker: `payments-1/broker-a`; the slave `broker-a.1` has the messages of `broker-a`.

    A store alone is a sandbox and a broker of its own; with one journal, a broker of that sandbox.
    """
    alone = next(iter(source.journals)) if len(source.journals) == 1 else None
    found = {}
    for name in source.stores:
        sandbox, slash, node = name.rpartition("/")
        if slash or alone is not None:
            found[name] = sandbox or str(alone), _broker_of(node)
        else:
            found[name] = name, name
    return found


def stored_messages(session: "SparkSession", source: Source, sealed: Mapping[str, Path]) -> "DataFrame":
    """Every message once: PLACE, offset_id, unique_key, keys, tags, properties, born_ms, store_ms, and of a copy
    `origin` (an offset id or a unique key) and `copy_of` (its group).

    Only messages stored when the run starts: the journals' entries for later ones may not be read.
    """
    from pyspark.sql import functions as f

    named = names_of(source)
    rows = messages(session, source.stores, sealed, COLUMNS, named=True)
    names = session.createDataFrame([(name, *parts, end_of(source.stores[name])) for name, parts in named.items()],
                                    "store STRING, sandbox STRING, broker STRING, end BIGINT")
    properties = f.col("properties")
    group_topic = f.when(f.col("topic") == SCHEDULE_TOPIC, properties[REAL_TOPIC]).otherwise(f.col("topic"))
    found = rows.join(f.broadcast(names), "store").where(f.col("physicalOffset") < f.col("end")).select(
        "sandbox", "topic", "broker", f.col("queueId").cast("bigint").alias("queue_id"),
        f.col("queueOffset").alias("queue_offset"), offset_id(f.col("storeHost"), f.col("physicalOffset")),
        properties[UNIQ_KEY].alias("unique_key"), "keys", "tags", "properties",
        f.col("bornTimestamp").alias("born_ms"), f.col("storeTimestamp").alias("store_ms"),
        properties[ORIGIN_MESSAGE_ID].alias("origin"),
        f.when(f.col("topic").startswith(DEAD_LETTER_PREFIX), f.substring_index("topic", DEAD_LETTER_PREFIX, -1))
        .when(group_topic.startswith(RETRY_PREFIX), f.substring_index(group_topic, RETRY_PREFIX, -1))
        .alias("copy_of"))
    if len(set(named.values())) < len(named):
        found = found.dropDuplicates(list(PLACE))
    return found


def end_of(root: Path) -> int:
    """The current end of a store's log."""
    with StoreReader(root) as reader:
        return reader.max_physical_offset()


def originals(stored: "DataFrame") -> "DataFrame":
    """Messages sent by applications, in the topics of their consumers."""
    from pyspark.sql import functions as f

    topic = f.col("topic")
    return stored.where(f.col("copy_of").isNull() & ~topic.isin(*SYSTEM_TOPICS) & ~topic.startswith(SYSTEM_PREFIX))


def copies(stored: "DataFrame") -> "DataFrame":
    """Every copy with its origin: PLACE, group, `kind` (retry, delayed, dead) and origin_topic, origin_broker,
    origin_queue_id, origin_offset; a copy whose origin is deleted is left out.
    """
    from pyspark.sql import functions as f

    made = stored.where(f.col("copy_of").isNotNull() & f.col("origin").isNotNull()).select(
        *PLACE, f.col("copy_of").alias("group"), f.col("origin").alias("id"),
        f.when(f.col("topic") == SCHEDULE_TOPIC, "delayed").when(f.col("topic").startswith(RETRY_PREFIX), "retry")
        .otherwise("dead").alias("kind"))
    first = originals(stored).select(
        "sandbox", f.explode(f.array_distinct(f.array("offset_id", "unique_key"))).alias("id"),
        f.col("topic").alias("origin_topic"), f.col("broker").alias("origin_broker"),
        f.col("queue_id").alias("origin_queue_id"), f.col("queue_offset").alias("origin_offset"))
    # a producer's retry stores a unique key twice: the copy's origin is ambiguous, and one is enough
    return made.join(first, ["sandbox", "id"]).drop("id").dropDuplicates(list(PLACE))


def offset_id(host: "Column", physical_offset: "Column") -> "Column":
    """As `message.msg_id` makes it, for IPv4 hosts; null for others."""
    from pyspark.sql import functions as f

    port = f.substring_index(host, ":", -1).cast("int")
    parts = f.split(f.substring_index(host, ":", 1), r"\.")
    address = f.concat_ws("", f.transform(parts, lambda part: f.lpad(f.hex(part.cast("int")), 2, "0")))
    found = f.concat(address, f.lpad(f.hex(port), 8, "0"), f.lpad(f.hex(physical_offset), 16, "0"))
    return f.when(f.size(parts) == 4, found).alias("offset_id")


def _broker_of(node: str) -> str:
    name, dot, number = node.rpartition(".")
    return name if dot and number.isdigit() else node
