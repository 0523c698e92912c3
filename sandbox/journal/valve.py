"""Valve of the journal: above a rate limit, flow events are stored as ranges instead of one by one."""

from sandbox.journal.events import Event, FlowSkipped, MessagesConsumed, MessagesStored, PullAnswered

Ranges = dict[str, tuple[int, int]]

REOPEN_AFTER_S = 1.0  # without events over the limit for this long, the valve opens again


class Valve:
    """Rate limit of flow events; while closed, it merges them into the ranges of one `FlowSkipped`."""

    def __init__(self, per_s: int | None) -> None:
        self._per_s = per_s  # None: never closes (courses have a message limit instead)
        self._second = 0.0
        self._count = 0
        self._from_ms = 0
        self.closed = False
        self._stored: Ranges = {}
        self._pulled: Ranges = {}
        self._consumed: Ranges = {}
        self._others = 0

    def admits(self, event: Event, now_s: float, now_ms: int) -> bool:
        """Return True if this flow event may be written; if not, its range has been recorded."""
        if self._per_s is None:
            return True
        if now_s - self._second >= REOPEN_AFTER_S:
            if self.closed and self._count <= self._per_s:
                self.closed = False
            self._second, self._count = now_s, 0
        self._count += 1
        if self._count > self._per_s and not self.closed:
            self.closed, self._from_ms = True, now_ms
        if self.closed:
            self._note(event)
        return not self.closed

    @property
    def held_from_ms(self) -> int | None:
        """Time from which skipped events are held that no `FlowSkipped` contains yet; None if there are none."""
        return self._from_ms if self._stored or self._pulled or self._consumed or self._others else None

    def take_skipped(self, now_ms: int) -> FlowSkipped | None:
        """Return and clear the skipped ranges, once the valve is open again; None if there are none."""
        if self.closed or self.held_from_ms is None:
            return None
        return self.drain(now_ms)

    def drain(self, now_ms: int) -> FlowSkipped | None:
        """Return and clear the ranges skipped so far, in any state of the valve; None if there are none."""
        if self.held_from_ms is None:
            return None
        skipped = FlowSkipped(
            self._from_ms, now_ms, _rows(self._stored), _rows(self._pulled), _rows(self._consumed), self._others
        )
        self._stored, self._pulled, self._consumed, self._others = {}, {}, {}, 0
        self._from_ms = now_ms
        return skipped

    def _note(self, event: Event) -> None:
        if isinstance(event, MessagesStored):
            _widen(self._stored, _key(event), event.first_offset, event.first_offset + event.count - 1)
        elif isinstance(event, PullAnswered):
            if event.next_offset > event.asked:
                _widen(self._pulled, f"{event.group} {_key(event)}", event.asked, event.next_offset - 1)
        elif isinstance(event, MessagesConsumed):
            if event.offsets:
                _widen(self._consumed, f"{event.group} {_key(event)}", min(event.offsets), max(event.offsets))
        else:
            self._others += 1


def _key(event: MessagesStored | PullAnswered | MessagesConsumed) -> str:
    return f"{event.topic}/{event.broker}/{event.queue_id}"


def _widen(ranges: Ranges, key: str, first: int, last: int) -> None:
    known = ranges.get(key)
    ranges[key] = (first, last) if known is None else (min(known[0], first), max(known[1], last))


def _rows(ranges: Ranges) -> tuple[tuple[str, int, int], ...]:
    return tuple((key, first, last) for key, (first, last) in sorted(ranges.items()))
