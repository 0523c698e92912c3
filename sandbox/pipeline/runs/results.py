"""Results of a run: Parquet tables and a manifest.  The last good result stays until a new one is complete.

    <out>/manifest.json            {"job", "run", "tables": {name: {"path", "rows", "malformed", "partitions"}},
                                    "true_to", "made_ms", "source"}
    <out>/run-<id>/<table>/*.parquet

The manifest is replaced atomically, so a reader finds the old result or the new one.  Read with pyarrow only.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import CorruptRecord

NAME = "manifest.json"


class Table(NamedTuple):
    """A table of a result.

    `path` is relative to the result's directory.  `malformed`: number of rows whose bodies could not be read, None
    without bodies.  `partitions`: columns (and their types) that are in the names of directories, `topic=orders`,
    and not in the files.
    """

    path: str
    rows: int
    malformed: int | None = None
    partitions: dict[str, str] | None = None


class Manifest(NamedTuple):
    """The manifest of a result.  `true_to`: by sandbox, the number of the last journal entry read.

    Empty for a store alone.
    """

    job: str
    run: str
    tables: dict[str, Table]
    true_to: dict[str, int]
    made_ms: int
    source: dict[str, Any]


def publish(out: Path, manifest: Manifest) -> None:
    """Make this manifest the result and delete earlier runs."""
    plain = {**manifest._asdict(), "tables": {name: table._asdict() for name, table in manifest.tables.items()}}
    draft = out / f"{NAME}.{manifest.run}"
    draft.write_bytes(json_bytes.dumps(plain, option=json_bytes.OPT_INDENT_2))
    os.replace(draft, out / NAME)
    for old in out.glob("run-*"):
        if old.name != f"run-{manifest.run}":
            shutil.rmtree(old, ignore_errors=True)


def discard(out: Path, run: str) -> None:
    """Delete the files of a failed run."""
    shutil.rmtree(out / f"run-{run}", ignore_errors=True)


def manifest_of(out: Path) -> Manifest | None:
    """Return the manifest of the last good result, or None before the first.  Raises CorruptRecord if it is damaged."""
    try:
        plain: Mapping[str, Any] = json_bytes.loads((out / NAME).read_bytes())
        tables = {name: Table(**table) for name, table in plain["tables"].items()}
        return Manifest(**{**plain, "tables": tables})
    except FileNotFoundError:
        return None
    except (json_bytes.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise CorruptRecord(f"{out / NAME} cannot be read: {error}") from error


def table_at(out: Path | str, name: str) -> Path:
    """Return the directory of a table's files, for pandas, pyarrow or DuckDB.

    Raises CorruptRecord if the manifest is damaged, KeyError if the result or the table does not exist.
    """
    manifest = manifest_of(Path(out))
    if manifest is None or name not in manifest.tables:
        raise KeyError(
            f"{out} has no table {name}: {'it is not a result' if manifest is None else list(manifest.tables)}"
        )
    return Path(out) / manifest.tables[name].path
