"""Students whose labs ran in their browsers, and the lists that the server received of them."""

import tempfile
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from django.utils import timezone

from queueviz.courses import lite_runs, submissions
from queueviz.courses.lite_models import LiteEntry, LiteRun
from queueviz.courses.lite_runs import Entry
from queueviz.models import Course, Enrolment, Sandbox
from sandbox.labs.catalogue import LABS
from sandbox.simulation.lab_player import LabPlayer
from tests.sim.browser_run import BrowserRun

ENGINE = "e" * 16
SEED = "4"
WALL_MS = 1_796_000_000_123
NUMBERS = count(1)
LETTERS = "abcdefghjkmnpqrstuvwxyz"

Script = Callable[[LabPlayer, BrowserRun], None]


class Reported(NamedTuple):
    """Report of a browser: its list, its lab, and the time of its clock."""

    entries: tuple[dict[str, Any], ...]
    row: Any
    now_ms: int


def solve(player: LabPlayer, browser: BrowserRun) -> None:
    player._lab.solve(player)
    browser.run(2)


@cache
def reported(lab: str, script: Script = solve, seed: str = SEED) -> Reported:
    with tempfile.TemporaryDirectory() as home:
        run = LiteRun(submission=submissions.Submission(lab=lab), seed=seed, wall_ms=WALL_MS, at_ms=WALL_MS)
        order = lite_runs.written(
            LABS[lab].template, LABS[lab].preset, seed, (), begin_ms=WALL_MS, until_ms=0, config=lite_runs.CONFIG
        )
        run.memory_bytes, run.first_port, run.conditions = order.memory_bytes, order.first_port, order.conditions
        browser = BrowserRun(Path(home), lite_runs.order_of(run, ()))
        script(LabPlayer(browser, LABS[lab]), browser)
        entries, row, now_ms = browser.entries(), browser.row(), browser.now_ms
        browser.close()
        return Reported(tuple(entries), row, now_ms)


def student(course: Course, report: Reported, *, name: str = "", lab: str = "", seed: str = SEED) -> LiteRun:
    """A student of the course whose browser reported this, an hour after it began; noted as the page does."""
    number = next(NUMBERS)
    letters = "".join(LETTERS[number // 23**power % 23] for power in range(6))
    slug = lab or report.row["lab"]
    enrolment = Enrolment.objects.create(course=course, pseudonym=name or f"Otter {number}", digest=letters)
    sandbox = Sandbox.objects.create(
        slug=f"lite-calm-otter-{letters}", course=course, template=LABS[slug].template, visited_at=timezone.now()
    )
    work = enrolment.submissions.create(lab=slug, sandbox=sandbox, steps=len(LABS[slug].steps))
    run = lite_runs.begin(work, engine=ENGINE, now=timezone.now())
    run.seed, run.wall_ms, run.at_ms, run.row = seed, WALL_MS, report.now_ms, report.row
    run.began_at = timezone.now() - timedelta(hours=1)
    run.save()
    store(run, report.entries)
    submissions.note(sandbox, report.row)
    LiteRun.objects.filter(pk=run.pk).update(proof=LiteRun.Proof.NONE)
    return run


def store(run: LiteRun, entries: Any) -> None:
    """Store the list as the server does when it comes."""
    run.entries.all().delete()
    run.receipt = ""
    for n, one in enumerate(entries, start=1):
        sent = Entry(n, **one)
        run.receipt = lite_runs.receipt_of(run.receipt, sent)
        arrived_at = run.began_at + timedelta(milliseconds=one["ms"] + 150)
        LiteEntry.objects.create(run=run, receipt=run.receipt, arrived_at=arrived_at, **sent._asdict())
    run.length = len(entries)
    run.save()
