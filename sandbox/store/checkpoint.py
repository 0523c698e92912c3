"""The store times up to which log, queues and index are certainly on disk."""

from struct import Struct
from struct import error as StructError

from sandbox.store.disk import Disk

FILE = "checkpoint"
FILE_BYTES = 4096
MARGIN_MS = 3000  # messages this close before the checkpoint are read again

_TIMES = Struct(">qqq")


class StoreCheckpoint:
    """Three store times in a file of one page.  RocketMQ: `StoreCheckpoint` (spec store-format 6).

    All zero is normal for a new store: recovery then begins at the first file.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.physic_ms = 0  # the last message flushed to the log
        self.logics_ms = 0  # … to its consume queue
        self.index_ms = 0  # … to an index file that is full
        self._written = (0, 0, 0)

    def load(self) -> None:
        """Read the file; a missing or short file reads as zeros."""
        data = self._disk.read(FILE)
        try:
            self.physic_ms, self.logics_ms, self.index_ms = _TIMES.unpack_from(data or b"")
        except StructError:
            self.physic_ms = self.logics_ms = self.index_ms = 0
        self._written = self._times()

    def _times(self) -> tuple[int, int, int]:
        return self.physic_ms, self.logics_ms, self.index_ms

    @property
    def behind(self) -> bool:
        """True if the file is older than the values in memory."""
        return self._written != self._times()

    def write(self) -> None:
        """Write the times to the file; `Disk.sync` makes them durable.  Raises StoreFull."""
        times = self._times()
        self._disk.write(FILE, _TIMES.pack(*times).ljust(FILE_BYTES, b"\0"))
        self._written = times

    @property
    def min_timestamp_ms(self) -> int:
        return max(0, min(self.physic_ms, self.logics_ms) - MARGIN_MS)

    @property
    def min_timestamp_index_ms(self) -> int:
        return min(self.min_timestamp_ms, self.index_ms)
