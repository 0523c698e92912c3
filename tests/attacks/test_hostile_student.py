"""A student who wants more than is his: seats, time, receipts, codes, hands, and what the lab holds to be right."""

import html
import json
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client
from django.utils import timezone

from queueviz.access.digests import digest
from queueviz.access.rate_limits import Rate
from queueviz.courses import joining, presence
from queueviz.models import Course, Enrolment
from sandbox.labs.catalogue import LABS
from tests.web.clusters import account, browser_of
from tests.web.conftest import flights_table, real_engine
from tests.web.tabs import OWN, hear, opened, say
from tests.web.test_with_the_engine import HTMX, JSON, events

__all__ = ["flights_table", "real_engine"]

LAB = "members-and-queues"
SOURCES = Path(__file__).parents[2] / "static" / "queueviz" / "js"
pytestmark = pytest.mark.django_db(transaction=True)


class Class:
    """A course with a victim, whose lab is begun, and a hostile student of it."""

    def __init__(self) -> None:
        self.teacher = browser_of(account("teacher"))
        assert self.teacher.post("/c/new/", {"title": "101", "labs": [LAB]}).status_code == 302
        self.course = Course.objects.get()
        self.victim, self.hostile = self.join(), self.join()
        self.lab = self.begin(self.victim)
        self.slug = self.lab.split("/")[2]

    @property
    def home(self) -> str:
        return f"/c/{self.course.slug}/"

    def join(self) -> Client:
        browser = Client()
        assert browser.post("/join/", {"code": self.course.code}).status_code == 302
        return browser

    def begin(self, browser: Client) -> str:
        return str(browser.post(f"{self.home}labs/{LAB}/")["Location"])

    def answers(self, browser: Client, lab: str) -> list[dict[str, Any]]:
        rows = events(browser, lab.split("/")[2])
        return [row["fields"] for row in rows if row["type"] == "ActionTaken" and row["action"] == "AnswerStep"]


@pytest.fixture
def lesson(real_engine: Any) -> Class:
    return Class()


def answer(browser: Client, lab: str, key: str, value: str = "2") -> int:
    given = {"action": "AnswerStep", "step": 1, "part": "predict", "value": value, "key": key, "attempt": 1}
    return browser.post(lab, given, headers=HTMX).status_code


def test_another_s_lab_is_not_there_to_read_and_not_to_answer(lesson: Class) -> None:
    assert lesson.hostile.get(lesson.lab).status_code == 404
    assert answer(lesson.hostile, lesson.lab, "k") == 404
    api = f"/api/sandboxes/{lesson.slug}"
    assert {
        lesson.hostile.get(f"{api}{rest}").status_code
        for rest in ("", "/events", "/journal", "/ask/lab-state", "/state?at=1", "/recording")
    } == {404}
    given = {"action": "AnswerStep", "lab": LAB, "step": 1, "part": "predict", "value": "9"}
    assert lesson.hostile.post(f"{api}/actions", given, JSON).status_code == 404
    assert lesson.answers(lesson.victim, lesson.lab) == []


def test_another_s_live_channels_and_the_grid_say_nothing(lesson: Class) -> None:
    cookie = (b"cookie", f"sessionid={lesson.hostile.cookies['sessionid'].value}".encode())

    async def ends() -> list[Any]:
        tab = await opened(OWN, cookie)
        heard = []
        for name in (f"lab/{lesson.slug}", f"tile/{lesson.slug}", f"facts/{lesson.slug}", f"grid/{lesson.course.slug}"):
            await say(tab, k="sub", ch=name)
            heard.append((await hear(tab))["k"])
        await tab.disconnect()
        return heard

    assert async_to_sync(ends)() == ["end"] * 4


def test_a_seat_is_its_secret_and_neither_digest_nor_number_of_it(lesson: Class) -> None:
    seat = lesson.victim.session["seats"][lesson.course.slug]
    row = Enrolment.objects.order_by("pk").first()
    assert row is not None
    assert row.digest == digest(seat)
    outsider = Client()
    for tried in (row.digest, str(row.pk), row.pseudonym, secrets.token_urlsafe(24), seat[:-1]):
        assert outsider.post(f"/seat/{tried}/").status_code == 404
    page = lesson.hostile.get(lesson.home).content.decode()
    assert seat not in page
    assert row.digest not in page
    assert row.pseudonym not in page


def test_a_student_grades_no_one_gives_no_time_and_removes_no_one(lesson: Class) -> None:
    victim = Enrolment.objects.order_by("pk").first()
    assert victim is not None
    for do in ({"do": "remove"}, {"do": "time", "time_factor": "2"}, {"do": "lower"}):
        assert lesson.hostile.post(f"{lesson.home}students/{victim.pk}/", do).status_code == 403
    assert lesson.hostile.post(f"{lesson.home}change/", {"due_at": "2099-01-01T00:00"}).status_code == 403
    assert lesson.hostile.get(f"{lesson.home}roster/").status_code == 403


def test_another_s_receipt_and_key_are_worth_nothing_in_one_s_own_lab(lesson: Class) -> None:
    assert answer(lesson.victim, lesson.lab, "the-victims-key") == 200
    theirs = lesson.victim.get(lesson.lab).context["lab"]["receipts"]
    own = lesson.begin(lesson.hostile)
    assert lesson.hostile.get(own).context["lab"]["receipts"] == []
    assert answer(lesson.hostile, own, "the-victims-key", "3") == 200
    assert [fields["value"] for fields in lesson.answers(lesson.hostile, own)] == ["3"], "it is an answer of his own"
    assert lesson.victim.get(lesson.lab).context["lab"]["receipts"] == theirs
    [mine] = lesson.hostile.get(own).context["lab"]["receipts"]
    assert mine["digest"] != theirs[0]["digest"]


