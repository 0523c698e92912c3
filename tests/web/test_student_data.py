"""Stored data of a student: shown, exported and deleted by the student and the teacher only."""

import io
import zipfile
from typing import Any

import orjson
import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from queueviz import engine
from queueviz.access.visitor import SESSIONS
from queueviz.links import share_links
from queueviz.models import AuditRecord, Course, Enrolment, Grant, PipelineRun, Sandbox, Submission
from queueviz.sandboxes import ownership
from sandbox.kernel.errors import EngineBusy
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB, begun, joined
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db
CONFIRMED = {"confirm": "delete"}


def opened(answer: Any) -> dict[str, bytes]:
    assert answer.status_code == 200, answer.content
    with zipfile.ZipFile(io.BytesIO(answer.content)) as pack:
        return {name: pack.read(name) for name in pack.namelist()}


def place_of(pseudonym: str) -> Enrolment:
    return Enrolment.objects.get(pseudonym=pseudonym)


def seats_kept() -> list[str]:
    found = (SESSIONS.SessionStore().decode(row.session_data).get("seats", {}) for row in Session.objects.all())
    return [secret for seats in found for secret in seats.values()]


def test_a_student_reads_what_is_stored_and_what_a_deletion_takes(course: Course) -> None:
    student = joined(course, "Otter")
    begun(course, student)
    page = student.get(f"/c/{course.slug}/data/").content.decode()
    for text in (
        "Stored data of Otter",
        "Export my data",
        "Leave and delete my data",
        "every answer, receipt and score",
        "1 sandbox with its journal",
    ):
        assert text in page
    assert f"/c/{course.slug}/data/" in student.get(f"/c/{course.slug}/").content.decode()


def test_an_export_has_the_rows_of_every_table_and_the_journals(course: Course) -> None:
    student = joined(course, "Otter")
    sandbox = begun(course, student)
    student.post(f"/c/{course.slug}/hand/", {"do": "up", "question": "Why does it stand?"})
    PipelineRun.objects.create(sandbox=sandbox, job="latency", who="x", visitor="x")
    journal = engine.directory_of(sandbox.slug) / "journal"
    journal.mkdir(parents=True)
    (journal / "00000000000000000000.ndjson").write_bytes(b'{"seq":0}\n')
    found = opened(student.get(f"/c/{course.slug}/data/export.zip"))
    stored = orjson.loads(found["student.json"])
    tables = stored["tables"]
    assert {name: len(rows) for name, rows in tables.items()} == {
        "queueviz.enrolment": 1,
        "queueviz.submission": 1,
        "queueviz.sandbox": 1,
        "queueviz.grant": 2,
        "queueviz.pipelinerun": 1,
        "queueviz.auditrecord": 1,
    }
    assert tables["queueviz.enrolment"][0]["pseudonym"] == "Otter"
    assert tables["queueviz.enrolment"][0]["question"] == "Why does it stand?"
    assert len(stored["browsers"]) == 1
    assert found[f"sandboxes/{sandbox.slug}/journal/00000000000000000000.ndjson"] == b'{"seq":0}\n'
    assert "error" in orjson.loads(found[f"sandboxes/{sandbox.slug}/attempts.json"]), "exported all the same"


def test_an_export_has_nothing_of_another_student(course: Course, teacher: Client) -> None:
    student, other = joined(course, "Otter"), joined(course, "Lynx")
    theirs = begun(course, other)
    number = place_of("Otter").pk
    for answer in (
        student.get(f"/c/{course.slug}/data/export.zip"),
        teacher.get(f"/c/{course.slug}/students/{number}/data/export.zip"),
    ):
        text = b"".join(opened(answer).values()).decode()
        assert "Lynx" not in text
        assert theirs.slug not in text
        assert place_of("Lynx").digest not in text


def test_exports_are_counted(course: Course) -> None:
    student = joined(course, "Otter")
    answers = [student.get(f"/c/{course.slug}/data/export.zip").status_code for _ in range(6)]
    assert answers == [200] * 4 + [429] * 2


def test_a_student_leaves_and_nothing_is_left_but_the_others(course: Course, port: FakePort) -> None:
    student, other = joined(course, "Otter"), joined(course, "Lynx")
    mine, kept = begun(course, student), begun(course, other)
    answer = student.post(f"/c/{course.slug}/data/", CONFIRMED)
    assert (answer.status_code, answer["Location"]) == (302, "/join/")
    assert student.get(f"/c/{course.slug}/").status_code == 404
    assert [one.pseudonym for one in course.enrolments.all()] == ["Lynx"]
    assert list(Submission.objects.values_list("sandbox", flat=True)) == [kept.pk]
    assert set(port.sandboxes) == {kept.slug}
    assert not AuditRecord.objects.filter(slug=mine.slug).exists()
    assert Grant.objects.exclude(sandbox=kept).count() == 0
    assert len(seats_kept()) == 1


def test_a_deletion_that_was_not_confirmed_deletes_nothing(course: Course, teacher: Client) -> None:
    student = joined(course, "Otter")
    begun(course, student)
    number = place_of("Otter").pk
    assert student.post(f"/c/{course.slug}/data/").status_code == 422
    assert teacher.post(f"/c/{course.slug}/students/{number}/data/", {"confirm": "yes"}).status_code == 422
    assert teacher.post(f"/c/{course.slug}/delete/").status_code == 422
    assert (Enrolment.objects.count(), Sandbox.objects.count()) == (1, 1)


