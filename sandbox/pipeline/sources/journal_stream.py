"""`spark.readStream.format("rocketmq-journal")`: new entries of journals, each exactly once by its checkpoint.

Options beside those of the batch, named as Spark's own sources name them: `startingOffsets` (`earliest`, or
`latest`: after the entries at the stream's first start), `maxBytesPerTrigger` (of all journals together, shared
between those with new entries), `failOnDataLoss`.  An existing checkpoint takes precedence; a journal that it does
not contain begins at its first entry.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from sandbox.journal.segments import SEGMENT_BYTES
from sandbox.pipeline.sources import journal_positions as positions
from sandbox.pipeline.sources.error_reports import reports_errors
from sandbox.pipeline.sources.first_end import FirstEnd
from sandbox.pipeline.sources.journal_files import (
    Chosen,
    Piece,
    batches,
    chosen_of,
    journals_of,
    size_of,
)
from sandbox.pipeline.sources.journal_positions import BEGINNING, Positions
from sandbox.pipeline.sources.option_values import is_strict, number_of
from sandbox.pipeline.sources.time_bounds import no_ends
from sandbox.store_columns.packing import packed


class Asked(NamedTuple):
    """The parsed options of a stream."""

    journals: dict[str, Path]
    chosen: Chosen
    latest: bool
    most_bytes: int | None
    strict: bool


def asked_of(options: Mapping[str, str]) -> Asked:
    """Return the parsed options of a stream.  Raises ValueError, and StoreError for a journal that does not exist."""
    starting = options.get("startingOffsets", "earliest").strip().lower()
    if starting not in ("earliest", "latest"):
        raise ValueError(f"Option startingOffsets must be earliest or latest, not {starting}.")
    no_ends(options)
    text = options.get("maxBytesPerTrigger")
    most = None if text is None else number_of("maxBytesPerTrigger", text.strip())
    if most == 0:
        raise ValueError("Option maxBytesPerTrigger must be 1 or more: with 0 no event would be read.")
    return Asked(journals_of(options), chosen_of(options), starting == "latest", most, is_strict(options))


class JournalPartition(InputPartition):
    """A partition of a read: pieces of segments for one task."""

    def __init__(self, pieces: list[Piece]) -> None:
        super().__init__(pieces)
        self.pieces = pieces


def partitions_of(pieces: Iterable[Piece]) -> list[JournalPartition]:
    """Group the pieces into partitions of about one segment's bytes each, so a long journal is read in parallel."""
    return [JournalPartition(pack) for pack in packed(pieces, SEGMENT_BYTES)]


class JournalStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The stream reader: it plans in one process from current names and sizes and reads in the workers."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self._target: Positions | None = None
        self._first_end = FirstEnd()

    @reports_errors
    def initialOffset(self) -> dict[str, object]:
        if not self.asked.latest:
            return positions.plain(dict.fromkeys(self.asked.journals, BEGINNING))
        return self._first_end.begun(positions.plain(self._ends()), is_late=True)

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self.asked.most_bytes is None else ReadMaxBytes(self.asked.most_bytes)

    @reports_errors
    def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:
        if self._first_end.take(start):
            return start
        known = positions.position_of(start)
        news = {}
        for sandbox, path in self.asked.journals.items():
            begin = known.get(sandbox, BEGINNING)
            end = positions.onward(path, begin, None) if self._target is None else self._target[sandbox]
            if end > begin:
                news[sandbox] = end
        if isinstance(limit, ReadMaxBytes) and news:
            share = max(1, limit.max_bytes // len(news))
            for sandbox, end in news.items():
                begin = known.get(sandbox, BEGINNING)
                news[sandbox] = min(end, positions.onward(self.asked.journals[sandbox], begin, share))
        return positions.plain({**dict.fromkeys(self.asked.journals, BEGINNING), **known, **news})

    @reports_errors
    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._ends()

    @reports_errors
    def partitions(self, start: dict[str, object], end: dict[str, object]) -> Sequence[InputPartition]:
        self._first_end.planned(start)
        begins, ends = positions.position_of(start), positions.position_of(end)
        pieces: list[Piece] = []
        for sandbox, path in sorted(self.asked.journals.items()):
            begin = begins.get(sandbox, BEGINNING)
            pieces += positions.between(sandbox, path, begin, ends.get(sandbox, begin), strict=self.asked.strict)
        return partitions_of(pieces)

    @reports_errors
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, JournalPartition)
        if self.asked.strict:
            for piece in partition.pieces:
                if size_of(Path(piece.path)) < piece.end:
                    raise positions.dropped(piece.sandbox)
        yield from batches(partition.pieces, self.asked.chosen)

    def _ends(self) -> Positions:
        return {sandbox: positions.end_of(path) for sandbox, path in self.asked.journals.items()}
