"""Results of a piece of the audit, sent from the worker processes to the process that combines them."""

from collections import Counter
from typing import NamedTuple

from sandbox.pipeline.store_audit.store_log import Stopped
from sandbox.store.findings import MAX_FINDINGS, Finding, severity_of
from sandbox.store.index_cover import Keys


class Found(NamedTuple):
    """One finding of the audit.

    `position`: byte of `file`.  `items`: number of consecutive faults of this kind.  `topic`, `queue_id` and
    `queue_offset` are those of the message concerned, if there is one.
    """

    kind: str
    file: str
    position: int
    says: str
    topic: str | None = None
    queue_id: int | None = None
    queue_offset: int | None = None
    items: int = 1

    @property
    def severity(self) -> str:
        return severity_of(self.kind, self.file)


def found_of(finding: Finding) -> Found:
    """Return a finding of `sandbox.store` as a `Found`; both audits make such findings by the same rule."""
    return Found(finding.code, finding.where, finding.position, finding.text)


class Part(NamedTuple):
    """The result of one piece of the audit.

    `counts`: numbers of items checked.  `stops`: positions where the log has no records.  `into`: numbers of units
    and entries without a record, by the lost part that explains them.  `uncovered`: keys without an index file, by
    the begin of their stretch.
    """

    store: str
    found: list[Found]
    omitted: int
    counts: dict[str, int]
    stops: list[Stopped]
    pointed_at: bool
    into: dict[int, tuple[int, int]]
    uncovered: dict[int, Keys]


class Notes:
    """Findings and counts of one piece, collected up to a limit: a broken store may have very many findings."""

    def __init__(self) -> None:
        self.found: list[Found] = []
        self.omitted = 0
        self.counts: Counter[str] = Counter()

    def add(self, finding: Found) -> None:
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
        uncovered: dict[int, Keys] | None = None,
    ) -> Part:
        return Part(
            store, self.found, self.omitted, dict(self.counts), stops or [], pointed_at, into or {}, uncovered or {}
        )
