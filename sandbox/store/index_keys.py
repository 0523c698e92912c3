"""Index entries to add, as columns: one list per field, so that C loops run over them."""

from collections.abc import Iterable
from typing import Self


class IndexKeys:
    """Hash, physical offset and store time of each entry, in the order of the log."""

    __slots__ = ("hashes", "physicals", "times")

    def __init__(self, hashes: Iterable[int] = (), physicals: Iterable[int] = (), times: Iterable[int] = ()) -> None:
        self.hashes = list(hashes)
        self.physicals = list(physicals)
        self.times = list(times)

    def __len__(self) -> int:
        return len(self.hashes)

    def add(self, key_hash: int, physical: int, store_ms: int) -> None:
        self.hashes.append(key_hash)
        self.physicals.append(physical)
        self.times.append(store_ms)

    def part(self, start: int, stop: int | None = None) -> Self:
        return type(self)(self.hashes[start:stop], self.physicals[start:stop], self.times[start:stop])

    def in_log_order(self, below: int | None = None) -> Self:
        """Return the entries sorted by log position; those of one message keep their order.

        `below`: only entries of records before this position.
        """
        rows = zip(self.physicals, self.hashes, self.times, strict=True)
        kept = sorted((row for row in rows if below is None or row[0] < below), key=lambda row: row[0])
        return type(self)((row[1] for row in kept), (row[0] for row in kept), (row[2] for row in kept))
