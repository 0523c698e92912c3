"""The runs of labs in students' browsers: their beginning, their list of outside events, and the order they make.

The list is the run: executed again from the order, it gives the same journal to the last byte (`proofs`).
"""

import hashlib
import secrets
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction

from queueviz.access.visitor import Visitor, afresh
from queueviz.courses import presence, submissions
from queueviz.courses.course_access import digests_of
from queueviz.courses.deadlines import due_of
from queueviz.courses.lab_seeds import seed_of
from queueviz.courses.lite_models import LiteEntry, LiteRun
from queueviz.courses.models import Submission
from sandbox.cluster.config import HostConfig
from sandbox.control.branch_orders import Came, RunOrder
from sandbox.hosting.recipes import written
from sandbox.kernel import json_bytes
from sandbox.labs.catalogue import LABS
from sandbox.queries.rows.labs import LabRow

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


class Known(NamedTuple):
    """A run at the time when its browser connects.

    `receipts`: of its entries, in order.  `due_at`: when the student's work is due.
    """

    run: LiteRun
    receipts: list[str]
    due_at: datetime | None


def visit_all(asked: Sequence[tuple[Visitor, str]]) -> list[Known | None]:
    """Return for each visitor the run of this sandbox if it is the visitor's own work in a course, else None."""
    rows = LiteRun.objects.select_related("submission__sandbox", "submission__enrolment__course").filter(
        submission__sandbox__slug__in=[slug for _, slug in asked], submission__enrolment__removed_at__isnull=True
    )
    runs = {run.submission.sandbox.slug: run for run in rows if run.submission.sandbox is not None}
    receipts: dict[int, list[str]] = {run.pk: [] for run in runs.values()}
    stored = LiteEntry.objects.filter(run__in=list(receipts)).order_by("run", "n")
    for run_id, receipt in stored.values_list("run_id", "receipt"):
        receipts[run_id].append(receipt)
    known: list[Known | None] = []
    for visitor, slug in asked:
        run = runs.get(slug)
        if run is None or run.submission.enrolment.digest not in digests_of(afresh(visitor)):
            known.append(None)
        else:
            own = copy(run)  # two browsers may ask for the same one
            known.append(Known(own, list(receipts[run.pk]), due_of(run.submission.enrolment)))
    return known


def entries_of(run: LiteRun) -> list[LiteEntry]:
    return list(run.entries.order_by("n"))


def keep(runs: Sequence[LiteRun], entries: Sequence[LiteEntry]) -> None:
    """Store new entries with the state of their runs, all or nothing.

    Raises IntegrityError if another process has stored an entry of the same number.
    """
    newest = {entry.run_id: entry for entry in entries}
    for run in runs:
        run.length, run.receipt = newest[run.pk].n, newest[run.pk].receipt
    with transaction.atomic():
        LiteEntry.objects.bulk_create(entries)
        _update(runs, "length", "receipt", "at_ms", "hold", "odd", "intervened")


def note(stated: Sequence[tuple[LiteRun, LabRow]]) -> None:
    """Store the labs as browsers say they are, with the progress that lists show until the whole list is executed."""
    with transaction.atomic():
        for run, row in stated:
            run.row = row
            sandbox = run.submission.sandbox
            if sandbox is not None:
                submissions.note(sandbox, row)
        _update([run for run, _ in stated], "row")


def note_connected(runs: Sequence[LiteRun]) -> None:
    """Record that the browsers of these runs are connected, and how far their clocks are."""
    presence.note_all([run.submission.enrolment_id for run in runs])
    _update(runs, "at_ms", "hold", "intervened")


def _update(runs: Sequence[LiteRun], *names: str) -> None:
    """Store fields of many runs with one prepared statement.

    `bulk_update` builds an expression for each value: it takes ten times as long.
    """
    fields = [field for field in LiteRun._meta.concrete_fields if field.name in names]
    columns = ", ".join(f"{connection.ops.quote_name(str(field.column))} = %s" for field in fields)
    values = [
        (*(field.get_db_prep_save(getattr(run, field.attname), connection) for field in fields), run.pk) for run in runs
    ]
    with transaction.atomic(), connection.cursor() as cursor:
        table = connection.ops.quote_name(LiteRun._meta.db_table)
        cursor.executemany(f"UPDATE {table} SET {columns} WHERE id = %s", values)


def entry_of(run: LiteRun, sent: Entry, receipt: str, now: datetime) -> LiteEntry:
    """Return the row of an entry that has just arrived."""
    return LiteEntry(run=run, arrived_at=now, receipt=receipt, **sent._asdict())


def receipt_of(before: str, entry: Entry) -> str:
    """Return the receipt of an entry after the receipt `before`: SHA-256 in hex."""
    return hashlib.sha256(before.encode() + json_bytes.dumps(list(entry), option=json_bytes.OPT_SORT_KEYS)).hexdigest()
