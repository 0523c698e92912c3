"""`queueviz.lite.1`: the list of a run that a student's browser sends, and its receipts."""

import asyncio
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from queueviz.courses import lite_runs
from queueviz.courses.lite_models import LiteEntry, LiteRun
from queueviz.courses.lite_runs import Entry, receipt_of
from queueviz.courses.models import Course, Submission
from queueviz.live import browser_sockets
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB, joined, new_course
from tests.web.fake_port import FakePort
from tests.web.lesson_in_browsers import ANSWER, CAME, Lesson, begun, connected, do, lesson_in_browsers
from tests.web.tabs import closing
from tests.web.test_grid_socket import TILE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]
lesson = lesson_in_browsers


async def test_the_first_hello_gets_the_beginning_of_the_run(lesson: Lesson) -> None:
    browser = await connected(lesson)
    begin = await browser.hello()
    run = await LiteRun.objects.afirst()
    assert run is not None
    assert (begin["seed"], begin["wall_ms"], begin["came"], begin["lab"]) == (run.seed, run.wall_ms, [], LAB)
    await browser.tab.disconnect()


async def test_an_entry_gets_its_receipt_once_it_is_stored(lesson: Lesson) -> None:
    browser = await begun(lesson)
    receipt = await browser.came(1)
    row = await LiteEntry.objects.aget()
    assert (row.n, row.name, row.fields, row.by) == (1, "AnswerStep", ANSWER, "student student")
    assert receipt == {"k": "receipt", "n": 1, "receipt": row.receipt}
    assert row.receipt == receipt_of("", Entry(1, 5, 400, 1_400, "AnswerStep", ANSWER, "student student"))
    second = await browser.came(2, ms=500)
    run = await LiteRun.objects.aget(submission__enrolment__pseudonym="Otter")
    assert (run.length, run.receipt) == (2, second["receipt"])
    await browser.tab.disconnect()


async def test_a_run_counts_only_the_entries_that_are_stored(lesson: Lesson) -> None:
    def stored() -> tuple[int, str]:
        run = LiteRun.objects.get(submission__enrolment__pseudonym="Otter")
        entries = [LiteEntry(run=run, arrived_at=timezone.now(), receipt=f"r{n}", n=n, **CAME) for n in (1, 2)]
        run.length = 3  # the third came meanwhile
        lite_runs.keep([run], entries)
        run.refresh_from_db()
        return run.length, run.receipt

    assert await do(stored) == (2, "r2")


async def test_an_entry_that_is_sent_again_counts_once(lesson: Lesson) -> None:
    browser = await begun(lesson)
    first = await browser.came(1)
    await browser.tab.disconnect()
    again = await connected(lesson)
    assert (await again.hello(runs=True, length=1, known=0))["k"] == "go"
    assert await again.came(1) == first
    assert await LiteEntry.objects.acount() == 1
    await again.tab.disconnect()


async def test_many_entries_at_once_are_stored_in_their_order(lesson: Lesson) -> None:
    browser = await begun(lesson)
    for n in range(1, 301):
        await browser.say("came", n=n, **{**CAME, "ms": n})
    while (await browser.hear("receipt"))["n"] < 300:
        pass
    assert [row.ms async for row in LiteEntry.objects.order_by("n")] == list(range(1, 301))
    await browser.tab.disconnect()


async def test_another_entry_of_a_number_that_is_taken_ends_the_socket(lesson: Lesson) -> None:
    browser = await begun(lesson)
    await browser.came(1)
    assert await browser.came(1, fields={**ANSWER, "value": "4"}) == {"k": "end", "reason": "elsewhere"}
    assert await closing(browser.tab) == browser_sockets.ENDED
    assert (await LiteEntry.objects.aget()).fields == ANSWER


async def test_an_entry_that_skips_a_number_ends_the_socket(lesson: Lesson) -> None:
    browser = await begun(lesson)
    assert (await browser.came(2))["reason"] == "elsewhere"
    assert not await LiteEntry.objects.aexists()


