"""Events of a broker's files."""

from typing import NamedTuple

from sandbox.journal.events.shapes import Labels, Long


class CommitLogRolled(NamedTuple):
    broker: str
    broker_id: int
    file: str


class IndexFileRolled(NamedTuple):
    broker: str
    broker_id: int
    file: str


class FilesDeleted(NamedTuple):
    broker: str
    kind: str  # commitlog, consumequeue, index
    files: Labels
    freed_bytes: Long
    why: str  # age, disk, manual


class UnflushedLost(NamedTuple):
    broker: str
    from_offset: Long
    to_offset: Long
    messages: int
    answered: int


class ReplicationChanged(NamedTuple):
    broker: str
    slave_id: int
    state: str  # connected, behind, lost
    behind_bytes: Long


class DiskChanged(NamedTuple):
    broker: str
    state: str  # ok, full, failing
