"""The messages of all stores, and those of them that are copies for a retry.

A failed message is stored again: delayed in SCHEDULE_TOPIC_XXXX, then in the group's retry topic, at last in its
dead letters.  Each copy names its origin: by the offset id if the broker made the copy, by the unique key if the
client sent it (spec broker-behaviour 2.2, client-behaviour 8).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.message.properties import ORIGIN_MESSAGE_ID, REAL_TOPIC, UNIQ_KEY
from sandbox.message.topic_names import DEAD_LETTER_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC, SYSTEM_PREFIX, SYSTEM_TOPICS
from sandbox.pipeline.consumption.literal_rows import rows_of
from sandbox.pipeline.jobs.job import Source
from sandbox.pipeline.sealed.reading import messages
from sandbox.pipeline.spark.small_runs import gathered
from sandbox.store.reader import StoreReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (
    "topic",
    "queueId",
    "queueOffset",
    "physicalOffset",
    "keys",
    "tags",
    "properties",
    "bornTimestamp",
    "storeTimestamp",
    "storeHost",
)
QUEUE = ("sandbox", "topic", "broker", "queue_id")
PLACE = (*QUEUE, "queue_offset")
ORIGIN = ("origin_topic", "origin_broker", "origin_queue_id", "origin_offset")

_NAMES = "store: STRING, sandbox: STRING, broker: STRING, end: BIGINT, is_heard: BOOLEAN"
_STORED = r"""
WITH parts AS (
  SELECT /*+ BROADCAST(names) */ *, split(substring_index(storeHost, ':', 1), r'\.') AS address,
    CASE WHEN topic = :schedule THEN properties[:real_topic] ELSE topic END AS group_topic
  FROM {rows} JOIN {names} names USING (store) WHERE physicalOffset < end),
found AS (
  SELECT *,
    CASE WHEN startswith(topic, :dead_prefix) THEN substring_index(topic, :dead_prefix, -1)
         WHEN startswith(group_topic, :retry_prefix) THEN substring_index(group_topic, :retry_prefix, -1) END AS copy_of
  FROM parts)
SELECT sandbox, topic, broker, CAST(queueId AS BIGINT) AS queue_id, queueOffset AS queue_offset,
  -- as `message.msg_id` makes it, for IPv4 hosts
  CASE WHEN size(address) = 4 THEN concat(
    array_join(transform(address, part -> lpad(hex(CAST(part AS INT)), 2, '0')), ''),
    lpad(hex(CAST(substring_index(storeHost, ':', -1) AS INT)), 8, '0'), lpad(hex(physicalOffset), 16, '0'))
  END AS offset_id,
  properties[:unique_key] AS unique_key, keys, tags, bornTimestamp AS born_ms, storeTimestamp AS store_ms, is_heard,
  copy_of IS NULL AND NOT array_contains(split(:system_topics, ','), topic) AND NOT startswith(topic, :system_prefix)
    AS is_original,
  properties[:origin] AS origin, copy_of
FROM found
"""

_COPIES = """
WITH made AS (
  SELECT *, origin AS id,
    CASE WHEN topic = :schedule THEN 'delayed' WHEN startswith(topic, :retry_prefix) THEN 'retry'
         ELSE 'dead' END AS kind
  FROM {stored} WHERE copy_of IS NOT NULL AND origin IS NOT NULL),
first AS (
  SELECT sandbox, explode(array_distinct(array(offset_id, unique_key))) AS id,
    struct(topic, broker, queue_id, queue_offset) AS place
  FROM {stored} WHERE is_original),
-- a producer's retry stores a unique key twice: the copy's origin is ambiguous, and one is enough
found AS (
  SELECT sandbox, topic, broker, queue_id, queue_offset, copy_of AS group, is_heard, kind, min(place) AS place
  FROM made JOIN first USING (sandbox, id)
  GROUP BY ALL)
SELECT sandbox, topic, broker, queue_id, queue_offset, group, is_heard, kind, place.topic AS origin_topic,
  place.broker AS origin_broker, place.queue_id AS origin_queue_id, place.queue_offset AS origin_offset
FROM found
"""


def names_of(source: Source) -> dict[str, tuple[str, str]]:
    """Return (sandbox, broker) of each store by its name, such as `payments-1/broker-a`.

    The slave `broker-a.1` has the messages of `broker-a`.  A store without a sandbox in its name is a sandbox and a
    broker of its own; with exactly one journal it is a broker of that sandbox.
    """
    alone = next(iter(source.journals)) if len(source.journals) == 1 else None
    names = {}
    for name in source.stores:
        sandbox, slash, node = name.rpartition("/")
        if slash or alone is not None:
            names[name] = sandbox or str(alone), _broker_of(node)
        else:
            names[name] = name, name
    return names


def stored_messages(session: "SparkSession", source: Source, sealed: Mapping[str, Path]) -> "DataFrame":
    """Return every message of the stores once.

    Columns: PLACE, offset_id, unique_key, keys, tags, born_ms, store_ms, `is_heard` (its sandbox has a journal),
    `is_original` (sent by an application, in the topic of its consumers); of a copy also `origin` (an offset id or a
    unique key) and `copy_of` (its group).

    Only messages stored when the run starts are included: the journals' entries for later ones may not be read.
    """
    named = names_of(source)
    names = rows_of(
        session,
        _NAMES,
        [
            (name, sandbox, broker, end_of(source.stores[name]), sandbox in source.journals)
            for name, (sandbox, broker) in named.items()
        ],
    )
    rows = gathered(messages(session, source.stores, sealed, COLUMNS, named=True))
    stored = session.sql(
        _STORED,
        {
            "unique_key": UNIQ_KEY,
            "origin": ORIGIN_MESSAGE_ID,
            "real_topic": REAL_TOPIC,
            "schedule": SCHEDULE_TOPIC,
            "retry_prefix": RETRY_PREFIX,
            "dead_prefix": DEAD_LETTER_PREFIX,
            "system_prefix": SYSTEM_PREFIX,
            "system_topics": ",".join(SYSTEM_TOPICS),
        },
        rows=rows,
        names=names,
    )
    return stored.dropDuplicates(list(PLACE)) if len(set(named.values())) < len(named) else stored


def end_of(root: Path) -> int:
    """Return the current end position of a store's log."""
    with StoreReader(root) as reader:
        return reader.max_physical_offset()


def copies(stored: "DataFrame") -> "DataFrame":
    """Return every copy with its origin: PLACE, group, `is_heard`, `kind` (retry, delayed, dead) and ORIGIN.

    Copies whose origin is deleted are left out.
    """
    return stored.sparkSession.sql(_COPIES, {"schedule": SCHEDULE_TOPIC, "retry_prefix": RETRY_PREFIX}, stored=stored)


def _broker_of(node: str) -> str:
    name, dot, number = node.rpartition(".")
    return name if dot and number.isdigit() else node
