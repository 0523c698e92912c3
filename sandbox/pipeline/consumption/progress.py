"""Progress, subscriptions and unknown ranges of groups, from journals and the stores' files."""

from typing import TYPE_CHECKING

from sandbox.message.topic_names import RETRY_PREFIX
from sandbox.pipeline.consumption.literal_rows import rows_of
from sandbox.pipeline.consumption.stored_messages import names_of
from sandbox.pipeline.jobs.job import Source
from sandbox.store.reader import StoreReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENTS = (
    "OffsetCommitted",
    "PullAnswered",
    "QueueTaken",
    "SubscriptionChanged",
    "OffsetsReset",
    "FlowSkipped",
    "MemberJoined",
    "MemberStateChanged",
    "MessagesConsumed",
    "SandboxOpened",
)
COLUMNS = (
    "group",
    "topic",
    "broker",
    "queue_id",
    "client_id",
    "offset",
    "code",
    "asked",
    "next_offset",
    "count",
    "start_offset",
    "expression",
    "rows",
    "consumed",
    "pulled",
    "model",
    "offsets",
    "keys",
    "sharding",
)
SQL_SIGNS = r"""[=<>()'"]|\s"""
"""Present in every SQL92 condition and in no tag: SubscriptionChanged does not contain the kind."""

_FACTS = r"""
WITH of_queues AS (
  SELECT sandbox, group, topic, broker, queue_id,
    max_by(offset, seq) FILTER (WHERE event = 'OffsetCommitted') AS commit,
    max(seq) FILTER (WHERE event = 'OffsetCommitted') AS commit_seq,
    min(CASE WHEN event = 'QueueTaken' THEN start_offset
             WHEN event = 'PullAnswered' AND code = 0 THEN asked END) AS begins,  -- 0: FOUND
    bool_or(event = 'MessagesConsumed' AND size(arrays_zip(offsets, keys, sharding)) > 0) AS is_called,
    bool_or(event = 'MemberJoined' AND model = 'BROADCASTING') AS is_broadcasting,
    max(seq) FILTER (WHERE event = 'FlowSkipped') AS skip_seq,
    min(at_ms) AS first_ms, bool_or(event = 'SandboxOpened') AS is_whole
  FROM {heard} GROUP BY sandbox, group, topic, broker, queue_id),
said AS (
  SELECT 'skipped' AS kind, sandbox, substring_index(place, ' ', 1) AS group, substring_index(place, ' ', -1) AS queue,
    first, last, NULL AS seq, NULL AS at_ms
  FROM (SELECT sandbox, inline(concat(consumed, pulled)) AS (place, first, last)
        FROM {heard} WHERE event = 'FlowSkipped')
  UNION ALL
  SELECT 'reset', sandbox, group, place, to, NULL, seq, at_ms
  FROM (SELECT sandbox, group, seq, at_ms, inline(rows) AS (place, from, to)
        FROM {heard} WHERE event = 'OffsetsReset')),
ranges AS (
  SELECT kind, sandbox, group, get(split(queue, '/'), 0) AS topic, get(split(queue, '/'), 1) AS broker,
    try_cast(get(split(queue, '/'), 2) AS BIGINT) AS queue_id, first, last, seq, at_ms
  FROM said
  UNION ALL  -- what became of what external members pulled is not in the journal
  SELECT 'pulled', sandbox, group, topic, broker, queue_id, asked, next_offset - 1, NULL, NULL
  FROM {heard} pulls LEFT ANTI JOIN (SELECT sandbox, client_id FROM {heard} WHERE event = 'MemberStateChanged') ours
    USING (sandbox, client_id)
  WHERE event = 'PullAnswered' AND code = 0 AND count > 0),
reached AS (
  SELECT *, max(last) OVER (
    PARTITION BY sandbox, group, topic, broker, queue_id, kind, seq ORDER BY first, last
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM ranges),
stretches AS (
  SELECT *, count_if(before IS NULL OR first > before + 1) OVER (
    PARTITION BY sandbox, group, topic, broker, queue_id, kind, seq ORDER BY first, last
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS stretch
  FROM reached),
parts AS (
  SELECT sandbox, group, topic, broker, queue_id,
    struct(commit, commit_seq, begins, is_called, is_broadcasting, skip_seq, first_ms, is_whole) AS heard,
    NULL AS stored_offset, NULL AS asked, NULL AS range
  FROM of_queues
  UNION ALL
  SELECT sandbox, group, topic, broker, queue_id, NULL, offset, NULL, NULL
  FROM {offsets}
  UNION ALL
  SELECT sandbox, group, topic, broker, NULL, NULL, NULL, struct(at_ms, expression), NULL
  FROM {heard} WHERE event = 'SubscriptionChanged' AND expression != ''
  UNION ALL
  SELECT sandbox, group, topic, broker, queue_id, NULL, NULL, NULL,
    struct(kind, min(first) AS first, max(last) AS last, seq, min(at_ms) AS at_ms)
  FROM stretches GROUP BY sandbox, group, topic, broker, queue_id, kind, seq, stretch),
facts AS (
  SELECT sandbox, group, topic, broker, queue_id, max(heard) AS heard, max(stored_offset) AS stored_offset,
    min(asked.at_ms) AS since_ms, collect_set(asked.expression) AS expressions,
    collect_list(struct(range.first, range.last)) FILTER (WHERE range.kind = 'pulled') AS pulled,
    collect_list(struct(range.first, range.last)) FILTER (WHERE range.kind = 'skipped') AS skipped,
    collect_list(struct(range.first AS to, range.seq, range.at_ms)) FILTER (WHERE range.kind = 'reset') AS resets
  FROM parts GROUP BY sandbox, group, topic, broker, queue_id)
SELECT sandbox, group, topic, broker, queue_id, heard.begins, since_ms, expressions, pulled, skipped, resets,
  heard.commit_seq IS NOT NULL OR stored_offset IS NOT NULL AS has_offset,
  coalesce(heard.is_called, false) AS is_called,
  coalesce(bool_or(heard.is_broadcasting) OVER (PARTITION BY sandbox, group), false) AS is_broadcasting,
  CASE WHEN heard.commit IS NOT NULL AND coalesce(heard.commit_seq > max(heard.skip_seq) OVER of_sandbox, true)
       THEN heard.commit ELSE coalesce(stored_offset, heard.commit) END AS committed,
  CASE WHEN NOT bool_or(heard.is_whole) OVER of_sandbox THEN min(heard.first_ms) OVER of_sandbox END AS from_ms
FROM facts
WINDOW of_sandbox AS (PARTITION BY sandbox)
"""
_OFFSETS = "sandbox: STRING, group: STRING, topic: STRING, broker: STRING, queue_id: BIGINT, offset: BIGINT"

