"""Sealing of the rolled log files of stores, one task each, and removal of sealed files that are no longer valid."""

import os
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.pipeline.runs.iceberg import NoIceberg
from sandbox.pipeline.sealed import table
from sandbox.pipeline.sealed.entries import (
    DRAFT,
    Entry,
    SealedElsewhere,
    as_bytes,
    drop,
    drop_drafts,
    entries_in,
    entry_path,
    held,
    sha256_of,
    state_of,
)
from sandbox.pipeline.sealed.plan import TRIMMED, Looked, Task, look, sealed_of, tasks_of
from sandbox.pipeline.sealed.writing import Outcome, seal, wait_a_tick
from sandbox.pipeline.spark.parallel_work import spread
from sandbox.store_columns.queue_positions import log_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sandbox.pipeline.jobs.job import Given

AHEAD_BYTES = 512 << 20  # of rolled log files: below this, sealing ahead of one audit costs more than it saves
MOST_HELD = 64  # stores at once: each has a lock file open
KEPT, LEFT, DROPPED = "kept", "left", "dropped"


def seal_stores(
    session: "SparkSession",
    stores: Mapping[str, Path],
    sealed: Mapping[str, Path],
    least_bytes: int = 0,
    *,
    tabled: bool = False,
) -> list[Outcome]:
    """Seal the stores' log files and return an outcome for each file.

    An outcome is that of `writing.Outcome`, or has the state `kept` (was sealed, and still is), `left` (for the reason
    `why`) or `dropped` (its log file is gone).  `sealed`: the directory of each store.  If less than `least_bytes` of
    logs are due, nothing new is sealed.  `tabled`: keep an Iceberg table of the sealed files from now on; an existing
    table is kept in any case.  Raises SealedElsewhere, NoIceberg, StoreError, or OSError; the stores before the failing
    one are sealed.
    """
    names = sorted(stores)
    groups = [names[start : start + MOST_HELD] for start in range(0, len(names), MOST_HELD)]
    return [
        outcome
        for group in groups
        for outcome in _sealed(session, {name: stores[name] for name in group}, sealed, least_bytes, tabled=tabled)
    ]


def _sealed(
    session: "SparkSession", stores: Mapping[str, Path], sealed: Mapping[str, Path], least_bytes: int, *, tabled: bool
) -> list[Outcome]:
    """Seal a group of stores and hold the locks of all their directories during it."""
    with ExitStack() as stack:
        for name in stores:
            stack.enter_context(held(sealed[name]))
        named = {
            name: table.named(sealed[name], root)
            for name, root in stores.items()
            if tabled or table.is_in(sealed[name])
        }
        outcomes: list[Outcome] = []
        tasks: list[Task] = []
        for name, root in stores.items():
            prepared_outcomes, due = prepared(name, root, sealed[name], named.get(name, ()))
            outcomes += prepared_outcomes
            tasks += due
        if sum(task.log_bytes for task in tasks) >= least_bytes:
            outcomes += spread(session, tasks, seal)
            for name in stores:
                drop_drafts(sealed[name])  # of executors that died: Spark has others do their tasks
        for name in named:
            table.keep(sealed[name], stores[name], sealed_of(stores[name], sealed[name]))
            drop(sealed[name], entries_in(sealed[name]))
        return sorted(outcomes, key=lambda outcome: (outcome.store, outcome.log_start))


def prepared(name: str, root: Path, directory: Path, named: Collection[str] = ()) -> tuple[list[Outcome], list[Task]]:
    """Remove sealed files that are no longer valid.

    Return the tasks that are due, and the outcomes of the other log files.  `named`: as in `drop`.
    """
    looked = look(root, directory)
    true = {
        item.entry.log_start: item.entry for item in looked if item.entry is not None and item.why in (None, TRIMMED)
    }
    before = entries_in(directory)
    gone = [start for start in drop(directory, true, named) if start not in {item.log.start for item in looked}]
    for candidate in looked:
        if candidate.entry is not None and candidate.is_sealed:
            _renew(directory, candidate.log.path, candidate.entry)
    tasks, left = tasks_of(name, root, directory, looked)
    outcomes = [_kept(name, item) for item in looked if item.is_sealed]
    outcomes += [Outcome(name, start, 0, 0, LEFT, reason) for start, reason in left.items()]
    outcomes += [
        Outcome(name, start, before[start].rows if start in before else 0, 0, DROPPED, "its log file is missing")
        for start in gone
    ]
    return outcomes, tasks


def _kept(name: str, item: Looked) -> Outcome:
    assert item.entry is not None
    return Outcome(name, item.log.start, item.entry.rows, item.entry.file_bytes, KEPT)


def _renew(directory: Path, path: str, entry: Entry) -> None:
    """Store the file's new state in its entry if a copy or a restore changed the state but not the bytes.

    Otherwise each read would compute its SHA-256.
    """
    if state_of(path) == entry.state:
        return
    wait_a_tick(path)
    state = state_of(path)
    if sha256_of(path) == entry.sha256 and state_of(path) == state:
        target = entry_path(directory, entry.log_start)
        draft = target.with_name(f"{DRAFT}{target.name}.{os.getpid()}")
        draft.write_bytes(as_bytes(entry._replace(state=state)))
        os.replace(draft, target)


def seal_ahead(job_input: "Given") -> None:
    """Seal log files before a job that reads all messages, if many bytes are rolled and not sealed.

    Otherwise only invalid sealed files are removed.  A store is read as it is if another run seals it now, or if its
    sealed files or its table cannot be written.
    """
    for name, root in sorted(job_input.source.stores.items()):
        directory = job_input.sealed.get(name)
        if directory is not None and (unsealed_bytes(root, directory) >= AHEAD_BYTES or entries_in(directory)):
            try:
                seal_stores(job_input.session, {name: root}, {name: directory}, AHEAD_BYTES)
            except (SealedElsewhere, NoIceberg, OSError):
                continue


def unsealed_bytes(root: Path, directory: Path) -> int:
    """Return the size in bytes of the log files without an entry, except the last log file."""
    entries = entries_in(directory)
    return sum(log.end - log.start for log in log_files(root)[:-1] if log.start not in entries)
