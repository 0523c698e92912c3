"""Every call of a listener, message by message, and the cause of a redelivery, from the journal alone.

A call is an entry MessagesConsumed, which is written at its end, with any outcome; calls still running are not
included.  The engine counts the same causes by itself (`sandbox.cluster.actors.redelivery`).
"""

from typing import TYPE_CHECKING

from sandbox.message.topic_names import RETRY_PREFIX

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENTS = ("MessagesConsumed", "QueueTaken", "QueueDropped", "MemberStateChanged")
COLUMNS = (
    "group",
    "topic",
    "broker",
    "queue_id",
    "client_id",
    "offsets",
    "keys",
    "sharding",
    "outcome",
    "started_ms",
    "state",
)

RETRY, RESET, CRASH, HAND_OVER, UNKNOWN = "retry", "reset", "crash_before_commit", "rebalance_hand_over", "unknown"
SHARED_ID = "shared_client_id"

MEMBER = ("sandbox", "group", "topic", "broker", "queue_id", "client_id")
NO_HOLD = -1

HOLDS = """
marks AS (
  SELECT sandbox, group, topic, broker, queue_id, client_id, seq, at_ms, event,
    -- downwards: what comes after is then a running minimum, which is linear
    min(CASE WHEN event = 'MemberStateChanged' THEN seq END) OVER later AS crash_seq,
    min(CASE WHEN event = 'MemberStateChanged' THEN at_ms END) OVER later AS crash_ms
  FROM {heard}
  WHERE event IN ('QueueTaken', 'QueueDropped') OR (event = 'MemberStateChanged' AND state = 'crashed')
  WINDOW later AS (PARTITION BY sandbox, group, client_id ORDER BY seq DESC
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
ends AS (
  SELECT *, min(CASE WHEN event = 'QueueDropped' THEN seq END) OVER (
    PARTITION BY sandbox, group, topic, broker, queue_id, client_id ORDER BY seq DESC
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS let_go
  FROM marks WHERE event != 'MemberStateChanged'),
holds AS (
  SELECT sandbox, group, topic, broker, queue_id, client_id, seq AS hold, at_ms, let_go,
    CASE WHEN coalesce(let_go > crash_seq, true) THEN crash_seq END AS crash_seq, crash_ms,
    -- another process with its client id had the queue already
    coalesce(lag(least(let_go, crash_seq)) OVER mine > seq, lag(seq) OVER mine IS NOT NULL) AS shared
  FROM ends WHERE event = 'QueueTaken'
  WINDOW mine AS (PARTITION BY sandbox, group, topic, broker, queue_id, client_id ORDER BY seq))
"""
"""Of `heard`: MEMBER, `hold` (the seq of its QueueTaken), at_ms, `let_go` (the seq of its QueueDropped; null: not yet,
or its process crashed), of a hold that a crash ended `crash_seq` and `crash_ms`, and `shared`."""

