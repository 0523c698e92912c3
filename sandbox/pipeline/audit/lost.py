"""What the log has lost, so that units and entries leading there are one finding and not a thousand."""

from bisect import bisect_right
from typing import NamedTuple

FOREVER = (1 << 63) - 1


class Lost(NamedTuple):
    """`stretches`: ascending `[from, to)` of the log without records.  `log_end`: where its last record ends.

    `named`: queue places that have a finding already.
    """

    stretches: tuple[tuple[int, int], ...]
    log_end: int
    named: frozenset[tuple[str, int, int]]

    def stretch_of(self, physical: int) -> int | None:
        """Where the stretch begins that has this position."""
        index = bisect_right(self.stretches, (physical, FOREVER)) - 1
        return self.stretches[index][0] if index >= 0 and physical < self.stretches[index][1] else None
