"""Settings for a run that reads so little that Spark's own overhead costs most of the time.

A query over a few MiB takes longer to plan than to run.  Therefore its intermediate tables have one partition, which
needs no exchange.  Plans are made once, not again at each stage.  Java compiles quickly instead of well.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FEW_BYTES = 32 << 20
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
IS_FEW = "spark.queueviz.isFew"  # of a session
SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.optimizer.disableHints": "true",  # a broadcast is a job of its own, a join of single partitions is not
    # Our sources report no size, and the sizes of joined tables are multiplied: large ones are split.
    "spark.sql.defaultSizeInBytes": "1024",
    "spark.sql.maxSinglePartitionBytes": str((1 << 63) - 1),
    "spark.sql.codegen.wholeStage": "false",  # writing a query's class takes longer than the class then saves
    IS_FEW: "true",
}


def is_few(stores: Mapping[str, str], journals: Mapping[str, str], options: Mapping[str, str]) -> bool:
    """Return whether the run's files are small on disk.  False if it reads something else, or follows new data."""
    if (not stores and not journals) or options.get("follow") == "true":
        return False
    taken = 0
    for root in (*stores.values(), *journals.values()):
        for file in Path(root).rglob("*"):
            try:
                taken += file.stat().st_blocks * 512
            except OSError:  # deleted meanwhile
                continue
            if taken > FEW_BYTES:
                return False
    return True


@contextmanager
def settings_of(session: "SparkSession", *, is_small: bool) -> Iterator[None]:
    """Apply the settings for one run, and restore the session's own settings afterwards."""
    if not is_small:
        yield
        return
    before = {name: session.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)


def gathered(table: "DataFrame") -> "DataFrame":
    """Return the table in one partition if the run reads few bytes, else unchanged."""
    return table.coalesce(1) if table.sparkSession.conf.get(IS_FEW, "false") == "true" else table
