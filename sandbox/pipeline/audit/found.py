"""What a piece of work found; it travels from the processes that look to the one that sums up."""

from collections import Counter
from typing import NamedTuple

from sandbox.pipeline.audit.store_log import Stopped
from sandbox.store.findings import MAX_FINDINGS


class Found(NamedTuple):
    """One thing that is not as it must be.  `position`: byte of `file`; `items` of a kind stand there in a row.

    `topic`, `queue_id` and `queue_offset` of the message it is about, if it is about one.
    """

    kind: str
    file: str
    position: int
    says: str
    topic: str | None = None
    queue_id: int | None = None
    queue_offset: int | None = None
    items: int = 1


class Part(NamedTuple):
    """`counts`: what was looked at.  `stops`: where the log has no records.  `leading_into`: units and entries that
    lead to no record, by the position they lead to, only what `Lost` explains."""

    store: str
    found: list[Found]
    omitted: int
    counts: dict[str, int]
    stops: list[Stopped]
    pointed_at: bool
    into: dict[int, tuple[int, int]]


class Notes:
    """Collects a part up to a limit: a broken store is broken everywhere."""

    def __init__(self) -> None:
        self.found: list[Found] = []
        self.omitted = 0
        self.counts: Counter[str] = Counter()

    def add(self, found: Found) -> None:
        """One that goes on where the one before ended is the same finding, longer."""
        last = self.found[-1] if self.found else None
        if last is not None and found.queue_offset is not None and last.queue_offset is not None and (
                found.kind == last.kind == "missing_unit" and found.topic == last.topic
                and found.queue_id == last.queue_id and found.queue_offset == last.queue_offset + last.items):
            self.found[-1] = last._replace(items=last.items + found.items)
        elif len(self.found) < MAX_FINDINGS:
            self.found.append(found)
        else:
            self.omitted += 1

    def part(self, store: str, *, stops: list[Stopped] | None = None, pointed_at: bool = False,
             into: dict[int, tuple[int, int]] | None = None) -> Part:
        return Part(store, self.found, self.omitted, dict(self.counts), stops or [], pointed_at, into or {})
