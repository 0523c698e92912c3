"""The consume queue units of one queue by queue offset, as they are on disk now (spec store-format 4)."""

from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.store.config import CONSUME_QUEUE_UNIT_BYTES as UNIT_BYTES
from sandbox.store.config import FILLER_BYTES
from sandbox.store.reader_files import FileRun, OpenFiles
from sandbox.store_columns.queue_positions import UNIT, Longs

UNITS_AT_ONCE = 65_536
BLOCK = 2_048  # units compared together to find the end of a queue
NEWEST = 64  # units checked for one beyond the log's end

EXT_LIMIT = -0x8000_0001  # a tags code up to here is an address (RocketMQ: `ConsumeQueueExt.MAX_ADDR`)
_EXT_BEGIN = -(1 << 63)
_EXT = Struct(">hqq")  # size, tags code, store time; a bit map follows


class QueueUnits:
    """The units of one consume queue.  During the audit files may be deleted at the front and grow at the end.

    `file_bytes`: the length of a file that is missing or cut; 0 for that of the queue's first one.
    """

    def __init__(self, root: Path, topic: str, queue_id: int, opened: OpenFiles, file_bytes: int = 0) -> None:
        self.topic, self.queue_id, self._file_bytes = topic, queue_id, file_bytes
        self.run = FileRun(root / "consumequeue" / topic / str(queue_id), opened)
        self._ext = FileRun(root / "consumequeue_ext" / topic / str(queue_id), opened)
        self.first = self.run.start // UNIT_BYTES
        self.end = self._end()

    def at(self, offsets: Longs) -> NDArray[Any]:
        """Return the units at these ascending offsets; zeros where the files have none."""
        result = np.zeros(len(offsets), UNIT)
        cuts = np.flatnonzero(np.diff(offsets) > UNITS_AT_ONCE) + 1
        for part in np.split(np.arange(len(offsets)), cuts):
            if len(part):
                low = int(offsets[part[0]])
                units = self.stretch(low, int(offsets[part[-1]]) + 1)
                inside = part[offsets[part] - low < len(units)]
                result[inside] = units[offsets[inside] - low]
        return result

    def stretch(self, start: int, stop: int) -> NDArray[Any]:
        """Return the units of `[start, stop)`, with zeros where a file between is missing.

        Fewer at the end of all files.
        """
        start, stop = max(0, start), min(stop, self.run.end // UNIT_BYTES)
        pieces: list[NDArray[Any]] = []
        while start < stop:
            file = self.run.find(start * UNIT_BYTES)
            data = self.run.read(start * UNIT_BYTES, (stop - start) * UNIT_BYTES) if file is not None else b""
            count = len(data) // UNIT_BYTES
            if count == 0:
                following = [file.start // UNIT_BYTES for file in self.run.files if file.start // UNIT_BYTES > start]
                count = min([*following, stop]) - start
                pieces.append(np.zeros(count, UNIT))
            else:
                pieces.append(np.frombuffer(data, UNIT, count))
            start += count
        return np.concatenate(pieces) if pieces else np.zeros(0, UNIT)

    def newest(self) -> NDArray[Any]:
        """Return up to `NEWEST` of the last units."""
        return self.stretch(max(self.first, self.end - NEWEST), self.end)

    def leads_to(self, code: int, tags_code: int) -> bool:
        """Return True if `code` is the address of an extension unit of this queue that has this tags code.

        Return True also for an address that was deleted with the first files, which RocketMQ allows.
        """
        if code > EXT_LIMIT or not self._ext.files:
            return False
        position = code - _EXT_BEGIN
        data = self._ext.read(position, _EXT.size)
        return position < self._ext.start or (len(data) == _EXT.size and _EXT.unpack(data)[1] == tags_code)

    def has_dropped(self, offset: int) -> bool:
        """Return True if the file of this queue offset was deleted after the files were listed."""
        self.run.refresh()
        return offset * UNIT_BYTES < self.run.start

    def file_of(self, offset: int) -> tuple[str, int]:
        """Return the path, within the store, of the file of this queue offset, and the byte in it.

        A missing file has the path that it would have.
        """
        position = offset * UNIT_BYTES
        file = self.run.find(position)
        start = file.start if file is not None else self._start_of(position)
        return f"consumequeue/{self.topic}/{self.queue_id}/{start:020}", position - start

    def _end(self) -> int:
        """Return the queue offset after the last written unit; units of zeros may precede that one."""
        for file in reversed(self.run.files):
            first, room = file.start // UNIT_BYTES, (file.end - file.start) // UNIT_BYTES
            low, high = 0, -(-room // BLOCK)  # the first empty block
            while low < high:
                middle = (low + high) // 2
                block = self.stretch(first + middle * BLOCK, min(first + room, first + (middle + 1) * BLOCK))
                low, high = (middle + 1, high) if (block["size"] > 0).any() else (low, middle)
            if low:
                block = self.stretch(first + (low - 1) * BLOCK, min(first + room, first + low * BLOCK))
                return first + (low - 1) * BLOCK + int(np.flatnonzero(block["size"] > 0)[-1]) + 1
        return self.first

    def first_real(self) -> int:
        """Return the first queue offset whose unit is no filler, or the end of the queue."""
        for start in range(self.first, self.end, BLOCK):
            real = np.flatnonzero(self.stretch(start, min(self.end, start + BLOCK))["size"] != FILLER_BYTES)
            if len(real):
                return start + int(real[0])
        return self.end

    def _start_of(self, position: int) -> int:
        """Return the start of the file that would contain this byte of the queue."""
        size = self._file_bytes or (self.run.files[0].size_bytes if self.run.files else 0)
        return position - position % size if size else 0
