"""Breaks of the order: messages that a group accepted after a later message."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BREAKS = """
WITH first AS (
  SELECT sandbox, group, account, origin_topic, origin_broker, origin_queue_id, origin_offset, min(seq) AS seq,
    min_by(sharding, seq) AS sharding
  FROM {calls} WHERE outcome = 'SUCCESS'
  GROUP BY sandbox, group, account, origin_topic, origin_broker, origin_queue_id, origin_offset),
asked AS (
  SELECT *, posexplode(array(NULL, nullif(sharding, ''))) AS (scope, key) FROM first),
compared AS (
  SELECT *, max(origin_offset) OVER (
    PARTITION BY sandbox, group, account, origin_topic, origin_broker, origin_queue_id, scope, key
    ORDER BY seq, origin_offset ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS after_offset
  FROM asked WHERE scope = 0 OR key IS NOT NULL)
SELECT sandbox, group, origin_topic AS topic, concat_ws(':', origin_broker, origin_queue_id) AS queue, key,
  origin_offset AS queue_offset, after_offset, seq
FROM compared WHERE after_offset > origin_offset
"""


def order_breaks(calls: "DataFrame") -> "DataFrame":
    """Return the messages whose first acceptance came after that of a later message.

    `calls` has origins, as `verdicts.with_origin` adds them.  A row with a null `key` concerns the whole queue.  A
    second acceptance is no break: that is a duplicate.
    """
    return calls.sparkSession.sql(_BREAKS, calls=calls)
