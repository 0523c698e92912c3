"""A naive reader for comparison: a struct loop over records, in plain Python and as a data source of tuples."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from sandbox.message.msg_id import host_text
from sandbox.message.record import BLANK_MAGIC
from sandbox.message.string_hash import tags_code
from sandbox.store_columns.queue_positions import log_files

_HEAD = Struct(">iiIiiqqiq8sq8siqi")

Row = tuple[Any, ...]


def rows_in(path: Path) -> Iterator[Row]:
    """Every record of a file of the log, with the columns of our source in their order."""
    data = path.read_bytes()
    at, end = 0, len(data) - _HEAD.size
    while at <= end:
        (
            size,
            magic,
            _,
            queue_id,
            _,
            queue_offset,
            physical,
            sys_flag,
            born_ms,
            born_host,
            store_ms,
            store_host,
            times,
            _,
            body_bytes,
        ) = _HEAD.unpack_from(data, at)
        if size <= 0 or magic == BLANK_MAGIC:
            return
        body_at = at + _HEAD.size
        topic_at = body_at + body_bytes + 1
        topic_end = topic_at + data[topic_at - 1]
        text = data[topic_end + 2 : at + size].decode()
        properties = dict(pair.split("\x01", 1) for pair in text.split("\x02") if pair)
        tags = properties.get("TAGS")
        yield (
            data[topic_at:topic_end].decode(),
            queue_id,
            queue_offset,
            physical,
            properties.get("KEYS"),
            tags,
            tags_code(tags or ""),
            data[body_at : body_at + body_bytes],
            properties,
            born_ms,
            store_ms,
            host_text(born_host),
            host_text(store_host),
            times,
            sys_flag,
        )
        at += size


class RowSource(DataSource):
    """Registered as `rows-one-by-one`, with the columns of our source."""

    @classmethod
    def name(cls) -> str:
        return "rows-one-by-one"

    def schema(self) -> str:
        return (
            "topic STRING, queueId INT, queueOffset BIGINT, physicalOffset BIGINT, keys STRING, tags STRING, "
            "tagsCode BIGINT, body BINARY, properties MAP<STRING, STRING>, bornTimestamp BIGINT, "
            "storeTimestamp BIGINT, bornHost STRING, storeHost STRING, reconsumeTimes INT, sysFlag INT"
        )

    def reader(self, schema: Any) -> "RowReader":
        return RowReader(Path(self.options["path"]))


class RowReader(DataSourceReader):
    """A partition a file."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(log.path) for log in log_files(self.root)]

    def read(self, partition: InputPartition) -> Iterator[Row]:
        return rows_in(Path(partition.value))
