"""A lab that ran in a browser and was executed on the server: the job `grading` reads it like a hosted sandbox."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command

from queueviz.courses import proof_requests, proofs
from queueviz.courses.lite_models import LiteRun
from queueviz.models import Course, Grade
from tests.web.lite_class import ENGINE, reported, store, student

pytestmark = [pytest.mark.pipeline, pytest.mark.django_db]
LAB = "members-and-queues"


@pytest.fixture
def course(settings: Any, tmp_path: Path) -> Course:
    settings.QUEUEVIZ_HOME = tmp_path
    teacher = get_user_model().objects.create_user("teacher")
    return Course.objects.create(slug="quiet-otter-hqnzrp", title="101", teacher=teacher, labs=[LAB])


def test_an_executed_run_is_graded_like_a_hosted_one_and_receipts_of_another_run_are_named(
    course: Course, commands_share_spark: None, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = student(course, reported(LAB), name="Otter")
    forged = student(course, reported(LAB), name="Lynx")
    store(forged, reported(LAB).entries[:3])
    for run in (honest, forged):
        proof_requests.ask(run, proof_requests.WHOLE_CLASS)
    while (claimed := proof_requests.next_run()) is not None:
        proofs.prove(claimed, engines=(ENGINE,))
    assert list(LiteRun.objects.order_by("pk").values_list("proof", flat=True)) == ["equal", "differs"]
    capsys.readouterr()

    call_command("pipeline", "grading", "--course", course.slug, "--rerun", "--json")
    said: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (said["attempts"], said["rerun"]) == (2, 2)
    assert {(row["student"], row["kind"]) for row in said["differences"]} == {("Lynx", "receipt")}

    call_command("pipeline", "grading", "--course", course.slug, "--publish")
    assert list(Grade.objects.order_by("pk").values_list("score", flat=True)) == [100, 0]