def test_the_teacher_deletes_a_student_who_was_removed(course: Course, teacher: Client) -> None:
    begun(course, joined(course, "Otter"))
    number = place_of("Otter").pk
    teacher.post(f"/c/{course.slug}/students/{number}/", {"do": "remove"})
    address = f"/c/{course.slug}/students/{number}/data/"
    assert address in teacher.get(f"/c/{course.slug}/").content.decode(), "what was done is still there"
    assert teacher.get(address).status_code == 200
    assert teacher.post(address, CONFIRMED)["Location"] == f"/c/{course.slug}/"
    assert (Enrolment.objects.count(), Sandbox.objects.count(), seats_kept()) == (0, 0, [])


def test_branches_of_a_student_s_sandbox_go_with_it_and_branches_of_those(course: Course, teacher: Client) -> None:
    sandbox = begun(course, joined(course, "Otter"))
    now = sandbox.visited_at
    branch = Sandbox.objects.create(slug="b1", name=f"{sandbox.name} · #7", branch_of=sandbox.slug, visited_at=now)
    Sandbox.objects.create(slug="b2", name="x", branch_of=branch.slug, visited_at=now)
    recipe = Sandbox.objects.create(slug="r1", name=f"{sandbox.name[:58]} · 42", visited_at=now)
    Sandbox.objects.create(slug="b3", name="of another", branch_of="landing", visited_at=now)
    teacher.post(f"/c/{course.slug}/students/{place_of('Otter').pk}/data/", CONFIRMED)
    assert set(Sandbox.objects.values_list("slug", flat=True)) == {"r1", "b3"}
    recipe.refresh_from_db()
    assert recipe.name == "r1", "it is another's, but it named the student"


def test_a_shared_recording_ends_with_the_sandbox_it_is_of(course: Course, teacher: Client) -> None:
    sandbox, kept = begun(course, joined(course, "Otter")), begun(course, joined(course, "Lynx"))
    for digest, row in (("a" * 64, sandbox), ("b" * 64, kept)):
        Grant.objects.create(sandbox=row, kind="share", role="viewer", digest=digest)
        share_links.directory().mkdir(exist_ok=True)
        (share_links.directory() / f"{digest}.qvr").write_bytes(b"QVR")
    teacher.post(f"/c/{course.slug}/students/{place_of('Otter').pk}/data/", CONFIRMED)
    assert [path.stem[0] for path in share_links.directory().iterdir()] == ["b"]


def test_where_the_engine_does_not_answer_the_student_can_ask_again(course: Course, port: FakePort) -> None:
    student = joined(course, "Otter")
    begun(course, student)
    port.refuse["delete"] = EngineBusy("The engine did not answer in time.")
    assert student.post(f"/c/{course.slug}/data/", CONFIRMED).status_code == 503
    assert student.get(f"/c/{course.slug}/data/").status_code == 200
    assert student.post(f"/c/{course.slug}/data/", CONFIRMED).status_code == 302
    assert (Enrolment.objects.count(), Sandbox.objects.count()) == (0, 0)


def test_the_own_pages_are_no_teacher_s_and_the_teacher_s_are_no_student_s(course: Course, teacher: Client) -> None:
    student = joined(course, "Otter")
    number = place_of("Otter").pk
    assert teacher.get(f"/c/{course.slug}/data/").status_code == 409
    for path in (f"students/{number}/data/", f"students/{number}/data/export.zip", "delete/"):
        assert student.get(f"/c/{course.slug}/{path}").status_code == 403
        assert Client().get(f"/c/{course.slug}/{path}").status_code == 404
    other = Course.objects.create(slug="other", title="x", teacher=account("else"), labs=[LAB])
    assert teacher.get(f"/c/{course.slug}/students/{number}/data/").status_code == 200
    assert browser_of(other.teacher).get(f"/c/other/students/{number}/data/").status_code == 404


def test_a_deleted_course_takes_everything_with_it(course: Course, teacher: Client, port: FakePort) -> None:
    begun(course, joined(course, "Otter"))
    begun(course, joined(course, "Lynx"))
    Sandbox.objects.create(slug="t1", name="of no student", course=course, visited_at=timezone.now())
    port.sandboxes["t1"] = "asleep"
    ownership.record(ownership.Visitor(), "change", course.slug)
    assert "2 students, with every answer" in teacher.get(f"/c/{course.slug}/delete/").content.decode()
    assert teacher.post(f"/c/{course.slug}/delete/", CONFIRMED)["Location"] == "/c/new/"
    assert (Course.objects.count(), Enrolment.objects.count(), Sandbox.objects.count()) == (0, 0, 0)
    assert (port.sandboxes, seats_kept()) == ({}, [])
    assert not AuditRecord.objects.exists()


def test_what_a_regrade_says_of_a_student_goes_with_the_student(course: Course) -> None:
    student = joined(course, "Otter")
    begun(course, student)
    course.regrades.create(began_at=timezone.now(), differences=[{"student": "Otter", "lab": LAB}])
    assert student.post(f"/c/{course.slug}/data/", CONFIRMED).status_code == 302
    assert list(course.regrades.all()) == []
