"""Messages in the log whose sender got no confirmation."""

_KEPT = 4_096  # flushed ones are dropped beyond this; a store whose flush fails takes no more


class Unanswered:
    """Physical offsets of unconfirmed messages: still waiting, refused after they were stored, or without a sender.

    Most messages are confirmed in the turn of their put, so only the others are kept.  `flushed` is the log's
    durable end: messages below need no confirmation to be safe and are dropped from time to time.
    """

    def __init__(self) -> None:
        self._offsets: dict[int, None] = {}
        self._forgotten_below = 0

    def add(self, offsets: tuple[int, ...], flushed: int) -> None:
        if len(self._offsets) >= _KEPT and flushed > self._forgotten_below:
            self._forgotten_below = flushed
            self._offsets = {offset: None for offset in self._offsets if offset >= flushed}
        self._offsets.update(dict.fromkeys(offsets))

    def answered(self, offsets: tuple[int, ...]) -> None:
        for offset in offsets:
            self._offsets.pop(offset, None)

    def below(self, end: int) -> tuple[int, ...]:
        """Return the offsets before `end`, where a log was truncated: other messages will be written there."""
        return tuple(offset for offset in self._offsets if offset < end)

    def __contains__(self, offset: object) -> bool:
        return offset in self._offsets