async def test_the_list_is_what_another_device_begins_with(lesson: Lesson) -> None:
    browser = await begun(lesson)
    await browser.came(1)
    await browser.show(at_ms=99_000)
    other = await connected(lesson)
    begin = await other.hello(instance="two")
    assert await browser.hear("end") == {"k": "end", "reason": "elsewhere"}
    assert begin["came"] == [[5, 400, "AnswerStep", ANSWER, "student student"]]
    await other.tab.disconnect()


async def test_a_tab_that_was_replaced_cannot_come_back_by_itself(lesson: Lesson) -> None:
    browser = await begun(lesson)
    await browser.came(1)
    other = await connected(lesson)
    await other.hello(instance="two")
    await other.came(2, ms=600)
    await other.tab.disconnect()
    first = await connected(lesson)
    receipt = (await LiteEntry.objects.aget(n=1)).receipt
    heard = await first.hello(runs=True, length=1, known=1, receipt=receipt)
    assert heard == {"k": "end", "reason": "elsewhere"}, "the run went on without it"


async def test_after_a_cut_the_server_says_how_far_it_got(lesson: Lesson) -> None:
    browser = await begun(lesson)
    receipt = (await browser.came(1))["receipt"]
    await browser.tab.disconnect()
    again = await connected(lesson)
    go = await again.hello(runs=True, length=3, known=1, receipt=receipt)
    assert (go["k"], go["length"], go["receipt"]) == ("go", 1, receipt)
    await again.tab.disconnect()


async def test_a_browser_that_is_connected_counts_as_there(lesson: Lesson) -> None:
    before = timezone.now()
    browser = await begun(lesson)
    async with asyncio.timeout(3):
        while not await lesson.course.enrolments.filter(pseudonym="Otter", seen_at__gte=before).aexists():
            await asyncio.sleep(0.02)
    await browser.tab.disconnect()


async def test_an_entry_in_the_name_of_a_teacher_who_did_nothing_is_noted(lesson: Lesson) -> None:
    browser = await begun(lesson)
    await browser.came(1, by="instructor teacher")
    await browser.came(2, by="owner someone", ms=600)
    run = await LiteRun.objects.aget(submission__enrolment__pseudonym="Otter")
    assert run.odd == {"teacher": 1, "actor": 1}
    assert (await LiteEntry.objects.aget(n=2)).by == "student student"
    await browser.tab.disconnect()


async def test_another_engine_is_noted(lesson: Lesson) -> None:
    browser = await connected(lesson)
    await browser.hello(engine="mine")
    await browser.came(1)
    assert (await LiteRun.objects.aget(submission__enrolment__pseudonym="Otter")).odd == {"engine": 1}
    await browser.tab.disconnect()


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"k":"other"}', '{"k":"came","n":0}', '{"k":"tile","tile":{}}', "x" * 600_000, '{"k":"hello"}'],
)
async def test_what_is_no_message_ends_the_socket(lesson: Lesson, text: str) -> None:
    browser = await begun(lesson)
    await browser.tab.send_to(text_data=text)
    assert await closing(browser.tab) == 4400


async def test_a_second_hello_ends_the_socket(lesson: Lesson) -> None:
    browser = await begun(lesson)
    await browser.say("hello", instance="one", engine="build-1")
    assert await closing(browser.tab) == 4400


async def test_a_flood_of_tiles_ends_the_socket(lesson: Lesson) -> None:
    browser = await begun(lesson)
    for _ in range(1_100):
        await browser.say("tile", seq=7, rate=1.0, epoch="7f3a", tile=TILE)
    assert await closing(browser.tab) == 4429
    again = await connected(lesson)
    await again.hello(runs=True)
    await again.say("tile", seq=7, rate=1.0, epoch="7f3a", tile=TILE)
    for _ in range(200):
        await again.say("tile", seq=7, rate=1.0, epoch="7f3a", tile=TILE)
    assert await closing(again.tab) == 4429, "a new socket has no new budget"


async def test_the_progress_that_a_browser_states_is_shown_until_a_proof(lesson: Lesson) -> None:
    browser = await begun(lesson)
    row = await do(_row)
    await browser.say("lab", row=row)
    async with asyncio.timeout(3):
        while not await Submission.objects.filter(score=40, steps_met=1).aexists():
            await asyncio.sleep(0.02)
    run = await LiteRun.objects.aget(submission__enrolment__pseudonym="Otter")
    assert run.row["score"] == 40
    await browser.tab.disconnect()