_GROUPS = r"""
SELECT sandbox, group, topic, since_ms, from_ms,
  transform(nullif(expressions, array()), expression -> struct(
    expression = '*' AS is_all, regexp_replace(expression, r'\s*\|\|\s*', '') RLIKE :sql_signs AS is_sql,
    transform(split(expression, r'\|\|'), tag -> trim(tag)) AS tags)) AS asked
FROM (SELECT sandbox, group, topic, min(since_ms) AS since_ms, max(from_ms) AS from_ms,
        array_distinct(flatten(collect_list(expressions))) AS expressions
      FROM {facts}
      WHERE (has_offset OR is_called OR since_ms IS NOT NULL) AND NOT startswith(topic, :retry_prefix)
      GROUP BY sandbox, group, topic)
"""


def facts(heard: "DataFrame", source: Source) -> "DataFrame":
    """Return one row for each group and queue: sandbox, group, topic, broker, queue_id (null for some rows of groups),

    - `committed`: the journal's last commit; from the broker's file, where the valve was closed since
    - `begins`: the lowest start offset of the group's members
    - `pulled`, `skipped`: ARRAY<STRUCT<first, last>>, both inclusive: offsets pulled by external members, whose
      listeners are unknown, and offsets of pulls or calls that the valve skipped, whose outcome is unknown
    - `resets`: ARRAY<STRUCT<to, seq, at_ms>>
    - `since_ms`, `expressions`: of subscriptions
    - `has_offset`, `is_called`, `is_broadcasting` (of the group)
    - `from_ms`: the start of the sandbox's journal, if its oldest segments are deleted; null for a complete one.
    """
    session = heard.sparkSession
    return session.sql(_FACTS, heard=heard, offsets=rows_of(session, _OFFSETS, _stored_offsets(source)))


def groups(known: "DataFrame") -> "DataFrame":
    """Return the subscriptions: sandbox, group, topic, `since_ms`, `from_ms` and `asked`.

    `asked`: ARRAY<STRUCT<is_all, is_sql, tags>>, one for each expression; null where no broker has them.  Members
    that subscribe to different tags conflict; messages that match none of them are lost, not unwanted.
    """
    return known.sparkSession.sql(_GROUPS, {"sql_signs": SQL_SIGNS, "retry_prefix": RETRY_PREFIX}, facts=known)


def _stored_offsets(source: Source) -> list[tuple[object, ...]]:
    """Return the offsets in each broker's consumerOffset.json, as last written."""
    rows: list[tuple[object, ...]] = []
    for name, (sandbox, broker) in names_of(source).items():
        with StoreReader(source.stores[name]) as store:
            rows += [
                (sandbox, group, topic, broker, queue_id, offset)
                for (topic, group), offsets in store.consumer_offsets().items()
                for queue_id, offset in offsets.items()
            ]
    return rows
