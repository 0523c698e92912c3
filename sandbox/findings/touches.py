"""Names that relate a finding to its cause: both touch one group, member, queue, topic or broker."""

from sandbox.findings.view import ClusterView, QueueAt


def of_group(group: str) -> frozenset[str]:
    return frozenset({f"group {group}"})


def of_member(group: str, key: str) -> frozenset[str]:
    return frozenset({f"group {group}", f"member {key}"})


def of_queue(group: str, queue: QueueAt) -> frozenset[str]:
    """Return the names of a group's queue, with its broker."""
    return frozenset(
        {f"group {group}", f"queue {queue.topic}/{queue.name}", f"topic {queue.topic}", f"broker {queue.broker}"}
    )


def of_topic(topic: str) -> frozenset[str]:
    return frozenset({f"topic {topic}"})


def of_topic_queue(view: ClusterView, topic: str, queue: str) -> frozenset[str]:
    """Return the names of a topic's queue, with the groups that read the topic."""
    groups = {f"group {group.name}" for group in view.groups.values() if topic in group.topics}
    return frozenset({f"topic {topic}", f"queue {topic}/{queue}", *groups})


def of_broker(broker: str) -> frozenset[str]:
    return frozenset({f"broker {broker}"})
