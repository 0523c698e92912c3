"""Events of a broker's files."""

from typing import NamedTuple

from sandbox.journal.events.event import said
from sandbox.journal.events.shapes import Labels, Long
from sandbox.kernel.sentences import Plural


@said("quiet", "rolled", "{broker} began log file {file}")
class CommitLogRolled(NamedTuple):
    broker: str
    broker_id: int
    file: str


@said("quiet", "rolled", "{broker} began index file {file}")
class IndexFileRolled(NamedTuple):
    broker: str
    broker_id: int
    file: str


@said("warn", "deleted", "{broker} deleted files of {kind}: {why}")
class FilesDeleted(NamedTuple):
    broker: str
    kind: str  # commitlog, consumequeue, index
    files: Labels
    freed_bytes: Long
    why: str  # age, disk, manual


@said("bad", "lost", Plural("messages", "{broker} lost {messages} message, {answered} had their OK",
                            "{broker} lost {messages} messages, {answered} had their OK"), "bad")
class UnflushedLost(NamedTuple):
    broker: str
    from_offset: Long
    to_offset: Long
    messages: int
    answered: int


@said("move", "replica", "{broker}: slave {slave_id} {state}")
class ReplicationChanged(NamedTuple):
    broker: str
    slave_id: int
    state: str  # connected, behind, lost
    behind_bytes: Long


@said("warn", "disk", "disk of {broker}: {state}", "warn")
class DiskChanged(NamedTuple):
    broker: str
    state: str  # ok, full, failing
