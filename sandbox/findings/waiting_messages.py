"""Messages of a sandbox that wait by order: delayed ones, retries, and half messages."""

from collections import defaultdict

from sandbox.cluster.cluster import Cluster
from sandbox.findings.delayed import DelayedMessage, DelayedMessages
from sandbox.findings.view import RetriedMessage, Waiting
from sandbox.message.topic_names import RETRY_PREFIX
from sandbox.queries.transactions import open_transactions

MOST_ATTEMPTS = 16  # which clients send with each message they send back (`getMaxReconsumeTimes`)


class WaitingMessages:
    """Reads each delayed message once, over the looks of one cluster."""

    def __init__(self) -> None:
        self._brokers: dict[str, DelayedMessages] = {}

    def copy(self) -> "WaitingMessages":
        made = WaitingMessages()
        made._brokers = {name: known.copy() for name, known in self._brokers.items()}
        return made

    def look(self, cluster: Cluster) -> tuple[Waiting | None, dict[str, list[RetriedMessage]] | None]:
        """Return what waits, and the retries by group.  None: not all messages are read yet."""
        running = {node.name: node.running for node in cluster.nodes.masters()}
        self._brokers = {
            name: known
            if (known := self._brokers.get(name)) is not None and known.broker is broker
            else DelayedMessages(broker)
            for name, broker in running.items()
        }
        messages = [message for known in self._brokers.values() for message in known.look()]
        if not all(known.complete for known in self._brokers.values()):
            return None, None
        return _waiting(cluster, messages), _retries(messages)


def _waiting(cluster: Cluster, messages: list[DelayedMessage]) -> Waiting:
    delayed: dict[str, int] = defaultdict(int)
    until_ms: dict[str, int] = {}
    for message in messages:
        if not message.topic.startswith(RETRY_PREFIX):
            delayed[message.topic] += 1
            until_ms[message.topic] = min(message.due_ms, until_ms.get(message.topic, message.due_ms))
    half = open_transactions(cluster)
    return Waiting(dict(delayed), until_ms, len(half), half[0][1].born_ms if half else None)


def _retries(messages: list[DelayedMessage]) -> dict[str, list[RetriedMessage]]:
    retries: dict[str, list[RetriedMessage]] = defaultdict(list)
    for message in messages:
        if message.topic.startswith(RETRY_PREFIX):
            group = message.topic.removeprefix(RETRY_PREFIX)
            retries[group].append(
                RetriedMessage(message.key, message.topic, message.attempts, MOST_ATTEMPTS, message.due_ms)
            )
    return dict(retries)
