"""A check of the stores at the end: derived files must equal those derived again from the commit log."""

import re
from pathlib import Path

from sandbox.journal.events import Entry, RecoveryDone
from sandbox.kernel.errors import StoreError
from sandbox.simulation.violation import Violation
from sandbox.simulation.world import World
from sandbox.store.config import MessageStoreConfig
from sandbox.store.reader import StoreReader
from sandbox.store_audit.findings import ERROR, Finding
from sandbox.store_audit.one_process import verify

DELETED = re.compile(r"index files \d+, deleted [1-9]")


def check_files(world: World, home: Path, entries: list[Entry], diverged: frozenset[str]) -> list[Violation]:
    """Return violations by the files of every node, read as another process would (spec store-format 2, 4, 5 and 8).

    `diverged`: slaves that had more than their master after its power cut.  What they copy from then on begins in
    the middle of a record, as in RocketMQ (spec broker-behaviour 12: the first offset of a slave is not checked).
    """
    violations: list[Violation] = []
    for name, disk in sorted(world.environment.disks.items()):
        node = name.rpartition("/")[2]
        if node in diverged:
            continue
        unindexed = _unindexed_before(entries, node)
        root = home / "copies" / node
        for path, data in disk.image().items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        try:
            StoreReader(root).close()
        except StoreError as error:
            violations.append(Violation("files", f"the store of {node} cannot be read: {error}"))
            continue
        violations += [
            Violation("files", f"{node}, {finding.file} at {finding.position}: {finding.kind}: {finding.says}")
            for finding in verify(root, MessageStoreConfig.delay_levels_ms).findings
            if finding.severity == ERROR and not _is_unindexed(finding, unindexed)
        ]
    return violations


def _is_unindexed(finding: Finding, before: int) -> bool:
    """Return True if all records without an index entry begin before this log offset."""
    return finding.kind == "missing_entry" and finding.records is not None and finding.records[1] < before


def _unindexed_before(entries: list[Entry], node: str) -> int:
    """Return the log offset up to which messages may be missing in the index.

    After a crash, index files younger than the checkpoint are deleted.  The log is then dispatched again from where
    the queues need it; without `messageIndexSafe` that may be later (spec store-format 7).
    """
    return max(
        (
            entry.event.from_offset
            for entry in entries
            if isinstance(entry.event, RecoveryDone)
            and _node(entry.event) == node
            and any(DELETED.match(step) for step in entry.event.steps)
        ),
        default=0,
    )


def _node(event: RecoveryDone) -> str:
    return f"{event.broker}.{event.broker_id}" if event.broker_id else event.broker
