"""Reuse of a history's files for the beginning of a run, instead of executing that beginning again."""

import shutil
from pathlib import Path

from sandbox.cluster import record as records
from sandbox.cluster.journal_files import DIRECTORY as JOURNAL
from sandbox.cluster.origin import ORIGIN_NAME
from sandbox.hosting.histories import DIRECTORY, FILES, RUN
from sandbox.hosting.sparse_files import copy_directory
from sandbox.journal.segments import lines
from sandbox.kernel import json_bytes

DRAFT = "history"
OF_ITS_OWN = (records.FILE_NAME, ORIGIN_NAME)


def take_history(home: Path, directory: Path, recorded: list[bytes]) -> int:
    """Copy the history of a recorded run into `directory`, in which nothing was executed yet; return its line count.

    Return 0 and change nothing if the run began without a history, has no more lines than the history, or the
    history's files do not exist.
    """
    record = records.load(directory)
    for history in sorted((home / DIRECTORY).glob(f"{record.template}-{record.preset}-*")):
        taken = _same_lines(history, recorded)
        if taken and _is_copied(history, directory / DRAFT):
            _move_in(directory / DRAFT, directory)
            return taken
    return 0


def _same_lines(directory: Path, recorded: list[bytes]) -> int:
    try:
        played = list(lines(directory / RUN / JOURNAL))
    except OSError:  # removed meanwhile
        return 0
    return len(played) if len(played) < len(recorded) and played == recorded[: len(played)] else 0


def _is_copied(directory: Path, draft: Path) -> bool:
    """Copy a history, completely or not at all; return False if it is removed meanwhile, or damaged."""
    try:
        is_whole = bool(copy_directory(directory / RUN, draft) == json_bytes.loads((directory / FILES).read_bytes()))
    except (OSError, json_bytes.JSONDecodeError):
        is_whole = False
    if not is_whole:
        shutil.rmtree(draft, ignore_errors=True)
    return is_whole


def _move_in(draft: Path, directory: Path) -> None:
    """Move the history's files into the directory; the record continues the history's, with its own names and ports."""
    mine, record = records.load(directory), records.load(draft)
    record.slug, record.engine, record.branch_of = mine.slug, mine.engine, mine.branch_of
    record.nodes = [node._replace(own=own.own) for node, own in zip(record.nodes, mine.nodes, strict=True)]
    for path in sorted(draft.iterdir()):
        if path.name not in OF_ITS_OWN:
            path.rename(directory / path.name)
    shutil.rmtree(draft)
    records.save(directory, record)  # last: until here it is one in which nothing was executed
