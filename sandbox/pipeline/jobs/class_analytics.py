"""Job `class_analytics`: difficulties of a class by lab and step, such as time, hints and wrong answers.

    steps         lab, step, met, median_ms, p90_ms, hints, hinted, predicted, wrong: how many attempts met the step,
                  how long the sandbox was awake meanwhile, hints, attempts with hints, predictions given and wrong
    predictions   lab, step, given, truth, count: wrong ones, the commonest first
    mistakes      lab, step, text, said, count, sandboxes: wrong observations and reasons by the sentence they got,
                  which is the misconception's; `said` is that of one of them
    dead_ends     lab, step, phase, count, sandboxes: attempts that were abandoned or are open there

Every attempt counts.  Journals that cannot be read, and labs that this release does not have, are left out.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.pipeline.jobs.job import Given, Job, WrongOption
from sandbox.pipeline.journal_grades import Piece, Rows, graded, tables_of
from sandbox.pipeline.spark.parallel_work import spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run(job_input: Given) -> "Mapping[str, DataFrame]":
    from pyspark.sql import functions as f

    if not job_input.source.journals:
        raise WrongOption("A store has no labs. Choose a course with --course.")
    pieces = [
        Piece(sandbox, directory, job_input.true_to[sandbox])
        for sandbox, directory in sorted(job_input.source.journals.items())
        if sandbox in job_input.true_to
    ]
    tables = tables_of(job_input.session, Rows.joined(spread(job_input.session, pieces, graded)))
    wrong = f.col("accurate") == f.lit(False)
    steps = (
        tables["steps"]
        .groupBy("lab", "step")
        .agg(
            f.count(f.lit(1)).alias("met"),
            f.percentile_approx("took_ms", 0.5).alias("median_ms"),
            f.percentile_approx("took_ms", 0.9).alias("p90_ms"),
            f.sum("hints").alias("hints"),
            f.count_if(f.col("hints") > 0).alias("hinted"),
            f.count("given").alias("predicted"),
            f.count_if(wrong).alias("wrong"),
        )
    )
    predictions = (
        tables["steps"]
        .where(wrong)
        .groupBy("lab", "step", "given")
        .agg(f.first("truth").alias("truth"), f.count(f.lit(1)).alias("count"))
    )
    mistakes = (
        tables["mistakes"]
        .groupBy("lab", "step", "text")
        .agg(
            f.first("said").alias("said"),
            f.count(f.lit(1)).alias("count"),
            f.count_distinct("sandbox").alias("sandboxes"),
        )
    )
    dead_ends = (
        tables["attempts"]
        .where("not finished")
        .groupBy("lab", (f.col("met") + 1).alias("step"), "phase")
        .agg(f.count(f.lit(1)).alias("count"), f.count_distinct("sandbox").alias("sandboxes"))
    )
    return {
        "steps": steps.orderBy("lab", "step"),
        "predictions": predictions.orderBy("lab", "step", f.desc("count"), "given"),
        "mistakes": mistakes.orderBy("lab", "step", f.desc("count"), "text"),
        "dead_ends": dead_ends.orderBy("lab", "step", "phase"),
    }


CLASS_ANALYTICS = Job("class_analytics", "Which labs and steps were difficult for a class?", run)
