"""Calls to a student's browser, and looks into it: for its teacher, and not for others."""

import asyncio

import orjson
import pytest
from django.utils import timezone

from queueviz import engine
from queueviz.browsers import links
from queueviz.courses.broadcasts import broadcast
from queueviz.courses.grid import students_of
from queueviz.courses.lite_models import LiteRun
from queueviz.live import browser_sockets
from queueviz.live.browser_sockets import SUBPROTOCOL
from sandbox.control.actions import SetRate
from sandbox.control.rights import Actor
from sandbox.kernel.errors import ActionRefused, EngineBusy
from tests.patience import PATIENCE_S
from tests.web.lesson_in_browsers import Browser, Lesson, begun, connected, do, lesson_in_browsers
from tests.web.tabs import OWN, closing, opened, say, socket
from tests.web.tabs import hear as hear_frame
from tests.web.test_grid_socket import cookie

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
lesson = lesson_in_browsers


async def test_the_teachers_grid_has_the_newest_tile(lesson: Lesson) -> None:
    browser = await begun(lesson)
    await browser.show(step=2)
    grid = await opened(OWN, await do(cookie, lesson.teacher))
    await say(grid, k="sub", ch=f"grid/{lesson.course.slug}")
    tiles = (await hear_frame(grid))["data"]["tiles"]
    assert sorted((tile["name"], tile["step"], tile["state"]) for tile in tiles.values()) == [
        ("Lynx", 0, "working"),
        ("Otter", 2, "working"),
    ]
    await grid.disconnect()
    await browser.tab.disconnect()


async def test_a_call_of_the_server_is_answered_by_the_browser(lesson: Lesson) -> None:
    browser = await begun(lesson)
    future = engine.port().act(await do(lesson.slug), SetRate(rate=2.0), Actor("instructor", "lee"))
    call = await browser.hear("do")
    assert (call["verb"], call["args"]["fields"]["rate"], call["args"]["by"]) == ("act", 2.0, ["instructor", "lee"])
    await browser.say("did", id=call["id"], value=41)
    assert await asyncio.wrap_future(future) == 41
    await browser.tab.disconnect()


@pytest.mark.parametrize("answer", ['"many"', "{}", "[]", "null", "1e999"])
async def test_an_answer_of_another_shape_is_an_error_that_says_so(lesson: Lesson, answer: str) -> None:
    browser = await begun(lesson)
    future = engine.port().newest_seq(await do(lesson.slug))
    call = await browser.hear("do")
    await browser.tab.send_to(text_data=f'{{"k":"did","id":{call["id"]},"value":{answer}}}')
    with pytest.raises(EngineBusy):
        await asyncio.wrap_future(future)
    await browser.tab.disconnect()


async def test_a_refusal_of_the_browser_keeps_its_words(lesson: Lesson) -> None:
    browser = await begun(lesson)
    future = engine.port().act(await do(lesson.slug), SetRate(rate=2.0), Actor("instructor", "lee"))
    call = await browser.hear("do")
    await browser.say("refused", id=call["id"], status=409, reason="No {what} here.", hint="", values={"what": "clock"})
    with pytest.raises(ActionRefused, match="No clock here"):
        await asyncio.wrap_future(future)
    await browser.tab.disconnect()


async def test_a_call_to_a_browser_that_is_gone_is_refused_at_once(lesson: Lesson) -> None:
    browser = await begun(lesson)
    slug = await do(lesson.slug)
    future = engine.port().newest_seq(slug)
    await browser.hear("do")
    await browser.tab.disconnect()
    with pytest.raises(EngineBusy):
        await asyncio.wrap_future(future)
    with pytest.raises(ActionRefused, match="not connected"):
        await asyncio.wrap_future(engine.port().newest_seq(slug))


async def test_a_broadcast_reaches_the_connected_browsers_and_counts_the_others(lesson: Lesson) -> None:
    browser = await begun(lesson)
    visit = await do(lambda: type("Visitor", (), {"user": lesson.course.teacher}))
    work = asyncio.create_task(
        do(lambda: broadcast(visit, lesson.course, "freeze", students_of(lesson.course)))  # type: ignore[arg-type]
    )
    call = await browser.hear("do")
    assert (call["verb"], call["args"]["what"][0]) == ("intervene", "freeze")
    await browser.say("did", id=call["id"], value=[3, 10, 12, 1.5, False])
    outcome = await work
    assert (outcome.done, outcome.asleep, outcome.off_ms) == (1, 1, 2)
    assert (await browser.came(1, name="SetRate", fields={"rate": 0.0}, by="instructor teacher"))["k"] == "receipt"
    assert (await LiteRun.objects.afirst()).odd == {}  # type: ignore[union-attr]
    await browser.tab.disconnect()


