"""Configuration of a store.  The defaults are RocketMQ's; hosting passes a smaller preset."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

ASYNC_FLUSH = "ASYNC_FLUSH"
SYNC_FLUSH = "SYNC_FLUSH"
ASYNC_MASTER = "ASYNC_MASTER"
SYNC_MASTER = "SYNC_MASTER"
SLAVE = "SLAVE"  # role of a broker with an id above 0

CONSUME_QUEUE_UNIT_BYTES = 20
FILLER_BYTES = 0x7FFF_FFFF  # as length: an entry before the first message of a queue that began in the middle


def physical_memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@dataclass(frozen=True, kw_only=True)
class MessageStoreConfig:
    """The configuration of a store.  RocketMQ: `MessageStoreConfig` (spec store-format 9).

    PROPERTIES has the camelCase key of each field.
    """

    commit_log_file_bytes: int = 1024 * 1024 * 1024
    consume_queue_file_entries: int = 300_000
    index_slots: int = 5_000_000
    index_entries: int = 20_000_000
    index_enable: bool = True
    index_safe: bool = False
    max_message_bytes: int = 4 * 1024 * 1024  # of a body, or of a batch's bodies together
    memory_bytes: int = field(default_factory=physical_memory_bytes)
    access_in_memory_percent: int = 40

    transfer_bytes_in_memory: int = 262_144
    transfer_count_in_memory: int = 32
    transfer_bytes_on_disk: int = 65_536
    transfer_count_on_disk: int = 8

    flush: str = ASYNC_FLUSH
    flush_commit_log_interval_ms: int = 500
    flush_commit_log_least_pages: int = 4
    flush_commit_log_thorough_ms: int = 10_000
    flush_consume_queue_interval_ms: int = 1_000
    flush_consume_queue_least_pages: int = 2
    flush_consume_queue_thorough_ms: int = 60_000
    sync_flush_timeout_ms: int = 5_000

    replication: str = ASYNC_MASTER  # of a master; a slave ignores it
    ha_heartbeat_ms: int = 5_000
    ha_housekeeping_ms: int = 20_000
    ha_fall_behind_max_bytes: int = 256 * 1024 * 1024
    slave_timeout_ms: int = 3_000

    file_reserved_hours: int = 72
    delete_when: str = "04"  # hours of the day, joined by `;`
    utc_offset_minutes: int = 0  # time zone of `delete_when` and of index file names
    disk_max_used_percent: int = 75
    disk_clean_forcibly_ratio: float = 0.85
    disk_warning_ratio: float = 0.90
    clean_file_forcibly_enable: bool = True
    clean_interval_ms: int = 10_000
    clean_first_delay_ms: int = 60_000
    delete_files_batch_max: int = 10

    check_crc_on_recover: bool = True
    delay_levels_ms: tuple[int, ...] = (
        1_000,
        5_000,
        10_000,
        30_000,
        60_000,
        120_000,
        180_000,
        240_000,
        300_000,
        360_000,
        420_000,
        480_000,
        540_000,
        600_000,
        1_200_000,
        1_800_000,
        3_600_000,
        7_200_000,
    )

    store_limit_bytes: int | None = None  # replaces the disk's size; None: the real disk
    max_mapped_files: int = 48  # mapped at once; each costs a file descriptor

    def __post_init__(self) -> None:
        if self.flush not in (ASYNC_FLUSH, SYNC_FLUSH):
            raise ValueError(f"flush is {ASYNC_FLUSH} or {SYNC_FLUSH}, got {self.flush}")
        if self.replication not in (ASYNC_MASTER, SYNC_MASTER, SLAVE):
            raise ValueError(f"replication is {ASYNC_MASTER} or {SYNC_MASTER}, got {self.replication}")
        if self.consume_queue_file_entries < 1 or self.index_slots < 1 or self.index_entries < 2:
            raise ValueError("a file needs room for at least one entry")

    @property
    def delete_hours(self) -> frozenset[int]:
        return frozenset(int(hour) for hour in self.delete_when.split(";") if hour.strip())

    @property
    def consume_queue_file_bytes(self) -> int:
        return self.consume_queue_file_entries * CONSUME_QUEUE_UNIT_BYTES

    @property
    def in_memory_bytes(self) -> int:
        """The distance from the end of the log, in bytes, beyond which records count as "on disk"."""
        return int(self.memory_bytes * (self.access_in_memory_percent / 100.0))

    @classmethod
    def from_properties(cls, properties: Mapping[str, str], **options: Any) -> Self:
        """Return the configuration in a broker's `.properties`; keys of other parts are ignored.

        Fields in `options` take precedence.
        """
        values: dict[str, object] = {}
        kinds = {f.name: f.type for f in fields(cls)}
        for key, text in properties.items():
            name = PROPERTIES.get(key)
            if name is not None:
                values[name] = _parse(kinds[name], text.strip())
        if "mappedFileSizeConsumeQueue" in properties:  # bytes there, rounded up to whole units
            units = -(-int(properties["mappedFileSizeConsumeQueue"]) // CONSUME_QUEUE_UNIT_BYTES)
            values["consume_queue_file_entries"] = units
        if "messageDelayLevel" in properties:
            values["delay_levels_ms"] = parse_delay_levels(properties["messageDelayLevel"])
        return cls(**{**values, **options})


PROPERTIES = {
    "mappedFileSizeCommitLog": "commit_log_file_bytes",
    "maxHashSlotNum": "index_slots",
    "maxIndexNum": "index_entries",
    "messageIndexEnable": "index_enable",
    "messageIndexSafe": "index_safe",
    "maxMessageSize": "max_message_bytes",
    "accessMessageInMemoryMaxRatio": "access_in_memory_percent",
    "maxTransferBytesOnMessageInMemory": "transfer_bytes_in_memory",
    "maxTransferCountOnMessageInMemory": "transfer_count_in_memory",
    "maxTransferBytesOnMessageInDisk": "transfer_bytes_on_disk",
    "maxTransferCountOnMessageInDisk": "transfer_count_on_disk",
    "flushDiskType": "flush",
    "flushIntervalCommitLog": "flush_commit_log_interval_ms",
    "flushCommitLogLeastPages": "flush_commit_log_least_pages",
    "flushCommitLogThoroughInterval": "flush_commit_log_thorough_ms",
    "flushIntervalConsumeQueue": "flush_consume_queue_interval_ms",
    "flushConsumeQueueLeastPages": "flush_consume_queue_least_pages",
    "flushConsumeQueueThoroughInterval": "flush_consume_queue_thorough_ms",
    "syncFlushTimeout": "sync_flush_timeout_ms",
    "brokerRole": "replication",
    "haSendHeartbeatInterval": "ha_heartbeat_ms",
    "haHousekeepingInterval": "ha_housekeeping_ms",
    "haSlaveFallbehindMax": "ha_fall_behind_max_bytes",
    "slaveTimeout": "slave_timeout_ms",
    "fileReservedTime": "file_reserved_hours",
    "deleteWhen": "delete_when",
    "diskMaxUsedSpaceRatio": "disk_max_used_percent",
    "diskSpaceCleanForciblyRatio": "disk_clean_forcibly_ratio",
    "diskSpaceWarningLevelRatio": "disk_warning_ratio",
    "cleanFileForciblyEnable": "clean_file_forcibly_enable",
    "cleanResourceInterval": "clean_interval_ms",
    "checkCRCOnRecover": "check_crc_on_recover",
}

_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def parse_delay_levels(text: str) -> tuple[int, ...]:
    """Return the delay levels of a text `1s 5s 10s …` in milliseconds.

    Raises ValueError for an unknown unit, or two blanks between levels.  RocketMQ:
    `MessageStoreConfig.messageDelayLevel`, divided at each blank by `ScheduleMessageService.parseDelayLevel`.
    """
    words = text.rstrip(" ").split(" ")
    if "" in words:
        raise ValueError(f"level {words.index('') + 1} is empty: one blank stands between two levels")
    try:
        return tuple(int(word[:-1]) * _UNIT_MS[word[-1]] for word in words)
    except (KeyError, ValueError) as error:
        raise ValueError("levels are numbers with a unit s, m, h or d") from error


def delay_levels_text(levels_ms: Iterable[int]) -> str:
    """Return the text of delay levels, each in the largest unit that divides it.

    The inverse of `parse_delay_levels`.
    """
    units = sorted(_UNIT_MS.items(), key=lambda unit: -unit[1])
    return " ".join(next(f"{ms // size}{unit}" for unit, size in units if ms % size == 0) for ms in levels_ms)


def _parse(kind: object, text: str) -> Any:
    if kind is bool:
        return text.lower() == "true"
    if kind is int:
        return int(text)
    return float(text) if kind is float else text
