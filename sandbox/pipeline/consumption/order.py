"""Messages accepted after a later one."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def order_breaks(calls: "DataFrame") -> "DataFrame":
    """The first acceptance of each message, compared with those of later messages before it.

    `calls` with origins, as `verdicts.with_origin` adds them.  A row with a null `key` concerns the whole queue.  A
    later acceptance is no break: that is a duplicate.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    queue = ("sandbox", "group", "account", "origin_topic", "origin_broker", "origin_queue_id")
    first = calls.where("outcome = 'SUCCESS'").groupBy(*queue, "origin_offset").agg(
        f.min("seq").alias("seq"), f.min_by("sharding", "seq").alias("sharding"))
    scopes = f.array(f.lit(None).cast("string"), f.when(f.col("sharding") != "", f.col("sharding")))
    asked = first.select("*", f.posexplode(scopes).alias("_scope", "key")).where("_scope = 0 or key is not null")
    earlier = (Window.partitionBy(*queue, "_scope", "key").orderBy("seq", "origin_offset")
               .rowsBetween(Window.unboundedPreceding, -1))
    return asked.withColumn("after_offset", f.max("origin_offset").over(earlier)).where(
        "after_offset > origin_offset").select(
            "sandbox", "group", f.col("origin_topic").alias("topic"),
            f.concat_ws(":", "origin_broker", "origin_queue_id").alias("queue"), "key",
            f.col("origin_offset").alias("queue_offset"), "after_offset", "seq")
