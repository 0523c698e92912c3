"""Right answers that several labs read from the evidence: counts, fields of entries, seconds between entries.

`count_of(evidence.deliveries_of(group))`, `field_of(last(evidence.of(CrashRepeated)), "count")`.
"""

from collections.abc import Collection
from typing import Any, Protocol

from sandbox.labs.evidence import Seen
from sandbox.labs.lab import Truth
from sandbox.labs.verdict import Numbered


class Timed(Numbered, Protocol):
    """Row of the journal with its time."""

    @property
    def at_ms(self) -> int: ...


def count_of(rows: Collection[Numbered]) -> Truth:
    """Return the number of rows; the answer rests on all of them."""
    return Truth(float(len(rows)), tuple(row.seq for row in rows))


def field_of(entry: Seen[Any] | None, name: str) -> Truth:
    """Return a number of an entry's event; 0 while there is no entry."""
    return Truth(0.0) if entry is None else Truth(float(getattr(entry.event, name)), (entry.seq,))


def seconds_between(first: Timed | None, second: Timed | None) -> Truth:
    """Return the seconds from an entry to a later one; 0 while one is missing."""
    if first is None or second is None:
        return Truth(0.0)
    return Truth((second.at_ms - first.at_ms) / 1000, (first.seq, second.seq))
