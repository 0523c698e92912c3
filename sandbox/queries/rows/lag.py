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

import re
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


def deleted_lag(row: Mapping[str, object]) -> int:
    """Return the messages of `row_lag` that are below the queue's min offset: retention deleted them.

    >>> deleted_lag({"min": "290", "max": "357", "committed": "37"})
    253
    """
    low, lag = row.get("min"), row_lag(row)
    if low is None or lag is None:
        return 0
    return max(0, min(lag, lag - (int(str(row["max"])) - int(str(low)))))


def deleted_unread(row: Mapping[str, object]) -> int:
    """Return the messages of `deleted_lag` that no member has: neither finished nor in its memory.

    A group without a committed offset has lost none: where it begins is up to its members.
    """
    if row.get("committed") is None or not deleted_lag(row):
        return 0
    read = [int(str(at)) for at in (row["committed"], row.get("in_memory")) if at is not None]
    if row.get("cells") and row.get("cells_from") is not None:
        counts = re.findall(r"(\d*)[dpb]", str(row["cells"]))
        read.append(int(str(row["cells_from"])) + sum(int(count or 1) for count in counts))
    cached = row.get("cached")
    if isinstance(cached, Mapping):
        read.append(int(cached["max"]) + 1)
    return max(0, int(str(row["min"])) - max(read))
