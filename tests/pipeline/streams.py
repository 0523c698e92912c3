"""A streaming query without Spark: its reader driven as Spark drives it, with a checkpoint between."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader

Row = tuple[Any, ...]


class Stream:
    """A batch is planned, its end written down as JSON, read, and committed.

    `made`: a reader, of each start of the query another one.  Of rows only `columns` are kept, None where one has no
    such column.  `idle`: lets time pass when there is nothing to do.
    """

    def __init__(
        self,
        made: Callable[[], DataSourceStreamReader],
        columns: Sequence[str],
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        self._made, self._columns, self._idle = made, columns, idle
        self.begin = ""
        self.ends: list[str] = []
        self.committed = 0
        self.rows: list[Row] = []
        self.start()

    def start(self) -> None:
        """Also a new start of a query that was killed: what was planned and not committed is read again."""
        self.reader: Any = self._made()
        if not self.committed:
            self.begin = json.dumps(self.reader.initialOffset())

    @property
    def last(self) -> str:
        return self.ends[self.committed - 1] if self.committed else self.begin

    def plan(self) -> bool:
        """Plan a batch and return whether there is one to read."""
        if len(self.ends) == self.committed:
            end = json.dumps(self.reader.latestOffset(json.loads(self.last), self.reader.getDefaultReadLimit()))
            if self.ends and end == self.last:
                return False
            self.ends.append(end)
        return True

    def read(self) -> list[Row]:
        """The planned batch."""
        start, end = json.loads(self.last), json.loads(self.ends[-1])
        return [
            tuple(row.get(name) for name in self._columns)
            for partition in self.reader.partitions(start, end)
            for batch in self.reader.read(partition)
            for row in batch.to_pylist()
        ]

    def commit(self, rows: list[Row]) -> None:
        self.rows += rows
        self.committed = len(self.ends)

    def step(self) -> int | None:
        """A whole batch: its rows; None: there is nothing to do now."""
        if not self.plan():
            self._idle()
            return None
        rows = self.read()
        self.commit(rows)
        return len(rows)

    def run(self) -> list[Row]:
        """All that came since."""
        before = len(self.rows)
        while self.step() is not None:
            pass
        return self.rows[before:]
