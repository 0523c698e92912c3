"""Every attempt at a lab, graded again from the journal by the function that graded it live, and where the two differ.

Tables:

    attempts      sandbox, lab, attempt, began_seq, events, met, steps, score, finished, hints, mistakes, said, digest
    steps         sandbox, lab, attempt, step, seq, said, rests_on, given, truth, accurate
    mistakes      sandbox, lab, attempt, step, seq, said: answers that were wrong, and the sentence they got
    receipts      sandbox, lab, attempt, step, part, seq, at_ms, digest
    differences   sandbox, lab, attempt, step, live, found: what the journal has as the grade, and what is found again;
                  without a step it is about the end of the lab, and null is what is missing
    unread        sandbox, why: journals that are no journals, or are damaged

`met` of `steps` are done; `given` is the prediction, sealed until the step was met, and `truth` what it was; `rests_on`
are numbers of entries.  `digest` is the SHA-256 of the attempt's lines up to the receipt, for an attempt its last one.
Sentences are English.  Labs that this release does not know are left out.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.pipeline.graded import Piece, Rows, graded
from sandbox.pipeline.jobs.job import Given, Job, WrongOption
from sandbox.pipeline.spread import spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OF_ATTEMPT = "sandbox STRING, lab STRING, attempt BIGINT, "
TABLES = {
    "attempts": _OF_ATTEMPT + "began_seq BIGINT, events BIGINT, met BIGINT, steps BIGINT, score BIGINT, "
                              "finished BOOLEAN, hints BIGINT, mistakes BIGINT, said STRING, digest STRING",
    "steps": _OF_ATTEMPT + "step BIGINT, seq BIGINT, said STRING, rests_on ARRAY<BIGINT>, given STRING, "
                           "truth STRING, accurate BOOLEAN",
    "mistakes": _OF_ATTEMPT + "step BIGINT, seq BIGINT, said STRING",
    "receipts": _OF_ATTEMPT + "step BIGINT, part STRING, seq BIGINT, at_ms BIGINT, digest STRING",
    "differences": _OF_ATTEMPT + "step BIGINT, live STRING, found STRING",
    "unread": "sandbox STRING, why STRING",
}  # fmt: skip


def run(given: Given) -> "Mapping[str, DataFrame]":
    if not given.source.journals:
        raise WrongOption("Labs are graded from journals, and a store has none: name a sandbox with --sandbox.")
    pieces = [Piece(sandbox, directory, given.true_to[sandbox])
              for sandbox, directory in sorted(given.source.journals.items()) if sandbox in given.true_to]
    parts = spread(given.session, pieces, graded)
    whole = Rows(*([row for part in parts for row in part[at]] for at in range(len(Rows._fields))))
    return {name: given.session.createDataFrame(rows, TABLES[name]).coalesce(1)
            for name, rows in whole._asdict().items()}


GRADING = Job("grading", "What is every attempt at a lab worth, and was it graded so?", run)