async def test_the_teacher_opens_a_step_and_the_browser_gets_it(lesson: Lesson) -> None:
    browser = await begun(lesson)
    assert await browser.hear("course") == {"k": "course", "open_until": None, "poll": ""}
    await do(lesson.teacher.post, f"/c/{lesson.course.slug}/pace/", {"lab": LAB, "step": "1"})
    assert (await browser.hear("course"))["open_until"] == 1
    await browser.tab.disconnect()


async def test_a_database_that_refuses_is_tried_again_by_the_browser(
    lesson: Lesson, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any) -> None:
        raise OSError("no space")

    browser = await begun(lesson)
    keep = lite_runs.LiteEntry.objects.bulk_create
    monkeypatch.setattr(lite_runs.LiteEntry.objects, "bulk_create", full)
    assert await browser.came(1) == {"k": "end", "reason": "again"}
    monkeypatch.setattr(lite_runs.LiteEntry.objects, "bulk_create", keep)
    again = await connected(lesson)
    assert (await again.hello(runs=True, length=1, known=0))["length"] == 0
    assert (await again.came(1))["n"] == 1
    await again.tab.disconnect()


def _row() -> dict[str, Any]:
    """A lab's row with its first step met, as a browser may state it."""
    met = {"seq": "9", "text": "", "values": {}, "rests_on": [], "given": None, "truth": None, "accurate": None}
    return {
        "lab": LAB,
        "number": "4",
        "title": "",
        "goal": "",
        "minutes": 8,
        "attempt": 1,
        "exam": False,
        "score": 40,
        "finished": False,
        "numbers": {},
        "allowed": [],
        "steps": [{"title": "", "state": "met", "hints": 0, "met": {**met, "at_ms": 5}}],
        "open": None,
        "receipts": [{"step": 1, "part": "say", "seq": "9", "at_ms": 5, "digest": "d", "key": ""}],
    }


def test_a_course_on_the_server_begins_labs_there(port: FakePort) -> None:
    course = new_course(browser_of(account("teacher")), LAB)
    answer: Any = joined(course).post(f"/c/{course.slug}/labs/{LAB}/")
    assert answer["Location"].startswith("/s/")


def test_a_browser_that_cannot_does_the_lab_on_the_server(lesson: Lesson) -> None:
    late = joined(lesson.course, "Owl")
    answer: Any = late.post(f"/c/{lesson.course.slug}/labs/{LAB}/", {"where": "server"})
    assert answer["Location"].startswith("/s/")
    assert Client().get(lesson.page).status_code == 404
    assert late.get(lesson.page)["Location"] == f"/c/{lesson.course.slug}/"


def test_a_browser_that_could_not_begin_the_lab_does_it_on_the_server(lesson: Lesson) -> None:
    student = lesson.students[0]
    assert b'value="server"' in student.get(lesson.page).content
    answer: Any = student.post(f"/c/{lesson.course.slug}/labs/{LAB}/", {"where": "server"})
    assert answer["Location"].startswith("/s/")
    assert Submission.objects.count() == 2, "it is still the same submission"


async def test_a_lab_that_was_worked_on_in_a_browser_stays_there(lesson: Lesson) -> None:
    browser = await begun(lesson)
    await browser.came(1)
    await browser.tab.disconnect()
    page = await do(lesson.students[0].get, lesson.page)
    assert b'value="server"' not in page.content
    answer = await do(lesson.students[0].post, f"/c/{lesson.course.slug}/labs/{LAB}/", {"where": "server"})
    assert answer["Location"] == lesson.page


def test_in_a_course_of_browsers_alone_the_server_begins_none(lesson: Lesson) -> None:
    Course.objects.update(where=Course.Where.BROWSER)
    answer: Any = joined(lesson.course, "Owl").post(f"/c/{lesson.course.slug}/labs/{LAB}/", {"where": "server"})
    assert answer["Location"] == lesson.page
