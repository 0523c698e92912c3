"""Job `hot_keys`: the distribution of messages over the queues of a topic and over its keys.

`queues` and `keys` count exactly; of each topic the `top` most frequent keys are listed.  `approximate` is the count
of a sketch of fixed size, null where it does not list the key: a comparison for topics with too many keys to count.
In `skew`, `keys` is the exact number of different keys, `keys_approximate` that of HyperLogLog++, and
`largest_share` the share of the fullest queue.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.pipeline.jobs.job import Given, Job, WrongOption
from sandbox.pipeline.sealed.reading import messages
from sandbox.pipeline.sources.records import STORE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TOP = 20  # keys a topic
MAX_TOP = 1_000
SKETCH_ITEMS = 10_000  # counters a topic; Spark's own default
TOPIC = ("sandbox", "topic")


def run(job_input: Given) -> "Mapping[str, DataFrame]":
    from pyspark.sql import functions as f

    if not job_input.source.stores:
        raise WrongOption("No store to read: no broker of this sandbox has stored a message yet.")
    top = _top(job_input.options.get("top"))
    in_queues = _read(job_input, "topic,queueId").withColumn(
        "queue", f.concat_ws(":", f.element_at(f.split(STORE, "/"), -1), "queueId")
    )
    queues = in_queues.groupBy(*TOPIC, "queue").agg(f.count(f.lit(1)).alias("messages"))
    totals = in_queues.groupBy(*TOPIC).agg(f.count(f.lit(1)).alias("_all"))
    words = _read(job_input, "topic,keys").select(
        *TOPIC, f.explode(f.array_distinct(f.split("keys", " "))).alias("key")
    )
    words = words.where(f.col("key") != "")
    keys = words.groupBy(*TOPIC, "key").agg(f.count(f.lit(1)).alias("messages"))
    sketched = words.groupBy(*TOPIC).agg(f.expr(f"approx_top_k(key, {top}, {SKETCH_ITEMS})").alias("_items"))
    sketched = sketched.select(*TOPIC, f.explode("_items").alias("_item")).select(
        *TOPIC, f.col("_item.item").alias("key"), f.col("_item.count").alias("approximate")
    )
    skew = queues.groupBy(*TOPIC).agg(f.count(f.lit(1)).alias("queues"), f.max("messages").alias("_most"))
    different = words.groupBy(*TOPIC).agg(
        f.count_distinct("key").alias("keys"), f.approx_count_distinct("key").alias("keys_approximate")
    )
    return {
        "queues": queues.join(totals, list(TOPIC))
        .select(*TOPIC, "queue", "messages", _share("messages"))
        .orderBy(*TOPIC, "queue"),
        "keys": _fullest(keys, top)
        .join(totals, list(TOPIC))
        .join(sketched, [*TOPIC, "key"], "left")
        .select(*TOPIC, "key", "messages", _share("messages"), "approximate")
        .orderBy(*TOPIC, f.desc("messages"), "key"),
        "skew": skew.join(totals, list(TOPIC))
        .join(different, list(TOPIC), "left")
        .select(
            *TOPIC,
            "queues",
            f.coalesce("keys", f.lit(0)).alias("keys"),
            f.coalesce("keys_approximate", f.lit(0)).alias("keys_approximate"),
            _share("_most").alias("largest_share"),
        )
        .orderBy(*TOPIC),
    }


def _read(job_input: Given, columns: str) -> "DataFrame":
    """Return the messages of all stores (of one topic, if the option names it) with a column `sandbox`."""
    from pyspark.sql import functions as f

    topic = job_input.options.get("topic")
    rows = messages(
        job_input.session,
        job_input.source.stores,
        job_input.sealed,
        columns.split(","),
        {"topic": topic} if topic else {},
        named=True,
    )
    return rows.withColumn("sandbox", f.element_at(f.split(STORE, "/"), 1))


def _fullest(keys: "DataFrame", top: int) -> "DataFrame":
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    order = Window.partitionBy(*TOPIC).orderBy(f.desc("messages"), "key")
    return keys.withColumn("_rank", f.row_number().over(order)).where(f.col("_rank") <= top)


def _share(column: str) -> "Column":
    from pyspark.sql import functions as f

    return (f.col(column) / f.col("_all")).alias("share")


def _top(text: str | None) -> int:
    if text is None:
        return TOP
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= MAX_TOP):
        raise WrongOption(f"--option top must be a number from 1 to {MAX_TOP}, not {text}.")
    return int(text)


HOT_KEYS = Job("hot_keys", "How evenly are messages distributed over queues and keys?", run, ("topic", "top"))
