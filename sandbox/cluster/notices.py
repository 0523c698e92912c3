"""Notices for all viewers of a sandbox, in addition to the reason why it does not run."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sandbox.store.json_files import WHYS, TableRead
from sandbox.store.results import RecoveryReport

LOG_CUT = (
    "The commit log of {broker} was not readable from byte {offset} on when it was opened. As in RocketMQ, it "
    "now ends there: {bytes} bytes were cut off."
)

TABLE_DAMAGED = (
    "{broker} does not start, as in RocketMQ: {file} {why}, and no other copy of its table {table} is readable. "
    "Replace the file and start {broker}, or accept the loss of {table} on the Topology page."
)
FROM_BACKUP = "{broker} loaded the backup of {file}, which {why}. Changes since the backup are lost."
NO_BACKUP = "{broker} started with an empty table {table}, as in RocketMQ: {file} {why}, and it has no backup."


class Notice(NamedTuple):
    """Notice as an English sentence; translations fill `pattern` with `values`.

    `dismissible`: the owner can remove it.
    """

    pattern: str
    values: dict[str, Any]
    dismissible: bool = False


def note_cut(cuts: dict[str, dict[str, int]], node: str, report: RecoveryReport) -> None:
    """Add the truncation of a log to the earlier ones: the smallest offset counts, the bytes are summed."""
    before = cuts.get(node, {"offset": report.end_offset, "bytes": 0})
    cuts[node] = {"offset": min(before["offset"], report.end_offset), "bytes": before["bytes"] + report.truncated_bytes}


def of_cuts(cuts: dict[str, dict[str, int]]) -> list[Notice]:
    texts = [{"broker": node} | {name: str(value) for name, value in cut.items()} for node, cut in sorted(cuts.items())]
    return [Notice(LOG_CUT, values, dismissible=True) for values in texts]


def of_damaged(node: str, reads: Sequence[TableRead]) -> list[Notice]:
    """Return a notice for each damaged table of a broker that does not start.  `why` is translated separately."""
    return [
        Notice(
            TABLE_DAMAGED, {"broker": node, "table": read.name, "file": read.first.path, "why": WHYS[read.first.why]}
        )
        for read in reads
    ]


def note_tables(kept: dict[str, dict[str, list[str]]], node: str, reads: Sequence[TableRead]) -> None:
    """Record tables that were read from a backup or lost: by node and table, the source, the file and its fault."""
    for read in reads:
        if read.source != "damaged":
            kept.setdefault(node, {})[read.name] = [read.source, read.unread[0].path, read.unread[0].why]


def of_tables(kept: dict[str, dict[str, list[str]]]) -> list[Notice]:
    return [
        Notice(
            FROM_BACKUP if source == "backup" else NO_BACKUP,
            {"broker": node, "table": table, "file": file, "why": WHYS[reason]},
            dismissible=True,
        )
        for node, tables in sorted(kept.items())
        for table, (source, file, reason) in sorted(tables.items())
    ]
