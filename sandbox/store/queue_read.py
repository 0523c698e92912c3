"""Reads of a consume queue: messages for a pull, offset by time."""

from collections.abc import Mapping

from sandbox.message import properties as names
from sandbox.message import record
from sandbox.message.filter import MessageFilter
from sandbox.store.commit_log import CommitLog
from sandbox.store.config import CONSUME_QUEUE_UNIT_BYTES as UNIT_BYTES
from sandbox.store.config import MessageStoreConfig
from sandbox.store.consume_queue import ConsumeQueue, iter_units
from sandbox.store.mapped_file import MappedFile
from sandbox.store.results import GetMessageStatus, GetResult

_SCAN_BYTES = 16_000  # of queue entries in one read, or 20 per requested message if that is more


class QueueReader:
    """Reads of all queues.  RocketMQ: `DefaultMessageStore.getMessage`, `ConsumeQueue.getOffsetInQueueByTime`."""

    def __init__(
        self, config: MessageStoreConfig, log: CommitLog, queues: Mapping[tuple[str, int], ConsumeQueue]
    ) -> None:
        self._config = config
        self._log = log
        self._queues = queues
        self._in_memory_bytes = config.in_memory_bytes

    def on_disk(self, physical_offset: int) -> bool:
        """Return True if a record is so far behind the log's end that RocketMQ assumes it is swapped out."""
        return self._log.max_offset - physical_offset > self._in_memory_bytes

    def get(
        self, topic: str, queue_id: int, offset: int, max_messages: int, message_filter: MessageFilter | None
    ) -> GetResult:
        """Return the result of a pull: one row of the table in spec broker-behaviour 3.2."""
        queue = self._queues.get((topic, queue_id))
        if queue is None or queue.max_offset == 0:
            return GetResult(GetMessageStatus.NO_MESSAGE_IN_QUEUE, 0, 0, 0)
        low, high = queue.min_offset, queue.max_offset
        if offset < low:
            return GetResult(GetMessageStatus.OFFSET_TOO_SMALL, low, low, high)
        if offset == high:
            return GetResult(GetMessageStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
        if offset > high:
            return GetResult(GetMessageStatus.OFFSET_OVERFLOW_BADLY, high, low, high)
        units = queue.units_from(offset, max(_SCAN_BYTES, max_messages * UNIT_BYTES))
        if units is None:
            return GetResult(GetMessageStatus.OFFSET_FOUND_NULL, queue.next_file_offset(offset), low, high)
        scan = _Scan(self._config, self._log, max_messages, message_filter, self._in_memory_bytes)
        scan.run(units)
        first = offset + scan.first if scan.first >= 0 else -1
        cold = self._log.max_offset - scan.last_physical > self._in_memory_bytes
        return GetResult(
            scan.status,
            offset + scan.scanned,
            low,
            high,
            scan.records(),
            scan.count,
            first,
            scan.skipped,
            scan.refused,
            cold,
        )

    def offset_by_time(self, topic: str, queue_id: int, at_ms: int) -> int:
        """Return the offset of the message nearest to `at_ms`, or 0 for an unknown queue.

        The search is in the first file whose last change is not before `at_ms`.  Between two messages the nearer
        wins, the earlier one at equal distance.
        """
        queue = self._queues.get((topic, queue_id))
        if queue is None or not queue.files.files:
            return 0
        files = queue.files.files
        file = next((file for file in files if file.modified_ms >= at_ms), files[-1])
        if file.wrote == 0:
            return 0
        position = self._search(queue, file, at_ms)
        if position is None:
            return 0
        return max(0, file.base + position) // UNIT_BYTES

    def _search(self, queue: ConsumeQueue, file: MappedFile, at_ms: int) -> int | None:
        """Return the byte position in the file; -1 without a comparable entry, None if a store time cannot be read."""
        units = list(iter_units(bytes(queue.files.pool.view(file)[: file.wrote])))
        low = max(0, queue.min_offset - file.base // UNIT_BYTES)
        high = len(units) - 1
        left = right = -1
        left_ms = right_ms = -1
        log_min = self._log.min_offset
        while high >= low:
            middle = (low + high) // 2
            physical, size, _ = units[middle]
            if physical < log_min:
                low, left = middle + 1, middle
                continue
            store_ms = self._log.store_time(physical, size)
            if store_ms is None:
                return None
            if store_ms == at_ms:
                return middle * UNIT_BYTES
            if store_ms > at_ms:
                high, right, right_ms = middle - 1, middle, store_ms
            else:
                low, left, left_ms = middle + 1, middle, store_ms
        if left_ms == -1:
            nearest = right
        elif right_ms == -1:
            nearest = left
        else:
            nearest = right if at_ms - left_ms > right_ms - at_ms else left
        return nearest * UNIT_BYTES if nearest >= 0 else -1


class _Scan:
    """One pass over queue entries, collecting records up to a limit."""

    def __init__(
        self,
        config: MessageStoreConfig,
        log: CommitLog,
        max_messages: int,
        message_filter: MessageFilter | None,
        in_memory_bytes: int,
    ) -> None:
        self._config = config
        self._log = log
        self._max_messages = max_messages
        self._codes = message_filter.codes if message_filter is not None else None
        self._by_properties = message_filter if message_filter is not None and message_filter.by_properties else None
        self._in_memory_bytes = in_memory_bytes
        self._parts: list[bytes] = []
        self._bytes = 0
        self.status = GetMessageStatus.NO_MATCHED_MESSAGE
        self.count = 0
        self.scanned = 0
        self.skipped = 0
        self.refused = 0
        self.first = -1
        self.last_physical = 0

    def records(self) -> bytes:
        return b"".join(self._parts)

    def run(self, units: bytes) -> None:
        log, codes = self._log, self._codes
        log_end = log.max_offset
        skip_below = -1  # a file of the log is deleted: entries that point into it are skipped
        for scanned, (physical, size, tags_code) in enumerate(iter_units(units)):
            self.last_physical = physical
            self.scanned = scanned
            if physical < skip_below:
                continue
            if self.count and self._full(size, cold=log_end - physical > self._in_memory_bytes):
                return
            if codes is not None and _int(tags_code) not in codes:
                self.skipped += 1
                continue
            data = log.read(physical, size) if size > 0 else None
            if data is None:
                if not self.count:
                    self.status = GetMessageStatus.MESSAGE_WAS_REMOVING
                if size > 0:  # else a gap in the queue, which has no log position
                    skip_below = log.roll_next(physical)
                continue
            if self._by_properties is not None and not self._wants(data):
                self.refused += 1
                continue
            if not self.count:
                self.first = scanned
                self.status = GetMessageStatus.FOUND
            self._parts.append(data)
            self._bytes += size
            self.count += 1
            skip_below = -1
        self.scanned = len(units) // UNIT_BYTES

    def _full(self, size: int, *, cold: bool) -> bool:
        """Return True if the batch ends before a record of `size`; call it once the batch is not empty."""
        if self.count >= self._max_messages:
            return True
        if cold:
            most, count = self._config.transfer_bytes_on_disk, self._config.transfer_count_on_disk
        else:
            most, count = self._config.transfer_bytes_in_memory, self._config.transfer_count_in_memory
        return self._bytes + size > most or self.count >= count

    def _wants(self, data: bytes) -> bool:
        """Return True if the filter matches the properties in the record."""
        result = record.examine(data, 0, len(data), check_crc=False)
        if not isinstance(result, record.Layout) or self._by_properties is None:
            return False
        return self._by_properties.wants(names.decode(record.properties_text(data, result)))


def _int(tags_code: int) -> int:
    """Return Java's `(int) tagsCode`."""
    return tags_code if -0x8000_0000 <= tags_code < 0x8000_0000 else (tags_code + 0x8000_0000) % (1 << 32) - 0x8000_0000
