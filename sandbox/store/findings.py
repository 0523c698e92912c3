"""Findings of a verification, with their positions."""

from collections.abc import Set
from typing import NamedTuple

from sandbox.store.results import QueueUnit

ERROR = "error"  # invalid bytes
WARNING = "warning"  # nothing acknowledged is lost, but it should be known
NOTE = "note"  # normal in a store that is open, was not closed, or had its clock set back

_CODES = {
    ERROR: "crc unreadable gap torn_record garbled missing_unit wrong_unit orphan_unit two_records missing_entry "
    "missing_file wrong_entry wrong_time wrong_header wrong_slot broken_chain unknown_shape",
    WARNING: "file_sizes odd_entry torn_tail checkpoint_ahead no_configuration index_order",
    NOTE: "behind no_queue no_index time_goes_back orphan_entry",
}
SEVERITIES = {code: severity for severity, codes in _CODES.items() for code in codes.split()}
"""By code.  `mqstore verify` reports all of them, `store_audit` those that are no notes."""

LOG_ENDS = frozenset({"unreadable", "gap", "torn_record"})
"""Of the log: records are missing, so that what other files say of later ones is no news."""

MAX_FINDINGS = 1_000  # of one verification; more are only counted


class Finding(NamedTuple):
    """One finding of a verification.

    `position`: bytes in the log or queue that `where` names, or in the index file itself.
    """

    severity: str
    code: str
    where: str
    position: int
    text: str


def finding(code: str, where: str, position: int, text: str) -> Finding:
    return Finding(severity_of(code, where), code, where, position, text)


def severity_of(code: str, where: str) -> str:
    """Return the severity of a finding in a file.

    An index file that ends too early has lost entries, a log or a queue has not.
    """
    return ERROR if code == "file_sizes" and where.startswith("index/") else SEVERITIES[code]


class VerifyReport(NamedTuple):
    """The result of one verification; `log_end` is the end of the last valid record."""

    records: int
    blanks: int
    log_end: int
    queues: int
    units: int
    index_entries: int
    findings: list[Finding]
    omitted: int

    @property
    def sound(self) -> bool:
        """True if no finding is an error; notes and warnings do not count."""
        return self.omitted == 0 and not any(finding.severity == ERROR for finding in self.findings)


class Findings:
    """Findings collected up to a limit: a broken store may have very many."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = MAX_FINDINGS if limit is None else limit
        self.items: list[Finding] = []
        self.omitted = 0

    def has_any(self, codes: Set[str], where: str) -> bool:
        return any(item.code in codes and item.where == where for item in self.items)

    def add(self, code: str, where: str, position: int, text: str) -> None:
        if len(self.items) < self._limit:
            self.items.append(finding(code, where, position, text))
        else:
            self.omitted += 1


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


def stray_entry_text(physical: int, before: int, after: int) -> str:
    return f"points to {physical}, the entries around it to {before} and {after}"


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
