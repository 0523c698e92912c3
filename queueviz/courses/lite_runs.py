"""The runs of labs in students' browsers: their beginning, their list of outside events, and the order they make.

The list is the run: executed again from the order, it gives the same journal to the last byte (`proofs`).
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from queueviz.courses.lab_seeds import seed_of
from queueviz.courses.lite_models import LiteEntry, LiteRun
from queueviz.courses.models import Submission
from sandbox.cluster.config import HostConfig
from sandbox.control.branch_orders import Came, RunOrder
from sandbox.hosting.recipes import written
from sandbox.kernel import json_bytes
from sandbox.labs.catalogue import LABS

SEED_BYTES = 8
MOST_ENTRIES = 5_000
CONFIG = HostConfig()  # of every browser, and of every execution of its run


class Entry(NamedTuple):
    """One outside event as the browser sent it (`LiteEntry`), with the actor that the server knows."""

    n: int
    turn: int
    ms: int
    at_ms: int
    name: str | None
    fields: dict[str, object]
    by: str


def begin(submission: Submission, *, engine: str, now: datetime) -> LiteRun:
    """Return the run of a submission; the first call draws its seed."""
    course, lab = submission.enrolment.course, LABS[submission.lab]
    seed = seed_of(course, lab) if course.same_numbers else secrets.token_hex(SEED_BYTES)
    wall_ms = round(now.timestamp() * 1000)
    order = written(lab.template, lab.preset, seed, (), begin_ms=wall_ms, until_ms=0, config=CONFIG)
    run, _ = LiteRun.objects.get_or_create(
        submission=submission,
        defaults={
            "seed": seed,
            "wall_ms": wall_ms,
            "memory_bytes": order.memory_bytes,
            "first_port": order.first_port,
            "conditions": order.conditions,
            "engine": engine,
            "at_ms": wall_ms,
        },
    )
    return run


def order_of(run: LiteRun, entries: Sequence[LiteEntry]) -> RunOrder:
    """Return the order that executes the run with these entries, until the newest known time of its clock."""
    lab = LABS[run.submission.lab]
    until_ms = max([run.at_ms, *(entry.at_ms for entry in entries)])
    order = written(
        lab.template, lab.preset, run.seed, (), begin_ms=run.wall_ms, until_ms=until_ms - run.wall_ms, config=CONFIG
    )
    return replace(
        order,
        memory_bytes=run.memory_bytes,
        first_port=run.first_port,
        conditions=run.conditions,
        changes=dict(lab.changes),
        came=tuple(Came(entry.turn, entry.ms, entry.name, entry.fields, by=entry.by) for entry in entries),
    )


def receipt_of(before: str, entry: Entry) -> str:
    """Return the receipt of an entry after the receipt `before`: SHA-256 in hex."""
    return hashlib.sha256(before.encode() + json_bytes.dumps(list(entry), option=json_bytes.OPT_SORT_KEYS)).hexdigest()
