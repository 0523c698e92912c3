"""Values that the engine gives its readers, and the bell that signals news."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class Bell(Protocol):
    """`ring` is called on the engine's thread, once per event: it must be very cheap and never raise."""

    def ring(self) -> None: ...


class Reading(NamedTuple):
    """One channel, read in one turn: `data` is its content, `seq` the newest event at that time.

    `reached_rate`: as in a snapshot.
    """

    seq: int
    at_ms: int
    rate: float
    epoch: str
    data: Mapping[str, Any]
    reached_rate: float | None = None


class Refusal(NamedTuple):
    """A channel that cannot be read: `asleep`, `waking` (in a moment), `failed`, `unknown` (there is none)."""

    reason: str


class Read(NamedTuple):
    """One of several channels, and the seconds that reading took."""

    answer: Reading | Refusal
    took_s: float


class Entries(NamedTuple):
    """A page of the journal.  `first_seq`: the oldest there is; `next_seq`: where the next page starts."""

    first_seq: int
    rows: list[dict[str, Any]]
    next_seq: int


class LookedBack(NamedTuple):
    """Rows, newest first.  `before`: where the next page starts, None when nothing older is left; `at_ms`: time of the
    oldest event searched; `first_seq`: the oldest there is.
    """

    rows: list[dict[str, Any]]
    before: int | None
    at_ms: int | None
    first_seq: int
