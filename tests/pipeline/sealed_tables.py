"""Sealing with an Iceberg table, without Spark; and the table as its readers see it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox.pipeline.jobs.job import Given, Source
from sandbox.pipeline.sealed import sealing
from sandbox.pipeline.sealed.entries import entries_in
from tests.pipeline.sealed_reads import NO_SESSION, Row

catalogs = pytest.importorskip("pyiceberg.catalog.sql")


@contextmanager
def without_spark() -> Iterator[None]:
    """Tasks are executed here."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sealing, "spread", lambda _, tasks, work: [work(task) for task in tasks])
        yield


def tabled(root: Path, directory: Path, *, is_asked: bool = True) -> dict[int, str]:
    """Return the outcome of each log file."""
    with without_spark():
        return {
            one.log_start: one.state
            for one in sealing.seal_stores(NO_SESSION, {"s": root}, {"s": directory}, tabled=is_asked)
        }


def sealed_ahead(root: Path, directory: Path) -> None:
    """As an audit does before it reads."""
    with without_spark():
        sealing.seal_ahead(Given(NO_SESSION, Source({"s": root}, {}), {}, root, sealed={"s": directory}))


def opened(directory: Path) -> Any:
    """The table as it is now."""
    catalog = catalogs.SqlCatalog("queueviz", uri=f"sqlite:///{directory}/iceberg/catalog.db")
    try:
        return catalog.load_table("queueviz.messages")
    finally:
        catalog.engine.dispose()


def scanned(directory: Path, **asked: Any) -> list[Row]:
    """Its rows, in the order of the log."""
    rows: list[Row] = opened(directory).scan(**asked).to_arrow().to_pylist()
    return sorted(rows, key=lambda row: row["physicalOffset"])


def files_of(directory: Path) -> set[Path]:
    """Its data files."""
    return {
        Path(name.removeprefix("file://")) for name in opened(directory).inspect.files().column("file_path").to_pylist()
    }


def sealed_files(directory: Path) -> set[Path]:
    """Those that jobs read; of them the table is to be made."""
    return {directory / entry.file for entry in entries_in(directory).values()}


def counts(directory: Path) -> dict[str, int]:
    """Files that came, left and are there, as the newest snapshot has it."""
    made = opened(directory).current_snapshot().summary
    return {name: int(made[f"{name}-data-files"] or 0) for name in ("added", "deleted", "total")}
