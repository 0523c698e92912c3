"""A result that grows: each batch of the stream writes it to a new directory, then publishes that atomically.

    <out>/batches/<checkpoint>-<batch>/{seconds,tens,fives,state}/*.parquet      files of earlier batches are links
    <out>/manifest.json          names that directory, and in `source.stream` the checkpoint and the batch

Spark repeats a batch whose end is not in its checkpoint, with the same number and the same entries, and the manifest
shows whether it is in the result already; a directory that is in no manifest is created again.  So the result has
each row once, after any kill.  Readers use the manifest, as with every result (`pipeline.runs.results`).
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from sandbox.kernel import json_bytes
from sandbox.kernel.clock import wall_ms
from sandbox.pipeline.runs import results

FILES_AT_MOST = 48
"""Files of one table; beyond, they are merged."""

STATE = "state"
DIRECTORY = "batches"


class Place(NamedTuple):
    """Position of a stream: the id of its checkpoint, and the last batch in the result."""

    checkpoint: str
    batch: int

    @property
    def directory(self) -> str:
        return f"{DIRECTORY}/{self.checkpoint[:8]}-{self.batch:09}"


def checkpoint_of(directory: Path) -> str | None:
    """Return Spark's id of the stream with this checkpoint directory; None before the first batch."""
    try:
        return str(json_bytes.loads((directory / "metadata").read_bytes())["id"])
    except (FileNotFoundError, json_bytes.JSONDecodeError, KeyError, TypeError):
        return None


def place_of(manifest: results.Manifest | None) -> Place | None:
    """Return the stream position of a result; None without a manifest or if the result is not from a stream."""
    stream = None if manifest is None else manifest.source.get("stream")
    return None if stream is None else Place(stream["checkpoint"], stream["batch"])


def begin_again_if_torn(out: Path, checkpoint: Path) -> None:
    """Delete the checkpoint if the result is missing or belongs to another checkpoint.

    The stream then reads everything from the start.
    """
    position = place_of(results.manifest_of(out))
    if position is None or position.checkpoint != checkpoint_of(checkpoint):
        shutil.rmtree(checkpoint, ignore_errors=True)


def state_before(out: Path, position: Place) -> Path | None:
    """Return the directory of the state that the batch before saved; None for the first batch."""
    before = place_of(results.manifest_of(out))
    return out / before.directory / STATE if before is not None and before.checkpoint == position.checkpoint else None


def is_in(out: Path, position: Place) -> bool:
    before = place_of(results.manifest_of(out))
    return before is not None and before.checkpoint == position.checkpoint and before.batch >= position.batch


def add(
    out: Path,
    position: Place,
    tables: Mapping[str, pa.Table],
    *,
    job: str,
    run: str,
    true_to: dict[str, int],
    source: dict[str, object],
) -> None:
    """Add these rows to the result and publish all tables in one step.  The table `STATE` replaces the old state."""
    manifest = results.manifest_of(out)
    before = place_of(manifest)
    if before is not None and before.checkpoint != position.checkpoint:
        before = manifest = None  # another stream's: start again
    directory = out / position.directory
    shutil.rmtree(directory, ignore_errors=True)
    made = {}
    for name, table in tables.items():
        (directory / name).mkdir(parents=True)
        if before is not None and name != STATE:
            _take_over(out / before.directory / name, directory / name)
        if table.num_rows or not any((directory / name).iterdir()):
            pq.write_table(table, directory / name / f"{position.batch:09}.parquet")
        if name != STATE:
            old = 0 if manifest is None else manifest.tables[name].rows
            made[name] = results.Table(f"{position.directory}/{name}", old + table.num_rows)
    results.publish(
        out,
        results.Manifest(
            job,
            run,
            made,
            true_to,
            wall_ms(),
            {**source, "stream": {"checkpoint": position.checkpoint, "batch": position.batch}},
        ),
    )
    _sweep(out, {position.directory, *([before.directory] if before is not None else [])})


def look_again(out: Path, run: str) -> None:
    """Publish the unchanged result as that of this run, if the run found no new entries."""
    manifest = results.manifest_of(out)
    if manifest is not None and manifest.run != run:
        results.publish(out, manifest._replace(run=run, made_ms=wall_ms()))


def _take_over(old: Path, new: Path) -> None:
    """Link the files of the old directory in the new one; if they are too many, merge them into one file."""
    files = sorted(old.glob("*.parquet"))
    if len(files) >= FILES_AT_MOST:
        pq.write_table(pa.concat_tables(pq.read_table(file) for file in files), new / files[-1].name)
        return
    for file in files:
        try:
            os.link(file, new / file.name)
        except OSError:  # a file system without links
            shutil.copyfile(file, new / file.name)


def _sweep(out: Path, kept: set[str]) -> None:
    """Delete result directories that are not in `kept`, which readers of the previous result may still use."""
    for directory in (out / DIRECTORY).iterdir():
        if f"{DIRECTORY}/{directory.name}" not in kept:
            shutil.rmtree(directory, ignore_errors=True)
