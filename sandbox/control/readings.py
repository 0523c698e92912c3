"""What crosses from the engine to its readers: plain values, and a bell for news."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class Bell(Protocol):
    """`ring` is called on the engine's thread, once per event: it must cost next to nothing and never raise."""

    def ring(self) -> None: ...


class Reading(NamedTuple):
    """One board, read in one turn: `data` is what the channel shows, `seq` the newest event then."""

    seq: int
    at_ms: int
    rate: float
    epoch: str
    data: Mapping[str, Any]


class Refusal(NamedTuple):
    """A board that cannot be read: `asleep`, `waking` (in a moment), `failed`, `unknown` (there is none)."""

    reason: str


class Read(NamedTuple):
    """One of several boards, and how long reading it took."""

    answer: Reading | Refusal
    took_s: float


class Entries(NamedTuple):
    """A piece of the journal.  `first_seq`: the oldest there is; `next_seq`: ask from here on."""

    first_seq: int
    rows: list[dict[str, Any]]
    next_seq: int


class LookedBack(NamedTuple):
    """Rows newest first.  `before`: ask on from here, None when nothing older is left; `at_ms`: when the oldest event
    that was looked at happened; `first_seq`: the oldest there is.
    """

    rows: list[dict[str, Any]]
    before: int | None
    at_ms: int | None
    first_seq: int
