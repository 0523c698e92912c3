"""Messages in a group's retry topic: they count as lag, like those in its topics."""

from sandbox.cluster.cluster import Cluster
from sandbox.message.topic_names import retry_topic
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.down_queues import down_row


def retrying(cluster: Cluster, view: GroupView) -> int:
    """Return the number of messages in the retry topic that are not consumed; 0 for a broadcasting group.

    A group without a stored offset begins at the first message.
    """
    if view.model == "BROADCASTING":
        return 0
    count = 0
    for mq in view.all_queues(retry_topic(view.group)):
        if mq.broker in view.down:
            mark = down_row(cluster, view, mq)["down"]
            count += int(mark["lag"] or 0) if mark is not None else 0
        else:
            store = view.masters[mq.broker].store
            count += max(0, store.max_offset(mq.topic, mq.queue_id) - (view.committed(mq) or 0))
    return count
