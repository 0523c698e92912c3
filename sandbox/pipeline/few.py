"""Whether a run reads so little that Spark itself is what costs, and how it is spared then.

Over a few MiB a query is planned for longer than it runs.  So its intermediate tables have one partition, which needs
no exchange, and plans are made once, not again at each stage; Java compiles quickly, not well.
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
    # Our sources do not say their size, and those of joined tables are multiplied: what seems large is split.
    "spark.sql.defaultSizeInBytes": "1024",
    "spark.sql.maxSinglePartitionBytes": str((1 << 63) - 1),
    "spark.sql.codegen.wholeStage": "false",  # writing a query's class takes longer than the class then saves
    IS_FEW: "true",
}


def is_few(stores: Mapping[str, str], journals: Mapping[str, str], options: Mapping[str, str]) -> bool:
    """By what its files take on disk.  False where it reads something else, or follows what is written."""
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
def settings_of(session: "SparkSession", *, few: bool) -> Iterator[None]:
    """For one run; afterwards the session is as before."""
    if not few:
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
    """In one partition, if the run reads few."""
    return table.coalesce(1) if table.sparkSession.conf.get(IS_FEW, "false") == "true" else table
