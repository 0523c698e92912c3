"""Names come when the teacher asks for them, for those who have a place, and only the teacher sees them."""

from typing import Any

import pytest
import requests
from django.test import Client

from queueviz.models import Enrolment, LtiContext
from tests.lti.lms import INSTRUCTOR, LEARNER, ROSTER, Lms
from tests.web.courses import LAB

pytestmark = pytest.mark.django_db


@pytest.fixture
def taught(lms: Lms, linked: LtiContext, teacher: Client) -> str:
    """The page of the course's LMS, after an instructor's launch has said where the roster is."""
    assert lms.open(teacher, "t", (INSTRUCTOR,)).status_code == 302
    lms.members = [
        {"user_id": "42", "name": "Ada  Löwe", "email": "ada@school.example", "roles": [LEARNER]},
        {"user_id": "43", "given_name": "Bo", "family_name": "Li", "roles": [LEARNER]},
        {"user_id": "44", "roles": [LEARNER]},
        {"user_id": "45", "name": "Cy", "roles": [LEARNER]},
    ]
    return f"/c/{linked.course.slug}/lti/"


def asked(teacher: Client, address: str) -> Any:
    return teacher.post(address, {"do": "names", "link": LtiContext.objects.get().pk})


def test_names_are_taken_over_for_those_who_have_a_place(lms: Lms, taught: str, teacher: Client) -> None:
    student = Client()
    for browser, user in ((student, "42"), (Client(), "43"), (Client(), "44")):
        browser.get(lms.open(browser, user, lab=LAB)["Location"])
    assert [one.name for one in Enrolment.objects.order_by("pk")] == ["", "", ""]
    page = asked(teacher, taught).content.decode()
    assert [one.name for one in Enrolment.objects.order_by("pk")] == ["Ada Löwe", "Bo Li", ""]
    assert "Names of 2 students were imported. 1 members" in page
    course = taught.removesuffix("lti/")
    assert "Ada Löwe" in teacher.get(course).content.decode()
    assert "Ada Löwe" not in student.get(course).content.decode()


def test_a_roster_is_read_page_by_page_and_never_without_end(
    lms: Lms, taught: str, teacher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = lms.send

    def send(request: Any, **more: Any) -> requests.Response:
        answer = alone(request, **more)
        if str(request.url).startswith(ROSTER):
            answer.headers["Link"] = f'<{ROSTER}?page=2>; rel="next"'
        return answer

    monkeypatch.setattr(lms, "send", send)
    assert asked(teacher, taught).status_code == 200
    assert sum(url.startswith(ROSTER) for url in lms.asked) == 20


def test_the_next_page_at_another_host_is_not_asked_for(
    lms: Lms, taught: str, teacher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = lms.send

    def send(request: Any, **more: Any) -> requests.Response:
        answer = alone(request, **more)
        answer.headers["Link"] = '<https://169.254.169.254/latest>; rel="next"'
        return answer

    monkeypatch.setattr(lms, "send", send)
    assert asked(teacher, taught).status_code == 502
    assert not any("169.254" in url for url in lms.asked)


def test_a_platform_without_a_roster_or_that_does_not_answer_is_said(lms: Lms, taught: str, teacher: Client) -> None:
    lms.lost = True
    assert asked(teacher, taught).status_code == 502
    lms.lost, lms.members = False, [{"name": "no id"}]
    assert asked(teacher, taught).status_code == 502
    LtiContext.objects.update(memberships_url="")
    assert asked(teacher, taught).status_code == 409
    LtiContext.objects.update(memberships_url="https://evil.example/members")
    assert asked(teacher, taught).status_code == 409


def test_only_the_teacher_asks(lms: Lms, taught: str, teacher: Client) -> None:
    student = Client()
    student.get(lms.open(student, lab=LAB)["Location"])
    assert asked(student, taught).status_code == 403
    assert asked(Client(), taught).status_code == 404
