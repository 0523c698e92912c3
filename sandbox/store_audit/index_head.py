"""The check of an index file's head against its entries and their records (spec store-format 5)."""

from collections.abc import Iterator
from typing import NamedTuple

from sandbox.store.reader_index import IndexHeader
from sandbox.store_audit.findings import Finding

BEGIN_MS_AT, END_MS_AT, BEGIN_PHYSICAL_AT, END_PHYSICAL_AT = 0, 8, 16, 24


class Head(NamedTuple):
    """The expected head: the records of the first and the last entry, and their store times; None: unknown."""

    begin_physical: int
    begin_ms: int | None
    end_physical: int
    end_ms: int | None


def head_findings(name: str, header: IndexHeader, head: Head, *, in_use: bool) -> Iterator[Finding]:
    """Yield findings for wrong values in the head.  In a store in use the end changes, so it is not checked."""
    findings = [
        (BEGIN_PHYSICAL_AT, "begins at", header.begin_physical, head.begin_physical),
        (BEGIN_MS_AT, "begins at the time", header.begin_ms, head.begin_ms),
    ]
    if not in_use:
        findings += [
            (END_PHYSICAL_AT, "ends at", header.end_physical, head.end_physical),
            (END_MS_AT, "ends at the time", header.end_ms, head.end_ms),
        ]
    for position, verb, value, should in findings:
        if should is not None and value != should:
            yield Finding(
                "wrong_header",
                f"index/{name}",
                position,
                f"by the header the file {verb} {value}, by its entries at {should}",
            )