_CALLS = f"""
WITH {HOLDS},
lines AS (
  SELECT sandbox, group, topic, broker, queue_id, client_id, started_ms AS ms, 1 AS turn, seq, at_ms, outcome,
    arrays_zip(offsets, keys, sharding) AS messages, NULL AS held, NULL AS earlier
  FROM {{heard}} WHERE event = 'MessagesConsumed'
  UNION ALL
  SELECT sandbox, group, topic, broker, queue_id, client_id, at_ms, 0, hold, at_ms, NULL, NULL,
    struct(hold, let_go, at_ms AS since_ms, crash_seq, crash_ms, shared),
    lag(struct(hold, let_go, at_ms AS since_ms, crash_seq, crash_ms, shared)) OVER (
      PARTITION BY sandbox, group, topic, broker, queue_id, client_id ORDER BY hold)
  FROM holds),
-- a call began before it was written: it belongs to the hold in which it began
since AS (
  SELECT *, last(CASE WHEN turn = 0 THEN struct(held, earlier) END, true) OVER (
    PARTITION BY sandbox, group, topic, broker, queue_id, client_id ORDER BY ms, turn, seq
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS newest
  FROM lines),
-- the older hold ended before the call, the newest did not: the call began before that hold, in the same ms
calls AS (
  SELECT sandbox, group, topic, broker, queue_id, client_id, ms AS started_ms, seq, at_ms, outcome,
    CASE WHEN outcome = 'IGNORED' AND newest.held.since_ms = ms AND newest.earlier IS NOT NULL
              AND coalesce(newest.held.let_go > seq, true)
         THEN newest.earlier ELSE newest.held END AS held,
    inline(messages) AS (queue_offset, key, sharding)
  FROM since WHERE turn = 1),
known AS (
  SELECT /*+ BROADCAST(f) */ c.*, coalesce(c.held.hold, :no_hold) AS hold,
    CASE WHEN f.is_broadcasting THEN client_id ELSE '' END AS account, f.resets,
    coalesce(exists(f.skipped, range -> c.queue_offset BETWEEN range.first AND range.last), false) AS is_skipped
  FROM calls c LEFT JOIN {{facts}} f USING (sandbox, group, topic, broker, queue_id)),
numbered AS (
  SELECT *, row_number() OVER (
      PARTITION BY sandbox, group, account, topic, broker, queue_id, queue_offset ORDER BY started_ms, seq) AS number,
    max(struct(hold, started_ms, client_id, held.crash_seq AS crash_seq, held.crash_ms AS crash_ms)) OVER (
      PARTITION BY sandbox, group, account, topic, broker, queue_id, queue_offset ORDER BY started_ms, seq
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
    row_number() OVER (
      PARTITION BY sandbox, group, account, topic, broker, queue_id, queue_offset, client_id, hold
      ORDER BY started_ms, seq) AS in_hold,
    coalesce(held.shared, false) AS is_shared,
    coalesce(bool_or(outcome NOT IN ('LATER', 'FAILED', 'TIMEOUT')) OVER (
      PARTITION BY sandbox, group, account, topic, broker, queue_id, queue_offset ORDER BY started_ms, seq
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), false) AS was_not_refused
  FROM known),
repeated AS (
  SELECT *, number > 1 OR startswith(topic, :retry_prefix) AS again FROM numbered)
SELECT sandbox, group, account, topic, broker, queue_id, queue_offset, seq, at_ms, started_ms, client_id, outcome, key,
  sharding, again,
  CASE WHEN NOT again THEN NULL
       WHEN is_skipped THEN '{UNKNOWN}'
       WHEN number = 1 OR (in_hold > 1 AND NOT is_shared) THEN '{RETRY}'
       WHEN exists(resets, reset -> reset.to <= queue_offset AND reset.seq < repeated.seq
                                    AND reset.at_ms BETWEEN before.started_ms AND started_ms) THEN '{RESET}'
       WHEN is_shared AND before.client_id = client_id AND was_not_refused THEN '{SHARED_ID}'
       WHEN in_hold > 1 THEN '{RETRY}'
       WHEN before.crash_seq < seq AND before.crash_ms <= started_ms THEN '{CRASH}'
       WHEN before.hold = :no_hold THEN '{UNKNOWN}'
       ELSE '{HAND_OVER}' END AS cause
FROM repeated
"""


def holds(heard: "DataFrame") -> "DataFrame":
    """Return the intervals in which a client holds a queue, as the query `HOLDS` computes them.

    `heard` has the events QueueTaken, QueueDropped and MemberStateChanged.
    """
    return heard.sparkSession.sql(f"WITH {HOLDS} SELECT * FROM holds", heard=heard)


def deliveries(heard: "DataFrame", facts: "DataFrame") -> "DataFrame":
    """Return each delivery of a message to a listener.

    Columns: PLACE (of the record), group, account, seq, at_ms, started_ms, client_id, outcome, key, sharding,
    `again`, `cause`.  `again`: the message was delivered before.  `cause` is null for the first delivery.

    `account` is the client id in a broadcasting group, where each member gets all messages; else empty.  `facts`: of
    `progress`.

    Causes: `retry` for the first delivery of a copy and for a second one in one hold (not accepted).  Otherwise a
    reset covered the message since its last delivery, or another process with the client id has the queue too
    (shared_client_id).  Otherwise the process that had the queue crashed, or the queue has a new owner.
    """
    return heard.sparkSession.sql(_CALLS, {"no_hold": NO_HOLD, "retry_prefix": RETRY_PREFIX}, heard=heard, facts=facts)
