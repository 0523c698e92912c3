"""Results of a piece of the audit, sent from the worker processes to the process that combines them."""

from collections import Counter
from typing import NamedTuple

from sandbox.store_audit.findings import MAX_FINDINGS, Finding
from sandbox.store_audit.index_cover import Keys, Stretch
from sandbox.store_columns.store_log import Stopped


class Times(NamedTuple):
    """The store times of a log piece, in log order."""

    position: int
    first_ms: int
    last_ms: int


class Part(NamedTuple):
    """The result of one piece of the audit.

    `counts`: numbers of items checked.  `stops`: positions where the log has no records.  `into`: numbers of units
    and entries without a record, by the lost part that explains them.  `uncovered`: keys without an index file, by
    their stretch.  `times`: of the first and the last record, for a piece of the log.
    """

    store: str
    found: list[Finding]
    omitted: int
    counts: dict[str, int]
    stops: list[Stopped]
    pointed_at: bool
    into: dict[int, tuple[int, int]]
    uncovered: dict[Stretch, Keys]
    times: Times | None


class Notes:
    """Findings and counts of one piece, collected up to a limit: a broken store may have very many findings."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.omitted = 0
        self.counts: Counter[str] = Counter()

    def add(self, finding: Finding) -> None:
        """Add a finding; if it continues the previous one (the next missing unit), extend that one instead."""
        last = self.found[-1] if self.found else None
        if (
            last is not None
            and finding.queue_offset is not None
            and last.queue_offset is not None
            and (
                finding.kind == last.kind == "missing_unit"
                and finding.topic == last.topic
                and finding.queue_id == last.queue_id
                and finding.queue_offset == last.queue_offset + last.items
            )
        ):
            self.found[-1] = last._replace(items=last.items + finding.items)
        elif len(self.found) < MAX_FINDINGS:
            self.found.append(finding)
        else:
            self.omitted += 1

    def part(
        self,
        store: str,
        *,
        stops: list[Stopped] | None = None,
        pointed_at: bool = False,
        into: dict[int, tuple[int, int]] | None = None,
        uncovered: dict[Stretch, Keys] | None = None,
        times: Times | None = None,
    ) -> Part:
        return Part(
            store,
            self.found,
            self.omitted,
            dict(self.counts),
            stops or [],
            pointed_at,
            into or {},
            uncovered or {},
            times,
        )
