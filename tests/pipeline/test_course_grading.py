"""`pipeline grading --course`: every sandbox of a course on Spark, differences first, published when asked to, and the
runs executed again as proof."""

import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command

from queueviz.courses import submissions
from queueviz.models import Course, Enrolment, Grade, Sandbox, Submission
from sandbox.journal.schema import from_row
from sandbox.journal.segments import rows_since
from sandbox.labs.catalogue import LABS
from sandbox.labs.grade import grade
from sandbox.queries.snapshot.lab import lab_row
from sandbox.simulation.lab_player import play
from tests.pipeline.audits import table
from tests.pipeline.conftest import Run
from tests.pipeline.test_grading import journal_of
from tests.sim.recorded_stage import Recorded

pytestmark = [pytest.mark.pipeline, pytest.mark.django_db]
LAB = LABS["members-and-queues"]


@pytest.fixture
def course(settings: Any, tmp_path: Path) -> Course:
    settings.QUEUEVIZ_HOME = tmp_path
    teacher = get_user_model().objects.create_user("teacher")
    return Course.objects.create(slug="quiet-otter-hqnzrp", title="101", teacher=teacher, labs=[LAB.slug])


def done(course: Course, slug: str, home: Path) -> Submission:
    """A student's first step in a sandbox that records its run, noted as the page does."""
    recorded = Recorded(home / "made", "empty", seed=4, luck=1)
    numbers = LAB.numbers("4", 1)
    assert recorded.act("StartLab", lab=LAB.slug)
    recorded.run(2)
    for part, value in (("predict", "17"), ("", ""), ("say", str(numbers["idle"])), ("why", "one_owner")):
        if part:
            assert recorded.act("AnswerStep", lab=LAB.slug, step=1, part=part, value=value)
            recorded.run(1)
        else:
            recorded.act("StartConsumer", group=numbers["group"], copies=numbers["members"] - numbers["at_first"])
            recorded.run(30)
    recorded.close()
    shutil.move(recorded.directory, home / "sandboxes" / slug)
    sandbox = Sandbox.objects.create(slug=slug, course=course, template="empty", visited_at="2026-01-01T00:00Z")
    place = Enrolment.objects.create(course=course, pseudonym=slug.title(), digest=slug)
    work = Submission.objects.create(enrolment=place, lab=LAB.slug, sandbox=sandbox, steps=2)
    [attempt] = grade(map(from_row, rows_since(home / "sandboxes" / slug / "journal", 0)))
    submissions.note(sandbox, lab_row(attempt.attempt, attempt.attempt.evidence.now_ms))
    return work


def test_differences_are_listed_first_and_published_when_asked_to(
    course: Course, commands_share_spark: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sandboxes").mkdir()
    for slug in ("otter", "lynx"):
        done(course, slug, tmp_path)
    [segment] = sorted((tmp_path / "sandboxes" / "lynx" / "journal").iterdir())
    text = segment.read_bytes()
    assert text.count(b'"value":"17"') == 2, "the action, and what was written of it"
    segment.write_bytes(text.replace(b'"value":"17"', b'"value":"18"'))
    Grade.objects.filter(submission__enrolment__pseudonym="Otter").update(score=10)
    capsys.readouterr()

    call_command("pipeline", "grading", "--course", course.slug, "--rerun", "--json")
    said: dict[str, Any] = orjson.loads(capsys.readouterr().out.splitlines()[-1])
    assert (said["attempts"], said["published"], said["rerun"]) == (2, None, 2)
    kinds = {(row["student"], row["kind"]) for row in said["differences"]}
    assert {("Otter", "score"), ("Lynx", "receipt")} <= kinds
    assert {student for student, kind in kinds if kind == "rerun"} == set(), "that is what receipts are for"
    assert Grade.objects.get(submission__enrolment__pseudonym="Otter").score == 10

    call_command("pipeline", "grading", "--course", course.slug, "--publish")
    out = capsys.readouterr().out
    sentence = "Otter, lab 4: The recorded score is 10 (1/2); the regraded score is 50 (1/2)."
    assert sentence in out.splitlines()
    assert "Published: 1 grades changed, 0 kept: their students continued since." in out
    assert Grade.objects.get(submission__enrolment__pseudonym="Otter").score == 50


def test_what_a_class_found_hard_is_counted_by_step(run: Run, tmp_path: Path) -> None:
    wrong, right = (play(LAB, script, 1) for script in (LAB.wrong[0].play, LAB.solve))
    journals = {
        name: journal_of(list(played.entries), tmp_path / name)
        for name, played in (("a", wrong), ("b", wrong), ("c", right))
    }
    *_, last = run("class_analytics", journals=journals)
    assert last["state"] == "done", last
    rows = {name: table(tmp_path / "out", name) for name in ("steps", "predictions", "mistakes", "dead_ends")}
    met = [len(played.attempt.met) for played in (wrong, wrong, right)]
    assert sum(row["met"] for row in rows["steps"]) == sum(met)
    assert all(row["median_ms"] > 0 for row in rows["steps"])
    mistakes = wrong.attempt.mistakes
    assert {(row["step"], row["text"], row["count"]) for row in rows["mistakes"]} == {
        (step, verdict.text, 2 * sum(one.text == verdict.text for _, _, one in mistakes))
        for step, _, verdict in mistakes
    }
    assert [(row["step"], row["count"], row["sandboxes"]) for row in rows["dead_ends"]] == [
        (len(wrong.attempt.met) + 1, 2, 2)
    ]
