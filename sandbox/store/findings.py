"""What a verification found, with the place of each finding."""

from typing import NamedTuple

ERROR = "error"  # bytes are not what they must be
WARNING = "warning"  # nothing acknowledged is lost, but somebody should know
NOTE = "note"  # as it must be in a store that is open, or was not closed

MAX_FINDINGS = 1_000  # of one verification; further ones are counted


class Finding(NamedTuple):
    """One thing.  `position` is in bytes: in the endless log or queue of `where`, or in the index file itself."""

    severity: str
    code: str
    where: str
    position: int
    text: str


class VerifyReport(NamedTuple):
    """Everything of one verification; `log_end` is where the last sound record ends."""

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
        """No error: notes and warnings do not count."""
        return self.omitted == 0 and not any(finding.severity == ERROR for finding in self.findings)


class Findings:
    """Collects up to a limit: a broken store is broken everywhere."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = MAX_FINDINGS if limit is None else limit
        self.items: list[Finding] = []
        self.omitted = 0

    def add(self, severity: str, code: str, where: str, position: int, text: str) -> None:
        if len(self.items) < self._limit:
            self.items.append(Finding(severity, code, where, position, text))
        else:
            self.omitted += 1
