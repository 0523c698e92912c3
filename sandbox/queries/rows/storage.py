"""Rows of the Store and Index pages: the log record by record, the files on a broker's disk, the index.

Catalogue 10: `store/<slug>/<node>`, `store/<slug>/<node>/disk`, `index/<slug>/<node>`.  Offsets, positions in the
log and sizes that may pass 2^53 are text; sizes are in bytes.  Times (`…_ms`) are of the sandbox's clock.
"""

from typing import TypedDict


class LogPositions(TypedDict):
    """The begin and end of an open log, in bytes."""

    min: str
    max: str
    flushed: str  # on disk up to here
    dispatched: str  # queues and index have the records below this position
    file_bytes: str  # size of one of its files


class TapeRecord(TypedDict):
    """One record of the log."""

    bytes: int
    topic: str
    queue_id: int
    queue_offset: str
    tags: str | None  # None: it has none
    key: str | None  # several have blanks between; None: it has none
    kind: str  # of its topic: normal, retry, dead_letter, delay


class LogFile(TypedDict):
    bytes: str
    wrote: str  # of them


class Store(TypedDict):
    """The log and its last records."""

    log: LogPositions
    files: dict[str, LogFile]
    records: dict[str, TapeRecord]  # by position in the log, the last 64
    topics: list[str]  # in the order of their colours


class DiskNode(TypedDict):
    """The broker process of the disk."""

    node: str
    broker: str
    broker_id: int  # 0: master
    role: str  # master, slave
    state: str
    flush: str  # ASYNC_FLUSH, SYNC_FLUSH
    replication: str | None  # ASYNC_MASTER, SYNC_MASTER; None: of a slave
    disk: str  # ok, full, failing
    used_percent: int


class DiskLog(LogPositions):
    replicated: str | None  # None: no slave follows
    memory: str  # from here on messages count as lying in memory (spec store-format 4)


class FlushedFile(LogFile):
    flushed: str  # of its bytes


class QueueFiles(TypedDict):
    """The files of one consume queue."""

    files: int
    bytes: str  # written
    min: str  # offset
    max: str


class IndexOnDisk(TypedDict):
    bytes: str
    count: int  # entries


class ConfigFile(TypedDict):
    bytes: str


class WrittenOffset(TypedDict):
    """One offset, in a file and in memory."""

    file: str | None  # None: not there, or unknown
    now: str | None  # None: not there
    state: str  # same; waits: for the next write; unknown: the file is damaged, or too long to be read


class OffsetFile(TypedDict):
    due_ms: int | None  # the next write


class Checkpoint(TypedDict):
    """The store times up to which everything is on disk; None before the first."""

    physic_ms: int | None  # log
    logics_ms: int | None  # queues
    index_ms: int | None  # full index files


class Disk(TypedDict):
    """The files on a broker's disk, and the part of them that would survive a power cut."""

    node: DiskNode
    log: DiskLog
    commitlog: dict[str, FlushedFile]  # by file name
    queues: dict[str, QueueFiles]  # by `topic/queue id`
    index: dict[str, IndexOnDisk]  # by file name
    config: dict[str, ConfigFile]  # by file name
    offsets: dict[str, WrittenOffset]  # consumerOffset.json, by `topic@group/queue id`
    offset_file: OffsetFile
    checkpoint: Checkpoint
    marks: dict[str, bool]  # abort, lock: is the file there?  abort stays behind when the process ends badly


class IndexedKey(TypedDict):
    topic: str
    key: str


class IndexFileRow(TypedDict):
    begin_ms: int  # store time of its first message
    end_ms: int
    begin_physical: str  # position of its first message
    end_physical: str
    slots_used: int
    count: int  # entries and one
    slots: int
    entries: int  # it has room for


class IndexEntry(TypedDict):
    hash: int
    physical: str  # position of its message
    time_diff_s: int  # after `begin_ms` of its file
    previous: int  # number of the entry before it in its slot; 0: none
    slot: int


class Index(TypedDict):
    """The index files and their newest entries."""

    keys: list[IndexedKey]  # of the newest messages, the newest first
    files: dict[str, IndexFileRow]
    entries: dict[str, IndexEntry]  # by `file:number`, the last 64
