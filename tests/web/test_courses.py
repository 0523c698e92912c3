"""Courses: a code instead of an account, a place instead of a name, and for others it does not exist."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from queueviz.access import policy
from queueviz.access.visitor import Visitor
from queueviz.courses import joining
from queueviz.models import Course, Enrolment, Sandbox, Submission
from sandbox.kernel.errors import ActionRefused, EngineBusy
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB, begun, joined
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db


def status(browser: Client, sandbox: Sandbox) -> int:
    return browser.get(f"/api/sandboxes/{sandbox.slug}").status_code


def test_a_course_is_made_by_an_account_and_has_a_code_of_six_letters(course: Course, teacher: Client) -> None:
    assert re.fullmatch("[A-Z]{6}", str(course.code))
    assert course.labs == ["pinned-offset", LAB], "in the order of the catalogue"
    page = teacher.get(f"/c/{course.slug}/").content.decode()
    assert str(course.code) in page
    assert "0 students" in page
    assert Client().post("/c/new/", {"title": "x", "labs": [LAB]}).status_code == 403
    assert Client().get("/c/new/").status_code == 302


def test_one_click_makes_a_course_of_a_pack_and_the_title_is_suggested(teacher: Client, port: FakePort) -> None:
    form = teacher.get("/c/new/").content.decode()
    [suggested] = re.findall('name="title"[^>]* value="([^"]+)"', form)
    made = teacher.post("/c/new/", {"title": suggested, "pack": "first-hour"})
    course = Course.objects.get()
    assert made["Location"] == f"/c/{course.slug}/live/", "where the class is seen to join"
    assert (course.title, len(course.labs)) == (suggested, 4)
    page = teacher.get(made["Location"]).content.decode()
    code = str(course.code)
    assert f"<span>{code[:3]}</span><span>{code[3:]}</span>" in page
    assert "testserver/join" in page
    assert "QR code of testserver/join" in page


def test_my_courses_are_in_the_head_for_who_has_one(course: Course, teacher: Client) -> None:
    assert "My courses" not in Client().get("/labs/").content.decode()
    assert f"/c/{course.slug}/live/" in teacher.get("/labs/").content.decode()
    student = joined(course)
    assert f'href="/c/{course.slug}/"' in student.get("/labs/").content.decode()
    assert "/c/new/" not in student.get("/labs/").content.decode()


def test_one_head_is_on_all_pages_of_a_course(course: Course, teacher: Client) -> None:
    pages = f"/c/{course.slug}/"
    for address in ("", "live/", "poll/", "results/", "analytics/"):
        page = teacher.get(pages + address).content.decode()
        tabs = page[page.index('<nav class="tabs"') :].partition("</nav>")[0]
        assert re.findall('href="([^"]+)"( aria-current="page")?', tabs) == [
            (pages + each, ' aria-current="page"' if each == address else "")
            for each in ("live/", "poll/", "results/", "analytics/", "")
        ]


def test_students_join_with_a_pseudonym_or_are_given_one(course: Course, teacher: Client) -> None:
    joined(course, "  Night   owl ")
    joined(course)
    names = [one.pseudonym for one in course.enrolments.order_by("pk")]
    assert names[0] == "Night owl"
    assert names[1] in joining.PSEUDONYMS
    page = teacher.get(f"/c/{course.slug}/").content.decode()
    assert all(name in page for name in names)


def test_any_number_of_joins_from_one_browser_is_one_place(course: Course) -> None:
    student = joined(course, "Otter")
    for code in (course.code, str(course.code).lower(), f" {str(course.code)[:3]}-{str(course.code)[3:]} "):
        assert student.post("/join/", {"code": code}).status_code == 302
    assert course.enrolments.count() == 1


def test_a_code_that_is_no_course_s_or_is_closed_is_refused_alike(course: Course, teacher: Client) -> None:
    code = course.code
    teacher.post(f"/c/{course.slug}/lobby/", {"state": "closed"})
    for tried in (code, "ZZZZZZ", ""):
        answer = Client().post("/join/", {"code": tried})
        assert answer.status_code == 404
        assert "A code has six letters: check the code that you entered." in answer.content.decode()
    teacher.post(f"/c/{course.slug}/lobby/", {"state": "open"})
    course.refresh_from_db()
    assert course.code not in (None, code)


def test_a_full_course_and_a_taken_pseudonym_are_refused(course: Course) -> None:
    joined(course, "Otter")
    assert Client().post("/join/", {"code": course.code, "pseudonym": "Otter"}).status_code == 422
    Course.objects.update(most_students=1)
    assert Client().post("/join/", {"code": course.code, "pseudonym": "Lynx"}).status_code == 409
    assert course.enrolments.count() == 1


def test_guessed_codes_end_in_a_wait_but_a_class_with_typing_errors_does_not(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "GUESSES", joining.Rate(0.2, 40, what="codes", now=lambda: 0.0))
    answers = [Client().post("/join/", {"code": f"ZZZZ{n:02}"}).status_code for n in range(60)]
    assert answers[:40] == [404] * 40
    assert answers[40:] == [429] * 20
    joined(course)


def test_a_lab_of_a_course_is_the_student_s_and_the_teacher_s_alone(
    course: Course, teacher: Client, port: FakePort
) -> None:
    student, other = joined(course, "Otter"), joined(course, "Lynx")
    sandbox = begun(course, student)
    assert begun(course, student) == sandbox, "whoever comes back goes on"
    assert port.acted[-1][1].__class__.__name__ == "StartLab"
    assert [status(who, sandbox) for who in (student, teacher, other, Client())] == [200, 200, 404, 404]
    assert student.get(f"/s/{sandbox.slug}/share/").status_code == 403
    assert teacher.get(f"/s/{sandbox.slug}/share/").status_code == 200
    assert begun(course, other) != sandbox


@pytest.mark.parametrize(
    "refused",
    [
        EngineBusy("The engine is busy."),
        ActionRefused(503, "Full.", "Wait."),
        ActionRefused(429, "Too many actions.", "Wait."),
    ],
)
def test_a_lab_that_could_not_be_started_is_started_by_the_next_try(
    course: Course, port: FakePort, refused: Exception
) -> None:
    student = joined(course)
    port.refuse["act"] = refused
    assert student.post(f"/c/{course.slug}/labs/{LAB}/").status_code in (429, 503)
    assert not port.acted
    sandbox = begun(course, student)
    assert [(slug, type(action).__name__) for slug, action, *_ in port.acted] == [(sandbox.slug, "StartLab")]
    port.answers["lab"] = {"lab": LAB}
    assert begun(course, student) == sandbox
    assert len(port.acted) == 1, "it is not begun anew"


def test_a_student_s_sandboxes_of_a_course_are_none_of_those_he_may_have(course: Course) -> None:
    student = joined(course)
    begun(course, student)
    begun(course, student, "pinned-offset")
    assert policy.owned_count(Visitor(session=student.session)) == 0


def test_signing_in_makes_no_student_an_owner(course: Course) -> None:
    student = joined(course)
    sandbox = begun(course, student)
    student.force_login(account("student"))
    student.post("/accounts/login/", {})
    assert status(student, sandbox) == 200
    assert student.get(f"/s/{sandbox.slug}/share/").status_code == 403


def test_the_own_link_brings_the_place_to_another_device(course: Course) -> None:
    student = joined(course, "Otter")
    sandbox = begun(course, student)
    link = student.get(f"/c/{course.slug}/").context["link"].removeprefix("http://testserver")
    elsewhere = Client()
    assert elsewhere.get(link).status_code == 200
    assert status(elsewhere, sandbox) == 404, "looking takes nothing along"
    assert elsewhere.post(link)["Location"] == f"/c/{course.slug}/"
    assert status(elsewhere, sandbox) == 200
    assert status(student, sandbox) == 200
    assert begun(course, elsewhere) == sandbox
    assert Client().post("/seat/made-up/").status_code == 404


def test_who_is_removed_gets_in_no_more(course: Course, teacher: Client) -> None:
    student = joined(course, "Otter")
    sandbox = begun(course, student)
    place = course.enrolments.get()
    assert teacher.post(f"/c/{course.slug}/students/{place.pk}/", {"do": "remove"}).status_code == 302
    assert status(student, sandbox) == 404
    assert student.get(f"/c/{course.slug}/").status_code == 404
    assert status(teacher, sandbox) == 200
    assert "0 students" in teacher.get(f"/c/{course.slug}/").content.decode()


def test_a_lab_that_is_not_the_course_s_or_is_past_its_date_does_not_begin(course: Course) -> None:
    student = joined(course)
    assert student.post(f"/c/{course.slug}/labs/orderly-lock/").status_code == 404
    Course.objects.update(due_at=timezone.now() - timedelta(minutes=1))
    assert student.post(f"/c/{course.slug}/labs/{LAB}/").status_code == 409
    assert Submission.objects.count() == 0


def test_a_course_is_there_for_its_teacher_and_its_students_alone(course: Course) -> None:
    other = browser_of(account("other"))
    address = f"/c/{course.slug}/"
    student = joined(course)
    posts = ["change/", "lobby/", "roster/", f"students/{course.enrolments.get().pk}/"]
    for path in posts:
        assert student.post(address + path).status_code == 403
        assert other.post(address + path).status_code == 404
        assert Client().post(address + path).status_code == 404
    assert other.get(address).status_code == Client().get(address).status_code == 404
    assert student.get(f"{address}roster/").status_code == 403
    assert course.enrolments.get().pseudonym in student.get(address).content.decode()


def test_names_come_from_the_teacher_s_table_and_only_the_teacher_sees_them(course: Course, teacher: Client) -> None:
    student = joined(course, "=Otter")
    roster = f"/c/{course.slug}/roster/"
    assert teacher.get(roster).content.decode().splitlines() == ["pseudonym,name", "'=Otter,"]

    def sent(text: bytes) -> int:
        return teacher.post(roster, {"roster": SimpleUploadedFile("r.csv", text)}).status_code

    assert sent("pseudonym,name\r\n=Otter,Ada Löwe\r\n".encode()) == 302
    assert "Ada Löwe" in teacher.get(f"/c/{course.slug}/").content.decode()
    assert "Ada Löwe" not in student.get(f"/c/{course.slug}/").content.decode()
    assert sent(b"pseudonym,name\nLynx,Bo\n") == 422
    assert sent(b"a,b\n1,2\n") == 422
    assert sent(b"\xff\xfe") == 422
    assert sent(b"x" * 70_000) == 422


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", " "),
        ("most_students", "0"),
        ("most_students", "many"),
        ("due_at", "tomorrow"),
        ("feedback", "never"),
        ("labs", "no-such-lab"),
    ],
)
def test_settings_that_cannot_be_are_refused_and_nothing_changes(
    course: Course, teacher: Client, field: str, value: str
) -> None:
    good: dict[str, Any] = {
        "title": "New",
        "labs": LAB,
        "most_students": "30",
        "due_at": "2027-01-31T10:00",
        "feedback": "on_release",
    }
    before = Course.objects.values().get()
    assert teacher.post(f"/c/{course.slug}/change/", good | {field: value}).status_code == 422
    assert Course.objects.values().get() == before
    assert teacher.post(f"/c/{course.slug}/change/", good).status_code == 302
    course.refresh_from_db()
    assert (course.title, course.labs, course.most_students, str(course.due_at)) == (
        "New",
        [LAB],
        30,
        "2027-01-31 10:00:00+00:00",
    )


def test_time_is_given_to_one_student(course: Course, teacher: Client) -> None:
    joined(course)
    place = course.enrolments.get()
    address = f"/c/{course.slug}/students/{place.pk}/"
    assert teacher.post(address, {"do": "time", "time_factor": "1.5"}).status_code == 302
    assert Enrolment.objects.get().time_factor == 1.5
    assert teacher.post(address, {"do": "time", "time_factor": "9"}).status_code == 422
    assert teacher.post(address, {"do": "time", "time_factor": "x"}).status_code == 422
