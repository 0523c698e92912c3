"""Lost parts of the log, so that units and entries pointing there are one finding and not a thousand."""

from bisect import bisect_right
from typing import NamedTuple

FOREVER = (1 << 63) - 1


class Lost(NamedTuple):
    """`stretches`: ascending `[from, to)` of the log without records.  `log_end`: end of its last record.

    `named`: queue places that have a finding already.
    """

    stretches: tuple[tuple[int, int], ...]
    log_end: int
    named: frozenset[tuple[str, int, int]]

    def stretch_of(self, physical: int) -> int | None:
        """Start of the part that contains this position."""
        index = bisect_right(self.stretches, (physical, FOREVER)) - 1
        return self.stretches[index][0] if index >= 0 and physical < self.stretches[index][1] else None
