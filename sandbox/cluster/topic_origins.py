"""How each topic came to be: `topics.json` does not say, the journal does."""

from sandbox.journal.events import Entry, TopicChanged

ORIGINS_KEPT = 4_096


class TopicOrigins:
    """`of(topic, broker)`: cluster, broker, automatic, retry or dead_letter; None for what was there before us.

    `kept` is plain JSON, `topic/broker` → how; the sandbox remembers it over sleep.
    """

    def __init__(self, kept: dict[str, str]) -> None:
        self.kept = kept

    def note(self, entry: Entry) -> None:
        """Hear a fact.  A change of a topic that exists leaves its origin alone."""
        event = entry.event
        if not isinstance(event, TopicChanged):
            return
        key = f"{event.topic}/{event.broker}"
        if event.how == "deleted":
            self.kept.pop(key, None)
        elif len(self.kept) < ORIGINS_KEPT:
            self.kept.setdefault(key, event.how)

    def of(self, topic: str, broker: str) -> str | None:
        return self.kept.get(f"{topic}/{broker}")
