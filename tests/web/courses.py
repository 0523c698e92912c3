"""A course of a teacher's, and students who join it and begin its labs."""

from typing import Any

import pytest
from django.test import Client

from queueviz.models import Course, Sandbox

LAB = "members-and-queues"


def new_course(teacher: Client, *labs: str, title: str = "Messaging 101") -> Course:
    made: Any = teacher.post("/c/new/", {"title": title, "labs": labs})
    assert made.status_code == 302, made.content
    return Course.objects.get()


def course_of(*labs: str) -> Any:
    """A fixture: a course of these labs."""

    @pytest.fixture
    def course(teacher: Client) -> Course:
        return new_course(teacher, *labs)

    return course


def joined(course: Course, pseudonym: str = "") -> Client:
    browser = Client()
    answer = browser.post("/join/", {"code": course.code, "pseudonym": pseudonym})
    assert (answer.status_code, answer["Location"]) == (302, f"/c/{course.slug}/")
    return browser


def begun(course: Course, student: Client, lab: str = LAB) -> Sandbox:
    answer = student.post(f"/c/{course.slug}/labs/{lab}/")
    assert answer.status_code == 302, answer.content
    return Sandbox.objects.get(slug=answer["Location"].split("/")[2])
