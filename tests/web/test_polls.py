"""Polls of a course: one question, two votes, one way through, and not a word of who chose what before the reveal."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from django.test import Client

from queueviz.access.rate_limits import Rate
from queueviz.courses import polling
from queueviz.courses.classroom import content
from queueviz.models import Course, Poll, Vote
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from tests.web.clusters import account, browser_of
from tests.web.courses import joined, new_course
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db

QUESTION = "A crashes now. How many messages come again?"
ANSWERS = (
    ("0", "none: all were handled"),
    ("3", "only those in hand"),
    ("24", "all since the last commit"),
    ("96", "all the strip shows"),
)
ASKED = {
    "question": QUESTION,
    "value": [value for value, _ in ANSWERS],
    "sentence": [sentence for _, sentence in ANSWERS],
}
WAY = ["vote", "hidden", "discuss", "again", "run", "reveal"]


class Lesson:
    """A teacher, and four students of one course."""

    def __init__(self) -> None:
        self.teacher = browser_of(account("teacher"))
        self.course = new_course(self.teacher, "orderly-lock", "lag-and-throughput", title="101")
        self.students = [joined(self.course, name) for name in ("Otter", "Lynx", "Newt", "Wren")]
        self.address = f"/c/{self.course.slug}/poll/"

    def ask(
        self, question: str = QUESTION, answers: Sequence[tuple[str, str]] = ANSWERS, by: Client | None = None
    ) -> int:
        sent = {
            "question": question,
            "value": [value for value, _ in answers],
            "sentence": [sentence for _, sentence in answers],
        }
        return (by or self.teacher).post(f"{self.address}ask/", sent).status_code

    def step(self, to: str, number: int = 1, **more: str) -> int:
        return self.teacher.post(f"{self.address}{number}/step/", {"to": to, **more}).status_code

    def to(self, state: str, shown: str = "2") -> None:
        """From wherever it is."""
        now = WAY.index(Poll.objects.latest("number").state)
        for following in WAY[now + 1 : WAY.index(state) + 1]:
            assert self.step(following, shown=shown) == 302, following

    def vote(self, student: int, answer: int, round_: int = 1, number: int = 1) -> int:
        sent = {"round": str(round_), "answer": str(answer)}
        return self.students[student].post(f"{self.address}{number}/vote/", sent).status_code

    def votes(self, round_: int, *answers: int) -> None:
        for student, answer in enumerate(answers):
            assert self.vote(student, answer, round_) == 302

    def page(self, who: Client, query: str = "") -> str:
        answer = who.get(self.address + query)
        assert answer.status_code == 200
        return answer.content.decode()


@pytest.fixture
def lesson(port: FakePort) -> Lesson:
    return Lesson()


@pytest.fixture
def asked(lesson: Lesson) -> Lesson:
    assert lesson.ask() == 302
    return lesson


def test_a_poll_goes_one_way_step_by_step(asked: Lesson) -> None:
    for state, following in zip(WAY, [*WAY[1:], None], strict=True):
        assert Poll.objects.get().state == state
        for other in [*WAY, "", "over"]:
            if other != following:
                assert asked.step(other, shown="2") == 409, (state, other)
                assert Poll.objects.get().state == state
        if following is not None:
            assert asked.step(following, shown="2") == 302


def test_a_refused_step_says_what_is_next(asked: Lesson) -> None:
    answer = asked.teacher.post(f"{asked.address}1/step/", {"to": "again"})
    page = answer.content.decode()
    assert "Question 1 is in the state “Vote”." in page
    assert "The next step of the question is “Closed, hidden”." in page


def test_a_button_that_is_pressed_twice_steps_once(asked: Lesson) -> None:
    assert [asked.step("hidden"), asked.step("hidden")] == [302, 409]
    assert Poll.objects.get().state == "hidden"


def test_each_student_has_one_vote_a_round_and_may_change_it_until_the_round_closes(asked: Lesson) -> None:
    for answer in (0, 1, 1, 3):
        assert asked.vote(0, answer) == 302
    assert list(Vote.objects.values_list("round", "answer")) == [(1, 3)]
    assert "Answer received: 96" in asked.page(asked.students[0])
    asked.to("again")
    assert asked.vote(0, 2, round_=2) == 302
    assert sorted(Vote.objects.values_list("round", "answer")) == [(1, 3), (2, 2)]


def test_a_vote_after_the_close_is_refused_and_changes_nothing(asked: Lesson) -> None:
    asked.votes(1, 0, 1)
    for state in ("hidden", "discuss", "run", "reveal"):
        asked.to(state)
        before = list(Vote.objects.order_by("pk").values())
        assert [asked.vote(student, 2, round_) for student in (0, 3) for round_ in (1, 2)] == [409] * 4, state
        assert list(Vote.objects.order_by("pk").values()) == before


def test_a_late_first_vote_does_not_count_as_a_second_one(asked: Lesson) -> None:
    """It was sent before the close, by a phone that was away."""
    asked.to("again")
    assert asked.vote(0, 0, round_=1) == 409
    assert Vote.objects.count() == 0


@pytest.mark.parametrize(("round_", "answer"), [(1, 4), (1, -1), (0, 0), (3, 0)])
def test_odd_votes_are_refused(asked: Lesson, round_: int, answer: int) -> None:
    assert asked.vote(0, answer, round_) in (409, 422)
    assert Vote.objects.count() == 0
    assert asked.vote(0, 0, number=2) == 404


def marks(lesson: Lesson) -> list[str]:
    """Return every text about the poll: pages of the teacher, the wall and students, and the channel."""
    teacher = [lesson.page(lesson.teacher, query) for query in ("", "?projector=1", "?new=1")]
    return [*teacher, *(lesson.page(one) for one in lesson.students), str(content(lesson.course.slug))]


def numbers_in(text: str) -> list[str]:
    return re.findall(r"(?<![\w.-])\d+(?![\w.-])", text)


def unsigned(page: str) -> str:
    """Without what is another one at each request, and without the sizes of icons."""
    return re.sub(r'\b\w{64}\b|(?:width|height)="17"|viewBox="0 0 17 17"', "", page)


@pytest.mark.parametrize("state", WAY[:-1])
def test_before_the_reveal_no_page_and_no_frame_depends_on_what_was_chosen(lesson: Lesson, state: str) -> None:
    """The same students vote in two polls, all of them differently: a student without a vote reads the same of both."""
    read = []
    for first, second in (((0, 0, 0), (0, 0, 0)), ((1, 2, 3), (3, 2, 1))):
        Poll.objects.all().delete()
        assert lesson.ask() == 302
        lesson.votes(1, *first)
        if WAY.index(state) >= WAY.index("again"):
            lesson.to("again")
            lesson.votes(2, *second)
        lesson.to(state)
        polling.VOTES.forget()
        onlooker = lesson.students[3]
        read.append(
            [
                unsigned(each)
                for each in (
                    *(lesson.page(lesson.teacher, query) for query in ("", "?projector=1", "?new=1")),
                    lesson.page(onlooker),
                    str(content(lesson.course.slug)),
                )
            ]
        )
    assert read[0] == read[1]
    with pytest.raises(ActionRefused) as why:
        polling.results(Poll.objects.get())
    assert why.value.status == 409


@pytest.mark.parametrize("state", WAY[:-1])
def test_before_the_reveal_the_counts_of_answers_stand_nowhere(lesson: Lesson, state: str) -> None:
    """71 of 100 students choose one answer and 17 another: neither number is on any page, nor in the channel."""
    assert lesson.ask() == 302
    poll = Poll.objects.get()
    many = [lesson.course.enrolments.create(pseudonym=f"p{at}", digest=f"{at:064}") for at in range(96)]
    for round_ in (1, 2):
        for at, one in enumerate(many[:88]):
            Vote.objects.create(poll=poll, enrolment=one, round=round_, answer=2 if at < 71 else 1)
    lesson.to(state)
    for text in marks(lesson):
        assert {"71", "17"} & set(numbers_in(unsigned(text))) == set(), state
    assert "88" in numbers_in(lesson.page(lesson.teacher)), "only how many have voted"


def test_the_reveal_shows_both_votes_of_each_answer_and_how_many_moved(asked: Lesson) -> None:
    asked.votes(1, 0, 1, 1, 2)
    asked.to("again")
    asked.votes(2, 2, 2, 1)
    asked.to("reveal", shown="2")
    found = polling.results(Poll.objects.get())
    assert [(row.answer.value, row.first, row.second, row.was_shown) for row in found.rows] == [
        ("0", 1, 0, False),
        ("3", 2, 1, False),
        ("24", 1, 2, True),
        ("96", 0, 0, False),
    ]
    assert (found.of, found.changed) == (4, 2)
    for page in (asked.page(asked.teacher), asked.page(asked.students[3])):
        assert "run result" in page
        said = " ".join(re.sub("<[^>]*>", "", page).split())
        assert "1 → 2 of 4 chose 24. 2 changed their answer." in said


def test_a_run_may_show_none_of_the_answers_but_it_must_be_said(asked: Lesson) -> None:
    asked.to("run")
    for odd in ("", "4", "-1", "x", "²"):
        assert asked.step("reveal", shown=odd) == 422
    assert asked.step("reveal", shown="none") == 302
    assert Poll.objects.get().shown is None
    assert "run result" not in asked.page(asked.teacher)


def test_no_page_names_a_student_to_the_class_or_on_the_wall(asked: Lesson) -> None:
    asked.votes(1, 0, 1, 2, 3)
    for state in WAY:
        asked.to(state)
        for page in (asked.page(asked.teacher), asked.page(asked.teacher, "?projector=1")):
            assert not re.search("Otter|Lynx|Newt|Wren", page), state
        page = asked.page(asked.students[0])
        assert "Otter" in page
        assert not re.search("Lynx|Newt|Wren", page), state


def test_who_was_removed_is_not_counted(asked: Lesson) -> None:
    asked.votes(1, 0, 0)
    place = asked.course.enrolments.get(pseudonym="Otter")
    asked.teacher.post(f"/c/{asked.course.slug}/students/{place.pk}/", {"do": "remove"})
    assert (polling.voted(Poll.objects.get()), polling.students(asked.course)) == (1, 3)
    assert asked.vote(0, 1) == 404


def test_a_student_of_another_course_a_teacher_and_a_visitor_without_a_place_do_not_vote(asked: Lesson) -> None:
    other = browser_of(account("other"))
    other.post("/c/new/", {"title": "Other", "labs": ["orderly-lock"]})
    elsewhere = joined(Course.objects.latest("pk"), "Owl")
    for who, status in ((elsewhere, 404), (Client(), 404), (other, 404), (asked.teacher, 409)):
        answer = who.post(f"{asked.address}1/vote/", {"round": "1", "answer": "0"})
        assert answer.status_code == status
    assert elsewhere.get(asked.address).status_code == 404
    assert asked.students[0].post(f"{asked.address}1/step/", {"to": "hidden"}).status_code == 403
    assert asked.ask(by=asked.students[0]) == 403
    assert Vote.objects.count() == 0


def test_a_flood_of_votes_is_stopped_and_its_neighbour_votes_on(asked: Lesson, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "VOTES", Rate(1, 20, what="votes", now=lambda: 0.0))
    answers = [asked.vote(0, at % 4) for at in range(40)]
    assert answers == [302] * 20 + [429] * 20
    assert Vote.objects.count() == 1
    assert asked.vote(1, 0) == 302


def test_one_question_at_a_time_and_one_can_be_dropped(asked: Lesson) -> None:
    assert asked.ask("And now?") == 409
    asked.votes(1, 0)
    assert asked.step("drop") == 302
    assert (Poll.objects.count(), Vote.objects.count()) == (0, 0)
    assert asked.ask("And now?") == 302
    asked.to("reveal")
    assert asked.step("drop") == 409
    assert asked.ask("The third?") == 302
    assert [(one.number, one.state) for one in Poll.objects.order_by("number")] == [(1, "reveal"), (2, "vote")]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        (" ", ANSWERS),
        ("x" * 201, ANSWERS),
        ("x", ANSWERS[:1]),
        ("x", [("1", ""), ("1", "")]),
        ("x", [("", "a"), ("1", "")]),
        ("x", [(str(at), "") for at in range(7)]),
        ("x", [("123456789", ""), ("1", "")]),
        ("x", [("1", "y" * 121), ("2", "")]),
        ("\u202e", ANSWERS),
    ],
)
def test_questions_that_cannot_be_asked_are_refused_and_kept_in_the_form(
    lesson: Lesson, question: str, answers: Any
) -> None:
    assert lesson.ask(question, answers) == 422
    assert Poll.objects.count() == 0


def test_a_course_s_questions_have_a_limit(asked: Lesson, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "MOST_POLLS", 1)
    asked.to("reveal")
    assert asked.ask() == 429


def test_a_question_may_come_from_a_prediction_of_a_lab(lesson: Lesson) -> None:
    page = lesson.teacher.get(f"{lesson.address}?new=1")
    steps = [name for name, _ in page.context["steps"]]
    assert {name.split("/")[0] for name in steps} == {"orderly-lock", "lag-and-throughput"}
    for name in steps:
        draft = lesson.teacher.get(f"{lesson.address}?from={name}").context["draft"]
        assert draft.question
        assert "{" not in draft.question + str(draft.answers).replace("{}", "")
        assert len(draft.answers) == 6
    for odd in ("orderly-lock/99", "members-and-queues/1", "x", "/"):
        assert lesson.teacher.get(f"{lesson.address}?from={odd}").context["draft"].question == ""


def test_a_question_of_a_lab_is_run_with_its_numbers_in_one_sandbox_of_the_teacher_s(
    lesson: Lesson, port: FakePort
) -> None:
    assert lesson.teacher.post(f"{lesson.address}ask/", ASKED | {"from": "lag-and-throughput/1"}).status_code == 302
    lesson.to("run")
    assert f'action="{lesson.address}1/run/"' in lesson.teacher.get(lesson.address).content.decode()
    address = lesson.teacher.post(f"{lesson.address}1/run/")["Location"]
    slug = address.split("/")[2]
    lab = LABS["lag-and-throughput"]
    assert address == f"/s/{slug}/labs/lag-and-throughput/"
    draft = lesson.teacher.get(f"{lesson.address}?from=lag-and-throughput/2").context["draft"]
    numbers = lab.numbers(port.seeds[slug], 1)
    assert draft.question == f"{lab.steps[1].do} {lab.steps[1].predict.text}".format(**numbers)
    assert lesson.teacher.post(f"{lesson.address}1/run/")["Location"] == address
    assert lesson.students[0].post(f"{lesson.address}1/run/").status_code == 403
    lesson.to("reveal")
    assert f'action="{lesson.address}1/run/"' in lesson.teacher.get(lesson.address).content.decode()


def test_a_question_without_a_lab_has_nothing_to_run(asked: Lesson) -> None:
    asked.to("run")
    assert "1/run/" not in asked.teacher.get(asked.address).content.decode()
    assert asked.teacher.post(f"{asked.address}1/run/").status_code == 409
