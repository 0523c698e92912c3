"""The origin of each topic, from the journal: `topics.json` does not store it."""

from sandbox.journal.events import Entry, TopicChanged, TopicReverted

ORIGINS_KEPT = 4_096


class TopicOrigins:
    """`of(topic, broker)`: cluster, broker, automatic, retry or dead_letter; None for topics that existed before.

    `kept` is plain JSON, `topic/broker` → origin; saved over sleep.
    """

    def __init__(self, kept: dict[str, str]) -> None:
        self.kept = kept

    def note(self, entry: Entry) -> None:
        """Take a fact.  A change of an existing topic leaves its origin alone."""
        event = entry.event
        if isinstance(event, TopicReverted) and event.write_queues is None:
            self.kept.pop(f"{event.topic}/{event.broker}", None)
        if not isinstance(event, TopicChanged):
            return
        key = f"{event.topic}/{event.broker}"
        if event.how == "deleted":
            self.kept.pop(key, None)
        elif len(self.kept) < ORIGINS_KEPT:
            self.kept.setdefault(key, event.how)

    def of(self, topic: str, broker: str) -> str | None:
        return self.kept.get(f"{topic}/{broker}")
