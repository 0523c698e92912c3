"""`format("rocketmq")`: a running cluster as a source (`sources.cluster`) and as a sink (`sinks.rocketmq`).

Spark registers one class for a name, so both are here.
"""

from typing import Any

from pyspark.sql.datasource import DataSource

from sandbox.pipeline.sinks.rocketmq import BatchWriter, StreamWriter, batch_writer, target_of
from sandbox.pipeline.sources.cluster import ClusterReader
from sandbox.pipeline.sources.cluster_options import asked_of, schema_of, stream_of
from sandbox.pipeline.sources.cluster_stream import ClusterStreamReader
from sandbox.pipeline.sources.error_reports import reports_errors
from sandbox.pipeline.sources.portable_source import reduced


class RocketMQ(DataSource):
    """Spark's data source named `rocketmq`."""

    @classmethod
    def name(cls) -> str:
        return "rocketmq"

    @reports_errors
    def schema(self) -> str:
        return schema_of(self.options)

    @reports_errors
    def reader(self, schema: Any) -> ClusterReader:
        return ClusterReader(asked_of(self.options, schema))

    @reports_errors
    def streamReader(self, schema: Any) -> ClusterStreamReader:
        return ClusterStreamReader(stream_of(self.options, schema))

    @reports_errors
    def writer(self, schema: Any, overwrite: bool) -> BatchWriter:
        return batch_writer(self.options, schema, overwrite=overwrite)

    @reports_errors
    def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:
        return StreamWriter(target_of(self.options, schema, overwrite=overwrite))

    def __reduce__(self) -> Any:
        return reduced(self)
