"""Messages in the log whose sender was not told that they are safe."""

_KEPT = 4_096  # whatever is flushed; beyond that what is not, and a store whose flush fails takes nothing more


class Unanswered:
    """Physical offsets of messages without their OK: still waiting, refused after they were stored, or nobody's.

    Most messages are answered in the turn they are put, so only the others are noted.  `flushed` says how far the
    log survives a power cut: what lies below needs no answer to be safe, and is forgotten sooner or later.
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
        """Those before `end`, where a log was cut: what is written there next is another message."""
        return tuple(offset for offset in self._offsets if offset < end)

    def __contains__(self, offset: object) -> bool:
        return offset in self._offsets
