"""The store source in Spark beside what else could read the same messages, in one run.

The store is written by the engine (log files of 128 MiB, four topics of four queues, bodies that do not compress).  A
query each, in turns, so that a busy moment of the machine meets all of them; medians of its repetitions:

    noop              every column of every row, to nowhere
    full              by topic: rows, CRC of bodies, number of properties
    light             by queue: rows, last store time, sum of offsets; `columns` names the three it needs
    light_all         the same without `columns`: all are decoded, as a Python data source is not told what is needed

    source            rocketmq-store                      parquet   the same rows, written by Spark (snappy)
    sealed, closed    rocketmq-store over sealed log files, with a live tail and without (`pipeline_sealed`)
    rows              a data source that yields tuples, record by record, in a struct loop

    scan              our scanner alone, all columns, in one process without Spark
    struct_loop       the loop of `rows` alone                            cat    the files through a pipe to nowhere

`…_mb_s` counts bytes of the log.  `latency`: from a message's born time to its row in foreachBatch, at 1000 messages a
second, with the settings of the session; goals: half of Parquet's rate, three times `rows`, p50 within 300 ms.

`start`: seconds of a command over a small store, with a cold and a warm Spark (`pipeline_start`).
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from sandbox.kernel.clock import wall_ms
from sandbox.pipeline.runs.launch import Child, Where, environment_of
from sandbox.pipeline.sources.records import rows_of
from sandbox.store_columns.queue_positions import log_files
from tests.bench import pipeline_sealed, pipeline_start
from tests.bench.pipeline_sealed import KINDS, LIGHT, Sealed, Took, took
from tests.bench.pipeline_store import MIB, fill

RATE = 1_000
WARM_MS = 3_000  # the first batches of a stream pay for what is compiled


class Scale(NamedTuple):
    """Amounts and repetitions."""

    log_mib: int
    log_file_mib: int
    repetitions: int
    slow_repetitions: int  # of what takes long and has no goal
    latency_s: float


SCALES = {
    "full": Scale(1_100, 128, 5, 2, 40.0),
    "quick": Scale(128, 32, 3, 1, 12.0),
    "smallest": Scale(2, 1, 1, 1, 4.0),
}


def run(quick: bool = False) -> dict[str, Any]:
    """Return figures of stores, those of a class (an audit, and grading it), and those of the start of a command."""
    scale = "quick" if quick else "full"
    return of_stores(scale) | of_a_class(scale) | {"start": pipeline_start.of_commands(scale)}


def of_stores(scale: str) -> dict[str, Any]:
    """Run in a separate process, as the pipeline does."""
    with tempfile.TemporaryDirectory(prefix="queueviz-bench-") as home:
        command = [sys.executable, "-m", "tests.bench.pipeline", home, scale]
        done = subprocess.run(command, env=environment_of(os.environ, Path(home)), stdout=subprocess.PIPE, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def of_a_class(scale: str) -> dict[str, Any]:
    """Both jobs in one worker process, as the server has one; grading comes first and pays for the start."""
    from tests.bench import pipeline_class, pipeline_course  # need Django, which a process with Spark has not

    with tempfile.TemporaryDirectory(prefix="queueviz-bench-") as name:
        home = Path(name)
        with (
            (home / "words").open("wb") as words,
            Child(Where("local[2]"), home / "spark", os.environ, errors=words) as child,
        ):
            grading = pipeline_course.run(child, home, pipeline_course.SCALES[scale])
            audit = pipeline_class.run(child, home, pipeline_class.SCALES[scale])
    return {"grading": grading, "delivery_audit": audit}


def measured(home: Path, scale: Scale) -> dict[str, Any]:
    """Every figure; `home` is empty."""
    from sandbox.pipeline.session import open_session
    from tests.bench.pipeline_rows import RowSource

    root = home / "broker-a"
    messages = fill(root, scale.log_mib * MIB, scale.log_file_mib * MIB)
    log_bytes = scale.log_mib * MIB
    spark = open_session(master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(RowSource)
    table = str(home / "table")
    spark.read.format("rocketmq-store").load(str(root)).write.parquet(table)
    assert spark.read.parquet(table).count() == messages
    reads: dict[str, Callable[[], Any]] = {
        "source": lambda: spark.read.format("rocketmq-store").load(str(root)),
        "parquet": lambda: spark.read.parquet(table),
        "rows": lambda: spark.read.format("rows-one-by-one").load(str(root)),
    }
    narrow = spark.read.format("rocketmq-store").option("columns", ",".join(LIGHT))
    works: dict[str, tuple[int, Callable[[], Any]]] = {}
    for name, read in reads.items():
        often = scale.slow_repetitions if name == "rows" else scale.repetitions
        works[f"noop.{name}"] = often, lambda read=read: noop(read())
        works[f"full.{name}"] = often, lambda read=read: full(read())
        works[f"light_all.{name}"] = often, lambda read=read: light(read())
    sealed = Sealed(spark, root, home)
    for kind in KINDS:
        works[f"noop.{kind}"] = scale.repetitions, lambda kind=kind: noop(sealed.read(kind))
        works[f"full.{kind}"] = scale.repetitions, lambda kind=kind: full(sealed.read(kind))
        works[f"light.{kind}"] = scale.repetitions, lambda kind=kind: light(sealed.read(kind, LIGHT))
    works["light.source"] = scale.repetitions, lambda: light(narrow.load(str(root)))
    works["light.parquet"] = works.pop("light_all.parquet")
    works["scan"] = scale.repetitions, lambda: scan(root)
    works["struct_loop"] = scale.slow_repetitions, lambda: struct_loop(root)
    works["cat"] = scale.repetitions, lambda: cat(root)
    taken = in_turns(works)
    figures: dict[str, Any] = {"messages": messages, "log_mib": scale.log_mib, "processors": os.cpu_count()}
    for name, (seconds, cpu_seconds) in taken.items():
        figures[name] = {
            "rows_s": round(messages / seconds),
            "mb_s": round(log_bytes / seconds / 1e6, 1),
            "cpu_s": round(cpu_seconds, 2),
        }
    figures["ratios"] = ratios({name: one.wall_s for name, one in taken.items()}) | pipeline_sealed.ratios(taken)
    figures |= {"seal_s": round(sealed.cost.wall_s, 1), "seal_cpu_s": round(sealed.cost.cpu_s, 1)}
    figures["latency"] = latency(spark, home, scale.latency_s)
    spark.stop()
    return figures


def ratios(taken: dict[str, float]) -> dict[str, float]:
    """Return the speed of QueueViz relative to the other reader, by query."""
    found = {}
    for query in ("noop", "full", "light", "light_all"):
        ours, parquet = taken[f"{query}.source"], taken[f"{query.removesuffix('_all')}.parquet"]
        found[f"{query}_of_parquet"] = round(parquet / ours, 3)
        if query != "light":
            found[f"{query}_of_rows"] = round(taken[f"{query}.rows"] / ours, 2)
    return found


def in_turns(works: dict[str, tuple[int, Callable[[], Any]]]) -> dict[str, Took]:
    """Medians of each; once before, untimed."""
    taken: dict[str, list[Took]] = {name: [] for name in works}
    order = random.Random(1)
    for turn in range(1 + max(often for often, _ in works.values())):
        due = [name for name, (often, _) in works.items() if turn <= often]
        for name in order.sample(due, len(due)):
            one = took(works[name][1])
            if turn:
                taken[name].append(one)
            print(f"{turn} {name} {one.wall_s:.2f} s, {one.cpu_s:.2f} s of processors", file=sys.stderr)
    return {name: Took(*map(median, zip(*each, strict=True))) for name, each in taken.items()}


def noop(rows: Any) -> None:
    rows.write.format("noop").mode("overwrite").save()


def full(rows: Any) -> None:
    from pyspark.sql import functions as f

    rows.groupBy("topic").agg(f.count("*"), f.sum(f.crc32("body")), f.sum(f.size("properties"))).collect()


def light(rows: Any) -> None:
    from pyspark.sql import functions as f

    rows.groupBy("queueId").agg(f.count("*"), f.max("storeTimestamp"), f.sum("queueOffset")).collect()


def scan(root: Path) -> int:
    return sum(len(batch) for batch in rows_of(root))


def struct_loop(root: Path) -> int:
    from tests.bench.pipeline_rows import rows_in

    return sum(1 for log in log_files(root) for _ in rows_in(Path(log.path)))


def cat(root: Path) -> None:
    subprocess.run(["cat", *(log.path for log in log_files(root))], stdout=subprocess.DEVNULL, check=True)


def latency(spark: Any, home: Path, seconds: float) -> dict[str, Any]:
    """Milliseconds from a message's birth to its row; every row counts, but those of the first seconds."""
    root = home / "followed"
    command = [sys.executable, "-m", "tests.bench.pipeline_store", str(root), str(RATE), str(seconds)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE)
    while not (root / "commitlog").is_dir():
        time.sleep(0.05)
    ages: list[int] = []
    batches: list[int] = []
    began_ms = wall_ms()

    def seen(rows: Any, _: int) -> None:
        born = rows.select("bornTimestamp").toArrow().column(0).to_pylist()
        now_ms = wall_ms()
        batches.append(len(born))
        ages.extend(now_ms - born_ms for born_ms in born if born_ms > began_ms + WARM_MS)

    rows = spark.readStream.format("rocketmq-store").option("columns", "bornTimestamp,topic,body").load(str(root))
    query = rows.writeStream.foreachBatch(seen).option("checkpointLocation", str(home / "checkpoint")).start()
    reported, _ = writer.communicate()
    query.processAllAvailable()
    query.stop()
    assert sum(batches) == int(reported)
    ages.sort()
    return {
        "p50_ms": ages[len(ages) // 2],
        "p95_ms": ages[len(ages) * 95 // 100],
        "max_ms": ages[-1],
        "messages": len(ages),
        "batches": len(batches),
    }


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]), SCALES[sys.argv[2]])))
