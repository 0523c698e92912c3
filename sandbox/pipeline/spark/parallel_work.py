"""Work distributed over Spark's tasks: pieces are plain values, and each gives one result."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

P = TypeVar("P")
T = TypeVar("T")

MAX_TASKS = 1_024


def spread(session: "SparkSession", pieces: Sequence[P], work: Callable[[P], T]) -> list[T]:
    """Return the results of `work`, a function of a module, for the pieces in order.

    Each piece is one task, up to a limit.
    """

    def worked(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow

        for batch in batches:
            for number in batch.column("id").to_pylist():
                part = pickle.dumps(work(pieces[number]))
                yield pyarrow.RecordBatch.from_pydict(
                    {"id": pyarrow.array([number], pyarrow.int64()), "part": pyarrow.array([part], pyarrow.binary())}
                )

    if not pieces:
        return []
    tasks = min(len(pieces), MAX_TASKS)
    rows = session.range(0, len(pieces), 1, tasks).mapInArrow(worked, "id BIGINT, part BINARY").collect()
    return [pickle.loads(row.part) for row in sorted(rows, key=lambda row: row.id)]  # written by our own workers
