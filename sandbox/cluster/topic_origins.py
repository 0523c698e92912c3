"""Origin of each topic, from the journal, because `topics.json` does not store it."""

from sandbox.journal.events import Entry, TopicChanged, TopicReverted

ORIGINS_KEPT = 4_096


class TopicOrigins:
    """Origins of topics.  `of(topic, broker)`: cluster, broker, automatic, retry or dead_letter; None if unknown.

    A topic's origin is unknown if the topic existed before.  `kept` is plain JSON, `topic/broker` → origin, saved
    over sleep.
    """

    def __init__(self, kept: dict[str, str]) -> None:
        self.kept = kept

    def note(self, entry: Entry) -> None:
        """Update the origins from a journal entry.  A change of an existing topic does not change its origin."""
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
