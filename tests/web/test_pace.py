"""Pace: a student goes as far in a lab as the teacher has opened it, by whatever way the answer comes."""

import re
from typing import Any

import pytest
from django.test import Client

from queueviz.models import Course, Sandbox
from queueviz.sandboxes import visitor_actions
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB, begun, joined, new_course
from tests.web.engine_calls import HTMX
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db


class Paced:
    def __init__(self) -> None:
        self.teacher = browser_of(account("teacher"))
        self.course = new_course(self.teacher, LAB, "pinned-offset", title="101")
        self.student = joined(self.course, "Otter")
        self.sandbox = begun(self.course, self.student)

    def open(self, step: object, lab: str = LAB, by: Client | None = None) -> int:
        sent = {"lab": lab, "step": str(step)}
        return (by or self.teacher).post(f"/c/{self.course.slug}/pace/", sent).status_code

    def answers(self, step: int, action: str = "AnswerStep", by: Client | None = None) -> list[int]:
        """Change the pace by the lab's page, by its actions, and by the API."""
        who, slug = by or self.student, self.sandbox.slug
        given: dict[str, Any] = {"action": action, "step": str(step)}
        given |= {"part": "predict", "value": "1"} if action == "AnswerStep" else {}
        return [
            who.post(f"/s/{slug}/actions/", {**given, "lab": LAB}, headers=HTMX).status_code,
            who.post(
                f"/api/sandboxes/{slug}/actions", {**given, "step": step, "lab": LAB}, content_type="application/json"
            ).status_code,
        ]

    @property
    def open_until(self) -> dict[str, int]:
        return dict(Course.objects.get().open_until)


@pytest.fixture
def paced(port: FakePort, monkeypatch: pytest.MonkeyPatch) -> Paced:
    monkeypatch.setattr(visitor_actions.ACTIONS, "burst", 100)  # more than a visitor has in a second
    return Paced()


