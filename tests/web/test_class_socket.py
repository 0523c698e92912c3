"""`class/<course>`: teacher and students hear of its poll and its pace, and of no one's answer."""

from typing import Any

import orjson
import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.test import Client

from queueviz.live import course_channels
from queueviz.models import Course, Poll
from tests.web.clusters import account, browser_of
from tests.web.fake_port import FakePort
from tests.web.tabs import OWN, hear, opened, say
from tests.web.test_grid_socket import cookie
from tests.web.test_polls import ANSWERS, QUESTION, Lesson

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lesson(port: FakePort) -> Lesson:
    return Lesson()


@sync_to_async
def do(work: Any, *given: Any, **more: Any) -> Any:
    return work(*given, **more)


async def followed(browser: Client, lesson: Lesson) -> WebsocketCommunicator:
    tab = await opened(OWN, cookie(browser))
    await say(tab, k="sub", ch=f"class/{lesson.course.slug}")
    return tab


async def painted(tab: WebsocketCommunicator) -> dict[str, Any]:
    """The next message, acknowledged as a page does it."""
    heard = await hear(tab)
    await say(tab, k="ack", n={heard["ch"]: heard["n"]})
    return heard


async def test_teacher_and_students_hear_the_same_and_then_only_what_changes(lesson: Lesson) -> None:
    tabs = [await followed(who, lesson) for who in (lesson.teacher, lesson.students[0])]
    for tab in tabs:
        first = await painted(tab)
        assert (first["k"], first["data"]) == ("snap", {"poll": None, "pace": {}})
    assert await do(lesson.ask) == 302
    for tab in tabs:
        assert (await painted(tab))["set"]["poll"] == {
            "number": 1,
            "state": "vote",
            "question": QUESTION,
            "voted": 0,
            "of": 4,
            "answers": [{"value": value, "sentence": sentence} for value, sentence in ANSWERS],
        }
    assert await do(lesson.vote, 0, 2) == 302
    assert [(await painted(tab))["set"] for tab in tabs] == [{"poll": {"voted": 1}}] * 2
    assert await do(lesson.vote, 0, 3) == 302
    assert await do(lesson.step, "hidden") == 302
    said = [(await painted(tab))["set"] for tab in tabs]
    assert said == [{"poll": {"state": "hidden"}}] * 2, "a changed vote is silent"
    sent = {"lab": "orderly-lock", "step": "1"}
    await do(lesson.teacher.post, f"/c/{lesson.course.slug}/pace/", sent)
    assert [(await painted(tab))["set"] for tab in tabs] == [{"pace": {"orderly-lock": 1}}] * 2
    for tab in tabs:
        await tab.disconnect()


async def test_no_frame_depends_on_what_was_chosen_not_even_of_the_reveal(lesson: Lesson) -> None:
    heard: list[list[bytes]] = []
    for first, second in (((0, 0, 0), (0, 0, 0)), ((1, 2, 3), (3, 2, 1))):
        frames = []
        for state in ("vote", "hidden", "again", "run", "reveal"):
            if state == "vote":
                await Poll.objects.all().adelete()
                await do(lesson.ask)
                await do(lesson.votes, 1, *first)
            await do(lesson.to, state)
            if state == "again":
                await do(lesson.votes, 2, *second)
            tab = await followed(lesson.students[3], lesson)
            frames.append(orjson.dumps((await hear(tab))["data"]))
            await tab.disconnect()
        heard.append(frames)
    assert heard[0] == heard[1]


async def test_no_one_outside_the_course_hears_it_or_learns_that_it_is_there(lesson: Lesson) -> None:
    other = await do(lambda: browser_of(account("other")))
    for headers in ((OWN, cookie(other)), (OWN,)):
        tab = await opened(*headers)
        for name in (f"class/{lesson.course.slug}", "class/no-such-course", "class/", f"class/{lesson.course.slug}/x"):
            await say(tab, k="sub", ch=name)
            assert await hear(tab) == {"k": "end", "ch": name, "reason": "unknown"}
        await tab.disconnect()


async def test_a_student_hears_the_class_and_not_the_grid(lesson: Lesson) -> None:
    tab = await opened(OWN, cookie(lesson.students[0]))
    await say(tab, k="sub", ch=f"grid/{lesson.course.slug}")
    assert (await hear(tab))["k"] == "end"
    await say(tab, k="sub", ch=f"class/{lesson.course.slug}")
    assert (await hear(tab))["k"] == "snap"
    await tab.disconnect()


async def test_who_is_removed_hears_no_more(lesson: Lesson, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = course_channels.KINDS["class"]
    monkeypatch.setitem(course_channels.KINDS, "class", kind._replace(rights_every_s=0.0))
    tab = await followed(lesson.students[0], lesson)
    assert (await hear(tab))["k"] == "snap"
    place = await lesson.course.enrolments.aget(pseudonym="Otter")
    await do(lesson.teacher.post, f"/c/{lesson.course.slug}/students/{place.pk}/", {"do": "remove"})
    assert await hear(tab) == {"k": "end", "ch": f"class/{lesson.course.slug}", "reason": "forbidden"}
    await tab.disconnect()


async def test_a_course_that_is_deleted_ends_its_channel(lesson: Lesson) -> None:
    tab = await followed(lesson.teacher, lesson)
    assert (await hear(tab))["k"] == "snap"
    await Course.objects.all().adelete()
    assert (await hear(tab))["k"] == "end"
    await tab.disconnect()
