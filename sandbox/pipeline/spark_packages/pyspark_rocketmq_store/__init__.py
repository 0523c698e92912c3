"""The data source `rocketmq-store`, with names by which Spark 4 finds it (`pyspark_*`, `DefaultSource`).

Spark imports this package in every application of its environment, so it loads QueueViz only when it is used.
"""

from typing import Any

from pyspark.sql.datasource import DataSource


class DefaultSource(DataSource):
    """A name for `sandbox.pipeline.sources.store.StoreSource`, which each call returns."""

    def __new__(cls, options: dict[str, str]) -> Any:
        from sandbox.pipeline.sources.store import StoreSource

        return StoreSource(options)

    @classmethod
    def name(cls) -> str:
        return "rocketmq-store"
