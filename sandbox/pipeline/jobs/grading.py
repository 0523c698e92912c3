"""Job `grading`: every lab attempt graded again from the journal, and the differences from the live grades.

The function is the one that graded live.  Tables:

    attempts      sandbox, lab, attempt, began_seq, events, exam, met, steps, score, finished, hints, mistakes, phase,
                  said, digest
    steps         sandbox, lab, attempt, step, seq, at_ms, took_ms, said, rests_on, given, truth, accurate, hints
    mistakes      sandbox, lab, attempt, step, seq, text, said: answers that were wrong, the sentence they got, and its
                  text without values, the same for the same misconception
    receipts      sandbox, lab, attempt, step, part, seq, at_ms, digest
    differences   sandbox, lab, attempt, step, live, found: what the journal has as the grade, and what is found again;
                  without a step it is about the end of the lab, and null is what is missing
    unread        sandbox, why: journals that are no journals, or are damaged

`met` of `steps` are done; `given` is the prediction, sealed until the step was met, and `truth` what it was;
`rests_on` are numbers of entries.  `digest` is the SHA-256 of the attempt's lines up to the receipt, for an attempt
its last one.  `at_ms` is of the sandbox's clock; `took_ms` how long the sandbox was awake since the step was opened.
Sentences are English.  Labs that this release does not know are left out.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.pipeline.jobs.job import Given, Job, WrongOption
from sandbox.pipeline.journal_grades import Piece, Rows, graded, tables_of
from sandbox.pipeline.spark.parallel_work import spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run(job_input: Given) -> "Mapping[str, DataFrame]":
    if not job_input.source.journals:
        raise WrongOption("Grading needs a journal, and a store has none. Choose a sandbox with --sandbox.")
    pieces = [
        Piece(sandbox, directory, job_input.true_to[sandbox])
        for sandbox, directory in sorted(job_input.source.journals.items())
        if sandbox in job_input.true_to
    ]
    return tables_of(job_input.session, Rows.joined(spread(job_input.session, pieces, graded)))


GRADING = Job("grading", "Which score does every lab attempt have, and does it equal the recorded score?", run)