def test_a_course_is_free_until_the_teacher_sets_a_pace_and_again_afterwards(paced: Paced, port: FakePort) -> None:
    before = len(port.acted)
    assert {status // 100 for status in paced.answers(2)} == {2}
    assert paced.open(1) == 302
    assert paced.open_until == {LAB: 1}
    assert paced.answers(2) == [409, 409]
    assert {status // 100 for status in paced.answers(1)} == {2}
    assert paced.open(2) == 302
    assert {status // 100 for status in paced.answers(2)} == {2}
    assert paced.open("") == 302
    assert paced.open_until == {}
    assert {status // 100 for status in paced.answers(2)} == {2}
    assert len(port.acted) == before + 8, "what is refused does not reach the engine"


def test_a_refused_answer_says_who_opens_the_step(paced: Paced) -> None:
    paced.open(0)
    given = {"action": "AnswerStep", "step": "1", "part": "predict", "value": "1", "lab": LAB}
    answer = paced.student.post(f"/s/{paced.sandbox.slug}/actions/", given, headers=HTMX)
    assert "Your teacher opens step 1." in answer.content.decode()


def test_hints_of_a_closed_step_are_closed_too_and_the_teacher_is_not_held_back(paced: Paced) -> None:
    paced.open(1)
    assert paced.answers(2, "TakeHint") == [409, 409]
    assert 409 not in paced.answers(2, by=paced.teacher)


def test_one_lab_s_pace_is_not_another_s(paced: Paced) -> None:
    paced.open(0, "pinned-offset")
    assert 409 not in paced.answers(2)
    paced.open(1)
    assert paced.open_until == {"pinned-offset": 0, LAB: 1}


def test_a_sandbox_that_is_no_course_s_has_no_pace(paced: Paced, port: FakePort) -> None:
    paced.open(0)
    Sandbox.objects.update(course=None)
    assert 409 not in paced.answers(2)


@pytest.mark.parametrize(
    ("lab", "step", "status"),
    [
        (LAB, "99", 422),
        (LAB, "-1", 422),
        (LAB, "x", 422),
        (LAB, "²", 422),
        ("orderly-lock", "1", 404),
        ("", "1", 404),
    ],
)
def test_odd_paces_are_refused(paced: Paced, lab: str, step: str, status: int) -> None:
    assert paced.open(step, lab) == status
    assert paced.open_until == {}


def test_a_student_sets_no_pace(paced: Paced) -> None:
    assert paced.open(2, by=paced.student) == 403
    assert paced.open(2, by=Client()) == 404


def test_the_live_page_has_the_control_and_offers_the_next_step(paced: Paced) -> None:
    address, button = f"/c/{paced.course.slug}/live/", r">\s*Open step (\d)"
    assert re.findall(button, paced.teacher.get(address).content.decode()) == []
    paced.open(1)
    assert re.findall(button, paced.teacher.get(address).content.decode()) == ["2"]
    sent = paced.teacher.post(f"/c/{paced.course.slug}/pace/", {"lab": LAB, "step": "0"}, headers=HTMX)
    assert re.findall(button, sent.content.decode()) == ["1"]


def test_the_live_page_shows_no_names_on_the_wall(paced: Paced) -> None:
    joined(paced.course, "Lynx")
    address = f"/c/{paced.course.slug}/live/"
    assert "Otter" in paced.teacher.get(address).content.decode()
    wall = paced.teacher.get(f"{address}?projector=1").content.decode()
    assert "data-projector" in wall
    assert "Otter" not in wall
    assert "Lynx" not in wall


@pytest.mark.django_db(transaction=True)
def test_the_panel_of_a_closed_step_says_who_opens_it_and_asks_nothing(real_engine: Any) -> None:
    paced = Paced()
    panel = f"/s/{paced.sandbox.slug}/labs/{LAB}/"
    assert 'name="value"' in paced.student.get(panel, headers=HTMX).content.decode()
    paced.open(0)
    closed = paced.student.get(panel, headers=HTMX).content.decode()
    assert "Wait. Your teacher opens step 1 next; your answers are kept." in closed
    assert 'name="value"' not in closed
    assert 'name="value"' in paced.teacher.get(panel, headers=HTMX).content.decode()
    given = {"action": "AnswerStep", "step": "1", "part": "predict", "value": "1"}
    assert paced.student.post(panel, given, headers=HTMX).status_code == 409
    paced.open(1)
    assert paced.student.post(panel, given, headers=HTMX).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_lab_and_board_of_a_student_have_the_poll_that_is_open_and_one_tap_is_the_vote(real_engine: Any) -> None:
    paced = Paced()
    address = f"/c/{paced.course.slug}/poll/"
    pages = (f"/s/{paced.sandbox.slug}/labs/{LAB}/", f"/s/{paced.sandbox.slug}/")

    def band(who: Client, page: str) -> str | None:
        section = re.search('<section class="band poll".*?</section>', who.get(page).content.decode(), re.DOTALL)
        return section and section[0]

    for page in pages:
        assert " hidden" in str(band(paced.student, page)), "no question was asked yet"
    paced.teacher.post(f"{address}ask/", {"question": "How many?", "value": ["1", "2"], "sentence": ["", ""]})
    for page in pages:
        assert "How many?" in str(band(paced.student, page))
        assert "0 of 1 voted" in str(band(paced.student, page))
        assert band(paced.teacher, page) is None
    tapped = HTMX | {"HX-Target": "class-poll"}
    for answer in (0, 1):
        shown = paced.student.post(f"{address}1/vote/", {"round": "1", "answer": answer}, headers=tapped)
        assert shown.status_code == 200
        chosen = re.findall('value="([01])" aria-pressed="true"', shown.content.decode())
        assert (chosen, "1 of 1 voted" in shown.content.decode()) == ([str(answer)], True), "changed, not added"
    paced.teacher.post(f"{address}1/step/", {"to": "hidden"})
    late = paced.student.post(f"{address}1/vote/", {"round": "1", "answer": "0"}, headers=tapped)
    assert late.status_code == 409
    assert "not counted" in late.content.decode()
    assert "Your answer: 2" in paced.student.get(f"{address}band/").content.decode()
    assert paced.teacher.get(f"{address}band/").status_code == 404