async def test_a_teacher_watches_a_students_board_through_the_browser(lesson: Lesson) -> None:
    browser = await begun(lesson)
    slug = await do(lesson.slug)
    name = f"board/{slug}/g/t"
    teacher = await opened(OWN, await do(cookie, lesson.teacher))
    await say(teacher, k="sub", ch=name)
    number = (await browser.hear("open"))["v"]
    assert orjson.loads((await browser.hear("hear"))["text"]) == {"k": "sub", "ch": name, "after": None}
    await browser.say("say", v=number, text=orjson.dumps({"k": "snap", "ch": name, "n": 1, "data": {}}).decode())
    assert await hear_frame(teacher) == {"k": "snap", "ch": name, "n": 1, "data": {}}
    await say(teacher, k="ack", n={name: 1})
    assert orjson.loads((await browser.hear("hear"))["text"])["n"] == {name: 1}
    await teacher.disconnect()
    assert (await browser.hear("close"))["v"] == number
    await browser.tab.disconnect()


async def test_a_browser_cannot_say_what_its_viewer_did_not_ask_for(lesson: Lesson) -> None:
    browser = await begun(lesson)
    name = f"board/{await do(lesson.slug)}/g/t"
    teacher = await opened(OWN, await do(cookie, lesson.teacher))
    await say(teacher, k="sub", ch=name)
    number = (await browser.hear("open"))["v"]
    for text in (
        '{"k":"snap","ch":"grid/of-another","data":{}}',
        f'{{"k":"snap","ch":"{name}","ch":"grid/of-another"}}',
        "nothing",
        '{"k":"facts"}',
    ):
        await browser.say("say", v=number, text=text)
    await browser.say("say", v=number + 1, text=f'{{"k":"snap","ch":"{name}"}}')
    await browser.say("say", v=number, text=f'{{"k":"end","ch":"{name}","reason":"asleep"}}')
    assert (await hear_frame(teacher))["k"] == "end"
    await teacher.disconnect()
    await browser.tab.disconnect()


async def test_a_board_ends_with_the_browser_and_without_one_it_is_asleep(lesson: Lesson) -> None:
    browser = await begun(lesson)
    name = f"board/{await do(lesson.slug)}/g/t"
    teacher = await opened(OWN, await do(cookie, lesson.teacher))
    await say(teacher, k="sub", ch=name)
    await browser.hear("open")
    await browser.tab.disconnect()
    assert await hear_frame(teacher) == {"k": "end", "ch": name, "reason": "asleep"}
    await say(teacher, k="sub", ch=name)
    assert await hear_frame(teacher) == {"k": "end", "ch": name, "reason": "asleep"}
    await teacher.disconnect()


async def test_another_student_sees_no_board_and_opens_no_socket_of_the_run(lesson: Lesson) -> None:
    browser = await begun(lesson)
    slug = await do(lesson.slug)
    other = await opened(OWN, await do(cookie, lesson.students[1]))
    await say(other, k="sub", ch=f"board/{slug}/g/t")
    assert (await hear_frame(other))["reason"] == "unknown"
    await other.disconnect()
    for who in (1, None):
        headers = () if who is None else (await do(cookie, lesson.students[who]),)
        tab = socket(OWN, *headers, protocol=SUBPROTOCOL, path=f"/ws/lite/{slug}/")
        await tab.connect(timeout=PATIENCE_S)
        await Browser(tab).say("hello", instance="x", engine="build-1")
        assert await closing(tab) == browser_sockets.NOT_YOURS
    assert links.link_of(slug) is not None, "the student's own link is still there"
    await browser.tab.disconnect()


async def test_a_teacher_cannot_be_the_browser_of_a_student(lesson: Lesson) -> None:
    slug = await do(lesson.slug)
    tab = socket(OWN, await do(cookie, lesson.teacher), protocol=SUBPROTOCOL, path=f"/ws/lite/{slug}/")
    await tab.connect(timeout=PATIENCE_S)
    await Browser(tab).say("hello", instance="x", engine="build-1")
    assert await closing(tab) == browser_sockets.NOT_YOURS


async def test_a_page_of_another_site_opens_no_socket(lesson: Lesson) -> None:
    other = (b"origin", b"http://evil.example")
    path = f"/ws/lite/{await do(lesson.slug)}/"
    tab = socket(other, await do(cookie, lesson.students[0]), protocol=SUBPROTOCOL, path=path)
    assert not (await tab.connect(timeout=PATIENCE_S))[0]


async def test_who_is_removed_from_the_course_is_cut_off(lesson: Lesson) -> None:
    browser = await begun(lesson)
    enrolment = await lesson.course.enrolments.aget(pseudonym="Otter")
    await do(lesson.teacher.post, f"/c/{lesson.course.slug}/students/{enrolment.pk}/", {"do": "remove"})
    assert (await browser.hear("end"))["reason"] == "again"
    assert await closing(browser.tab) == browser_sockets.ENDED
    again = await connected(lesson)
    await again.say("hello", instance="one", engine="build-1")
    assert await closing(again.tab) == browser_sockets.NOT_YOURS


async def test_who_was_removed_from_the_course_is_refused(lesson: Lesson) -> None:
    slug = await do(lesson.slug)
    await lesson.course.enrolments.filter(pseudonym="Otter").aupdate(removed_at=timezone.now())
    browser = await connected(lesson, slug=slug)
    await browser.say("hello", instance="x", engine="build-1")
    assert await closing(browser.tab) == browser_sockets.NOT_YOURS
