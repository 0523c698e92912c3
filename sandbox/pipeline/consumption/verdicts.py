"""The verdict on each message and group, from the tables of stores and journals."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Evidence(NamedTuple):
    """The input tables of the verdicts, made by `stored_messages`, `deliveries` and `progress`."""

    stored: "DataFrame"
    copies: "DataFrame"
    calls: "DataFrame"
    facts: "DataFrame"
    groups: "DataFrame"


_WITH_ORIGIN = """
SELECT calls.*, coalesce(origin_topic, topic) AS origin_topic, coalesce(origin_broker, broker) AS origin_broker,
  coalesce(origin_queue_id, queue_id) AS origin_queue_id, coalesce(origin_offset, queue_offset) AS origin_offset
FROM {calls} calls LEFT JOIN (
  SELECT * EXCEPT (is_heard, kind) FROM {copies} WHERE kind = 'retry') made
  USING (sandbox, group, topic, broker, queue_id, queue_offset)
"""

_MESSAGES = """
-- all messages a group reads or could read: each original once per group of its topic, and the copies
WITH records AS (
  SELECT /*+ BROADCAST(groups) */ sandbox, topic, broker, queue_id, queue_offset, group, is_heard, 'original' AS kind,
    topic AS origin_topic, broker AS origin_broker, queue_id AS origin_queue_id, queue_offset AS origin_offset,
    coalesce(unique_key, offset_id) AS message_id, coalesce(keys, '') AS keys, store_ms,
    exists(asked, one -> CASE WHEN one.is_all THEN true WHEN one.is_sql THEN NULL
                              ELSE array_contains(one.tags, coalesce(tags, '')) END) AS wanted,
    since_ms, from_ms
  FROM {stored} JOIN {groups} groups USING (sandbox, topic) WHERE is_original
  UNION ALL
  SELECT sandbox, topic, broker, queue_id, queue_offset, group, is_heard, kind, origin_topic, origin_broker,
    origin_queue_id, origin_offset, NULL, NULL, NULL, NULL, NULL, NULL
  FROM {copies}),
outcomes AS (
  SELECT sandbox, topic, broker, queue_id, queue_offset, group, count(*) AS calls, count_if(again) AS repeats,
    min(CASE WHEN again THEN struct(started_ms, seq, cause) END) AS first_repeat,
    max(struct(seq, outcome)) AS last_call, bool_or(outcome = 'SUCCESS') AS accepted, min(started_ms) AS first_ms,
    max(at_ms) AS last_ms, min(seq) AS first_seq, max(seq) AS last_seq
  FROM {calls} GROUP BY sandbox, topic, broker, queue_id, queue_offset, group),
known AS (
  SELECT /*+ BROADCAST(facts) */ records.*, outcomes.* EXCEPT (sandbox, topic, broker, queue_id, queue_offset, group),
    begins, coalesce(queue_offset < committed, false) AS passed,
    coalesce(exists(pulled, range -> queue_offset BETWEEN range.first AND range.last), false) AS pulled,
    coalesce(exists(skipped, range -> queue_offset BETWEEN range.first AND range.last), false) AS skipped
  FROM records
    LEFT JOIN outcomes USING (sandbox, topic, broker, queue_id, queue_offset, group)
    LEFT JOIN {facts} facts USING (sandbox, topic, broker, queue_id, group)),
seen AS (
  SELECT *, calls IS NULL AND kind IN ('original', 'retry') AND (pulled OR (NOT is_heard AND passed)) AS handed
  FROM known),
message AS (
  SELECT sandbox, group, origin_topic, origin_broker, origin_queue_id, origin_offset, bool_or(is_heard) AS is_heard,
    max(message_id) AS message_id, max(keys) AS keys, max(store_ms) AS store_ms, max(wanted) AS wanted,
    max(since_ms) AS since_ms, max(from_ms) AS from_ms, max(CASE WHEN kind = 'original' THEN begins END) AS begins,
    bool_or(kind = 'original' AND passed) AS passed,
    coalesce(sum(calls), 0) AS calls, coalesce(sum(repeats), 0) AS repeats, min(first_repeat) AS first_repeat,
    max(last_call) AS last_call, max(accepted) AS accepted, min(first_ms) AS first_ms, max(last_ms) AS last_ms,
    min(first_seq) AS first_seq, max(last_seq) AS last_seq, max(skipped) AS skipped, count_if(handed) AS handed,
    count_if(kind = 'delayed') AS put_off, count_if(kind = 'retry') AS copies,
    count_if(kind = 'retry' AND calls IS NULL AND NOT handed) AS copies_open
  FROM seen GROUP BY sandbox, group, origin_topic, origin_broker, origin_queue_id, origin_offset
  HAVING message_id IS NOT NULL),
judged AS (
  SELECT *,
    CASE WHEN repeats > 0 OR handed > 1 THEN 'duplicate'
         WHEN is_heard AND (skipped OR coalesce(store_ms < from_ms, false)) THEN 'unknown'
         WHEN calls > 0 AND last_call.outcome != 'SUCCESS' AND (NOT passed OR copies_open > 0 OR put_off > copies)
         THEN 'waiting'
         WHEN calls > 0 AND accepted THEN 'once'
         WHEN calls > 0 THEN 'lost'
         WHEN handed > 0 THEN 'handed_over'
         WHEN NOT passed THEN 'waiting'
         WHEN wanted IS NULL THEN 'unknown'
         ELSE 'lost' END AS verdict
  FROM message
  -- the group should have had it: it got it, or it subscribed at that time, or had started before it
  WHERE calls > 0 OR handed > 0 OR NOT is_heard OR (
    coalesce(wanted, true)
    AND (since_ms IS NULL OR begins IS NULL OR store_ms >= since_ms OR origin_offset >= begins)))
SELECT sandbox, group, origin_topic AS topic, concat_ws(':', origin_broker, origin_queue_id) AS queue,
  origin_offset AS queue_offset, message_id, keys, verdict,
  CASE WHEN verdict = 'duplicate' THEN coalesce(first_repeat.cause, 'retry') END AS cause,
  calls + handed AS deliveries, first_ms, last_ms, first_seq, last_seq
FROM judged
"""

_SUMMARY = """
SELECT sandbox, group, topic, verdict, cause, count(*) AS messages, min(last_seq) AS example_seq
FROM {messages} GROUP BY sandbox, group, topic, verdict, cause
"""

_REPEATS = """
SELECT sandbox, group, origin_topic AS topic, concat_ws(':', origin_broker, origin_queue_id) AS queue,
  origin_offset AS queue_offset, cause, started_ms AS at_ms, seq
FROM {calls} WHERE again
"""


def with_origin(calls: "DataFrame", made: "DataFrame") -> "DataFrame":
    """Return the calls with the columns ORIGIN: the record's place, or for a copy that of its origin.

    A copy whose origin is deleted counts as its own origin.
    """
    return calls.sparkSession.sql(_WITH_ORIGIN, calls=calls, copies=made)


def messages_of(evidence: Evidence) -> "DataFrame":
    """Return the table `messages` of the delivery audit."""
    return evidence.stored.sparkSession.sql(_MESSAGES, **evidence._asdict())


def summary_of(messages: "DataFrame") -> "DataFrame":
    """Return the table `summary` of the delivery audit."""
    return messages.sparkSession.sql(_SUMMARY, messages=messages)


def repeats_of(calls: "DataFrame") -> "DataFrame":
    """Return the table `repeats` of the delivery audit; `calls` has origins."""
    return calls.sparkSession.sql(_REPEATS, calls=calls)
