"""Messages of a queue that a group has not consumed, as RocketMQ counts them.

GET_CONSUME_STATS (208, 4.9.8 `AdminBrokerProcessor.getConsumeStats`) answers for each read queue of a topic its max
offset and the stored offset, and 0 where none is stored, whatever the queue's min offset is.  mqadmin's difference
is max less that, so a queue without a stored offset counts whole.

Topics: for a request with the group alone (`consumerProgress`) a broker counts the topics in which it stores an
offset of the group, without those to which no online member subscribes.  For a request with group and topic it
counts that topic.  If a group has no offset in a topic at any broker and no member that subscribes, the topic is in
no answer of `consumerProgress` (an empty answer is its error 206).  No message waits for such a group, so its lag
there is unknown (None), not the length of the queues.
"""

from collections.abc import Mapping


def row_lag(row: Mapping[str, object]) -> int | None:
    """Return the messages between the offset that counts and the end; below 0 if more is committed than stored.

    `row`: with `max`, `committed` and `from_zero`. None: the queue's end is unknown, or the group has no offset in it.

    >>> row_lag({"max": "10", "committed": "4"}), row_lag({"max": "10", "committed": None, "from_zero": True})
    (6, 10)
    >>> row_lag({"max": "10", "committed": None}), row_lag({"max": None, "committed": "4"})
    (None, None)
    """
    high, committed = row.get("max"), row.get("committed")
    if committed is None and row.get("from_zero"):
        committed = "0"
    if high is None or committed is None:
        return None
    return int(str(high)) - int(str(committed))
