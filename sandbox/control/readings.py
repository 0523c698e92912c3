"""Values that the engine returns to its readers, and the bell that signals changes."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class Bell(Protocol):
    """Signal of changes.

    `ring` is called on the engine's thread, once per event: it must be very cheap and never raise.
    """

    def ring(self) -> None: ...


class Reading(NamedTuple):
    """Content of one channel, read in one turn: `data`, and `seq` of the newest event at that time.

    `reached_rate`: as in a snapshot.
    """

    seq: int
    at_ms: int
    rate: float
    epoch: str
    data: Mapping[str, Any]
    reached_rate: float | None = None


class Refusal(NamedTuple):
    """Result for a channel that cannot be read.

    `reason`: `asleep`, `waking` (readable soon), `failed`, `stopped` (its broker), `unknown` (no such channel).
    """

    reason: str


class Read(NamedTuple):
    """Result of reading one of several channels, and the seconds that it took."""

    answer: Reading | Refusal
    took_s: float


class Entries(NamedTuple):
    """Page of the journal.  `first_seq`: the oldest existing event; `next_seq`: where the next page starts."""

    first_seq: int
    rows: list[dict[str, Any]]
    next_seq: int


class LookedBack(NamedTuple):
    """Page of journal rows, newest first.

    `before`: where the next page starts, None if no older row is left.  `at_ms`: time of the oldest event searched;
    `first_seq`: the oldest existing event.
    """

    rows: list[dict[str, Any]]
    before: int | None
    at_ms: int | None
    first_seq: int
