"""Tables of a job's last successful result, read with pyarrow: never more rows at a time than requested.

If a new result replaces the one being read, the read is repeated from the new one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from queueviz.runs import directories
from sandbox.kernel.errors import CorruptRecord
from sandbox.pipeline.runs.results import Manifest, manifest_of

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)
T = TypeVar("T")

TRIES = 3
BATCH_ROWS = 16_384
WIDE = ("offset", "seq", "position")  # ends of names of columns with 64-bit numbers: strings in JSON


class Rows(NamedTuple, Generic[T]):
    """Rows of a table.  `is_cut`: the table has more."""

    rows: list[T]
    is_cut: bool


class Result:
    """The tables of one job for one sandbox or course.

    Readers need no lock: each read begins with the newest manifest.
    """

    def __init__(self, job: str, slug: str) -> None:
        self.slug = slug
        self._out = directories.result_of(job, slug)
        self.manifest = self._newest()

    @property
    def true_to(self) -> int | None:
        """The number of the last journal entry that the job read, or None."""
        return None if self.manifest is None else self.manifest.true_to.get(self.slug)

    def columns(self, table: str) -> list[str]:
        return self._again(lambda dataset: list(dataset.schema.names), table, [])

    def batches(self, table: str, columns: Sequence[str], where: Any = None) -> list[pa.RecordBatch]:
        """Return all matching rows as record batches with these columns.  `where` is an expression of pyarrow."""
        return self._again(
            lambda dataset: list(dataset.to_batches(columns=list(columns), filter=where, batch_size=BATCH_ROWS)),
            table,
            [],
        )

    def rows(self, table: str, shape: type[T], *, where: Any = None, most: int, after: int = 0) -> Rows[T]:
        """Return rows in the order of the table, after skipping `after` of them.  `shape`: the type of a row."""
        return self._again(lambda dataset: _some(dataset, where, most, after), table, Rows[T]([], False))

    def first(self, table: str, shape: type[T], order: Sequence[str], *, where: Any = None, most: int) -> Rows[T]:
        """Return the first `most` rows in the given order; memory holds no more.  `shape`: the type of a row."""
        return self._again(lambda dataset: _least(dataset, where, order, most), table, Rows[T]([], False))

    def _newest(self) -> Manifest | None:
        try:
            return manifest_of(self._out)
        except CorruptRecord as error:
            log.warning("%s", error)
            return None

    def _again(self, read: Callable[[Any], T], name: str, nothing: T) -> T:
        import pyarrow.dataset

        for left in reversed(range(TRIES)):
            table = self.manifest.tables.get(name) if self.manifest is not None else None
            if table is None:
                return nothing
            path = self._out / table.path
            try:
                path.stat()
                files = sorted(str(file) for file in path.rglob("*.parquet"))  # Spark's own files are beside them
                return read(pyarrow.dataset.dataset(files, format="parquet")) if files else nothing
            except (OSError, ValueError) as error:  # of pyarrow both
                before, self.manifest = self.manifest, self._newest()
                if not left or self.manifest == before:
                    raise CorruptRecord(f"{path} cannot be read: {error}") from error
        return nothing


def _some(dataset: Any, where: Any, most: int, after: int) -> Rows[Any]:
    rows: list[Any] = []
    for batch in dataset.to_batches(filter=where, batch_size=BATCH_ROWS):
        skipped = min(after, batch.num_rows)
        after -= skipped
        rows += batch.slice(skipped, most + 1 - len(rows)).to_pylist()
        if len(rows) > most:
            break
    return Rows(rows[:most], len(rows) > most)


def _least(dataset: Any, where: Any, order: Sequence[str], most: int) -> Rows[Any]:
    """Return the first rows in this order.

    The last of them is found from the columns of the order; then only rows up to it are read whole.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import dataset as ds

    kept: Any = None
    keys = [(name, "ascending") for name in order]
    for batch in dataset.to_batches(columns=list(order), filter=where, batch_size=BATCH_ROWS):
        table = pa.Table.from_batches([batch])
        table = table if kept is None else pa.concat_tables([kept, table])
        kept = table.take(pc.select_k_unstable(table, most + 1, keys)) if table.num_rows > most else table
    if kept is None or not kept.num_rows:
        return Rows([], False)
    last = kept.sort_by(keys).slice(kept.num_rows - 1).to_pylist()[0]
    up_to = ds.scalar(True)
    for name in reversed(order):
        up_to = (ds.field(name) < last[name]) | ((ds.field(name) == last[name]) & up_to)
    rows = dataset.to_table(filter=up_to if where is None else where & up_to).sort_by(keys)
    return Rows(rows.slice(0, most).to_pylist(), rows.num_rows > most)


def equals(**values: object) -> Any:
    """Return the pyarrow expression that each of these columns has its value.  A value of None matches any."""
    from pyarrow import dataset

    condition = None
    for name, value in values.items():
        if value is not None:
            equal = dataset.field(name) == value
            condition = equal if condition is None else condition & equal
    return condition


def plain(rows: Sequence[Mapping[str, object]]) -> Iterator[dict[str, object]]:
    """Yield the rows for JSON: numbers that a browser would round become strings."""
    for row in rows:
        yield {
            name: str(value) if isinstance(value, int) and name.endswith(WIDE) else value for name, value in row.items()
        }
