"""Lost parts of the log, so that all units and entries that point there become one finding and not a thousand."""

from bisect import bisect_right
from typing import NamedTuple

FOREVER = (1 << 63) - 1


class Lost(NamedTuple):
    """Parts of the commit log that are missing.

    `stretches`: `[from, to)` ranges of the log without records, ascending.  `log_end`: end of the last record.
    `named`: (topic, queue id, queue offset) of units that have a finding already.
    """

    stretches: tuple[tuple[int, int], ...]
    log_end: int
    named: frozenset[tuple[str, int, int]]

    def stretch_of(self, physical: int) -> int | None:
        """Return the start of the lost part that contains this position, or None."""
        index = bisect_right(self.stretches, (physical, FOREVER)) - 1
        return self.stretches[index][0] if index >= 0 and physical < self.stretches[index][1] else None
