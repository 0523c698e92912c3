"""`format("rocketmq")`: a running cluster as a source (`sources.cluster`) and as a sink (`sinks.rocketmq`).

Spark registers one class for a name, so both are here.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from sandbox.pipeline.sinks.rocketmq import BatchWriter, StreamWriter, batch_writer, target_of
from sandbox.pipeline.sources.catalog_source import CatalogSource
from sandbox.pipeline.sources.cluster import ClusterReader
from sandbox.pipeline.sources.cluster_access import NO_NAMES
from sandbox.pipeline.sources.cluster_options import asked_of, schema_of, stream_of
from sandbox.pipeline.sources.cluster_stream import ClusterStreamReader
from sandbox.pipeline.sources.error_reports import reports_errors
from sandbox.pipeline.sources.option_hints import OF_SINK, check_hints
from sandbox.pipeline.sources.store_options import ddl_of


class RocketMQ(CatalogSource):
    """Spark's data source named `rocketmq`."""

    missing = NO_NAMES

    @classmethod
    def name(cls) -> str:
        return "rocketmq"

    def columns(self, options: Mapping[str, str]) -> pa.Schema:
        return schema_of(options)

    def ddl(self, columns: pa.Schema) -> str:
        return ddl_of(columns)

    @reports_errors
    def reader(self, schema: Any) -> ClusterReader:
        return ClusterReader(asked_of(self.options_with(schema), schema))

    @reports_errors
    def streamReader(self, schema: Any) -> ClusterStreamReader:
        return ClusterStreamReader(stream_of(self.options_with(schema), schema))

    @reports_errors
    def writer(self, schema: Any, overwrite: bool) -> BatchWriter:
        check_hints(self.options, OF_SINK)  # those of a table are for reading, too
        return batch_writer(self.options_with(schema), schema, overwrite=overwrite)

    @reports_errors
    def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:
        check_hints(self.options, OF_SINK)
        return StreamWriter(target_of(self.options_with(schema), schema, overwrite=overwrite))