def test_a_receipt_replayed_changes_neither_answer_nor_time(lesson: Class) -> None:
    own = lesson.begin(lesson.hostile)
    assert answer(lesson.hostile, own, "k") == 200
    before = lesson.hostile.get(own).context["lab"]["receipts"]
    for value, status in (("2", 200), ("3", 409), ("2", 200)):
        assert answer(lesson.hostile, own, "k", value) == status
    assert lesson.hostile.get(own).context["lab"]["receipts"] == before


@pytest.mark.parametrize("by", ["page", "form of the board", "API"])
def test_an_answer_after_the_date_is_refused_by_every_way_in(lesson: Class, by: str) -> None:
    own = lesson.begin(lesson.hostile)
    now = timezone.now()
    Enrolment.objects.update(joined_at=now - timedelta(hours=1))
    Course.objects.update(due_at=now - timedelta(seconds=1))
    slug = own.split("/")[2]
    given = {"action": "AnswerStep", "lab": LAB, "step": 1, "part": "predict", "value": "2", "key": "late"}
    said = {
        "page": lambda: lesson.hostile.post(own, {**given, "attempt": 1}, headers=HTMX),
        "form of the board": lambda: lesson.hostile.post(f"/s/{slug}/actions/", given, headers=HTMX),
        "API": lambda: lesson.hostile.post(f"/api/sandboxes/{slug}/actions", given, JSON),
    }[by]()
    assert said.status_code == 409
    assert "This course was due on" in html.unescape(said.content.decode())
    assert lesson.answers(lesson.hostile, own) == []


def test_guessed_codes_are_counted_and_a_flood_does_not_learn_which_is_right(
    lesson: Class, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "GUESSES", Rate(1, 4, what="invalid course codes", now=lambda: 0.0))
    monkeypatch.setattr(joining, "LOOKS", Rate(1, 10, what="codes", now=lambda: 0.0))

    def tried(code: str | None, address: str = "127.0.0.1") -> int:
        return Client(REMOTE_ADDR=address).post("/join/", {"code": code}).status_code

    assert [tried("".join(secrets.choice("ABC") for _ in range(6))) for _ in range(5)] == [404] * 4 + [429]
    assert tried(lesson.course.code) == 302, "errors of others in the room keep no one out"
    assert {tried("ABCABC") for _ in range(10 - 6)} == {429}
    assert tried(lesson.course.code) == 429, "a flood does"
    assert tried(lesson.course.code, "192.0.2.77") == 302, "in its own room alone"
    assert lesson.hostile.get(lesson.home).status_code == 200, "where who has a place keeps it"


def test_a_flood_of_hands_is_refused_and_keeps_its_place_in_the_queue(
    lesson: Class, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence.HANDS, "_now", lambda: 0.0)
    first = None
    asked = []
    for n in range(30):
        hand_up = {"do": "up", "question": "x" * 5_000 + str(n)}
        asked.append(lesson.hostile.post(f"{lesson.home}hand/", hand_up).status_code)
        first = first or presence.hands(lesson.course)[0].asks_since
    assert asked == [302] * 10 + [429] * 20
    [hand] = presence.hands(lesson.course)
    assert (hand.asks_since, len(hand.question)) == (first, presence.QUESTION_CHARS)
    assert lesson.victim.post(f"{lesson.home}hand/", {"do": "up"}).status_code == 302


def test_what_is_right_is_in_no_page_frame_or_answer_before_its_time(lesson: Class) -> None:
    """Lab 4 asks for `idle`, which follows from two numbers of its text: the number itself is never sent."""
    own = lesson.begin(lesson.hostile)
    slug = own.split("/")[2]
    cookie = (b"cookie", f"sessionid={lesson.hostile.cookies['sessionid'].value}".encode())

    async def frame() -> dict[str, Any]:
        tab = await opened(OWN, cookie)
        await say(tab, k="sub", ch=f"lab/{slug}")
        heard = await hear(tab)
        await tab.disconnect()
        return heard

    state = lesson.hostile.get(f"/api/sandboxes/{slug}/ask/lab-state").json()
    for shown in (state["lab"], async_to_sync(frame)()["data"]["lab"], lesson.hostile.get(own).context["lab"]):
        assert not {"idle", "truth", "right", "solve"} & keys_of(shown)
        assert all(step["met"] is None for step in shown["steps"])
    assert lesson.hostile.get(f"/s/{slug}/share/lab/").status_code == 403, "the lab's own file has its checks"
    assert "StepMet" not in {row["type"] for row in events(lesson.hostile, slug)}


def keys_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {str(key) for key in value} | {name for one in value.values() for name in keys_of(one)}
    return {name for one in value for name in keys_of(one)} if isinstance(value, list | tuple) else set()


def test_no_script_of_a_page_has_the_reasons_of_a_lab() -> None:
    """A check is asked at the server; the page knows the questions alone."""
    reasons = {
        value
        for lab in LABS.values()
        for step in lab.steps
        for asked in (step.why, step.say, step.predict)
        if asked is not None
        for value, _ in asked.options
        if "_" in value
    }
    assert len(reasons) > 10
    sources = "".join(file.read_text("utf-8") for file in SOURCES.glob("*.js"))
    assert [reason for reason in sorted(reasons) if json.dumps(reason) in sources] == []
