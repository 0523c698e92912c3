"""Events of a broker's files."""

from typing import NamedTuple

from sandbox.journal.events.event import said
from sandbox.journal.events.shapes import Labels, Long
from sandbox.kernel.sentences import Plural


@said("quiet", "new file", "{broker} started log file {file}")
class CommitLogRolled(NamedTuple):
    broker: str
    broker_id: int
    file: str


@said("quiet", "new file", "{broker} started index file {file}")
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


@said(
    "bad",
    "lost",
    Plural(
        "messages",
        "{broker} lost {messages} message, {answered} acknowledged",
        "{broker} lost {messages} messages, {answered} acknowledged",
    ),
    "bad",
)
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


@said("warn", "damaged", "{broker} loaded the backup of {file}, which {why}", "warn", when="outcome=backup")
@said(
    "bad", "damaged", "{broker} starts with an empty table: {file} {why} and has no backup", "bad", when="outcome=empty"
)
@said("bad", "damaged", "{broker} does not start: {file} {why}, and its backup is not readable", "bad")
class TableDamaged(NamedTuple):
    """A broker could not read one of its tables at its start (RocketMQ: `ConfigManager.load`)."""

    broker: str
    table: str
    file: str
    why: str  # one of `store.json_files.WHYS`
    backup_why: str | None  # likewise, of the backup; None: it was taken
    outcome: str  # backup, empty, refused


@said(
    "bad",
    "accepted",
    Plural(
        "kept",
        "loss of {file} of {broker} accepted; {kept} damaged file is kept",
        "loss of {file} of {broker} accepted; {kept} damaged files are kept",
    ),
    "warn",
)
class TableLossAccepted(NamedTuple):
    """The broker may start with this table empty.  `kept`: the new names of the damaged files."""

    broker: str
    table: str
    file: str
    kept: Labels
