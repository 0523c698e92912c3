"""Findings of an audit: kinds, severities and sentences."""

from typing import NamedTuple

from sandbox.store.results import QueueUnit

ERROR = "error"  # invalid bytes
WARNING = "warning"  # nothing acknowledged is lost, but it should be known

_KINDS = {
    ERROR: "crc unreadable gap torn_record garbled missing_unit wrong_unit orphan_unit two_records missing_entry "
    "missing_file wrong_entry wrong_time wrong_header wrong_slot broken_chain unknown_shape",
    WARNING: "file_sizes odd_entry torn_tail checkpoint_ahead no_configuration index_order",
}
SEVERITIES = {kind: severity for severity, kinds in _KINDS.items() for kind in kinds.split()}

LOG_ENDS = frozenset({"unreadable", "gap", "torn_record"})
"""Of the log: records are missing, so that what other files say of later ones is no news."""

MAX_FINDINGS = 1_000  # of one store; more are only counted


class Finding(NamedTuple):
    """One finding of an audit.

    `position`: byte of `file`.  `items`: number of consecutive faults of this kind.  `topic`, `queue_id` and
    `queue_offset` are those of the message concerned, if there is one.  `records`: the log positions of the first and
    the last record whose keys have no entry.
    """

    kind: str
    file: str
    position: int
    says: str
    topic: str | None = None
    queue_id: int | None = None
    queue_offset: int | None = None
    items: int = 1
    records: tuple[int, int] | None = None

    @property
    def severity(self) -> str:
        """The severity by kind, and by file: an index file that ends too early has lost entries, a log has not."""
        return ERROR if self.kind == "file_sizes" and self.file.startswith("index/") else SEVERITIES[self.kind]


def missing_unit_text(queue_offset: int, physical: int) -> str:
    return f"offset {queue_offset}: no unit for the record at {physical}"


def wrong_unit_text(queue_offset: int, actual: QueueUnit, expected: QueueUnit) -> str:
    """Return the differences of two queue entries as text."""
    fields = [
        f"{name} {was}, the record says {should}"
        for name, was, should in zip(QueueUnit._fields, actual, expected, strict=True)
        if was != should
    ]
    return f"offset {queue_offset}: " + "; ".join(fields)


def orphan_unit_text(queue_offset: int, physical: int) -> str:
    return f"offset {queue_offset} points to {physical}, where none of its messages stands"


def two_records_text(physical: int) -> str:
    return f"the record at {physical} has the offset of one before"


def torn_tail_text(reason: str) -> str:
    return f"the log ends here, before what is no record: {reason}"


def stop_of_log(reason: str, lost_bytes: int | None, *, pointed_at: bool, untouched: bool) -> tuple[str, str] | None:
    """Return code and text of a position without a record; None for the normal end of a log.

    `lost_bytes`: distance to the next record, None if none follows.  `pointed_at`: a queue points to the position.
    """
    if lost_bytes is not None:
        return "unreadable", f"{reason}; {lost_bytes} bytes are lost"
    if pointed_at:
        return "torn_record", f"{reason}, but a queue points here"
    return None if untouched else ("torn_tail", torn_tail_text(reason))


def chain_text(slot: int, expected: int, previous: int) -> str:
    return f"the entry before in slot {slot} is {expected}, this one says {previous}"


def slot_text(slot: int, number: int, expected: int) -> str:
    if not number:
        return f"slot {slot} is empty instead of leading to entry {expected}"
    return f"slot {slot} leads to entry {number} instead of {expected}"


def seconds_text(seconds: int, expected: int) -> str:
    return f"{seconds} s after the file's begin instead of {expected}"


def slots_used_text(recorded: int, used: int) -> str:
    return f"{recorded} slots in use by the header, {used} by the entries"


UNKNOWN_SHAPE_TEXT = (
    "the file does not state its number of slots: set it, as the broker's maxHashSlotNum "
    "(store_audit --option index_slots=N, mqstore --index-slots N)"
)


def file_sizes_text(size_bytes: int, *, is_last: bool) -> str:
    """Return the text about a file of the log or a queue whose length differs from the others.

    `is_last`: it is the last file of its directory.  RocketMQ: `MappedFileQueue.load`.  From 5.1.3 on it deletes an
    empty file that is the last, as `sandbox.store` does.
    """
    if size_bytes == 0 and is_last:
        return (
            "the file is empty: RocketMQ before 5.1.3, 4.9.8 too, refuses to start on it; RocketMQ from 5.1.3 on "
            "and QueueViz's broker delete it and start"
        )
    return "files differ in size: RocketMQ, 4.9.8 and 5.x, and QueueViz's broker refuse to start on them"
