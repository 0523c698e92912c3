"""A course whose students do its lab in their browsers, and the sockets of those."""

from typing import Any

import orjson
import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator

from queueviz.courses.models import Course, Submission
from queueviz.live.browser_sockets import SUBPROTOCOL
from tests.patience import PATIENCE_S
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB, joined, new_course
from tests.web.fake_port import FakePort
from tests.web.tabs import OWN, socket
from tests.web.test_grid_socket import TILE, cookie

ANSWER = {"lab": LAB, "step": 1, "part": "predict", "value": "3", "key": "", "attempt": 0}
CAME = {"turn": 5, "ms": 400, "at_ms": 1_400, "name": "AnswerStep", "fields": ANSWER, "by": "student student"}


class Lesson:
    """A course with two students, who do its lab in their browsers."""

    def __init__(self) -> None:
        self.teacher = browser_of(account("teacher"))
        self.course = new_course(self.teacher, LAB, title="101")
        Course.objects.update(where=Course.Where.BOTH)
        self.students = [joined(self.course, name) for name in ("Otter", "Lynx")]
        for student in self.students:
            answer: Any = student.post(f"/c/{self.course.slug}/labs/{LAB}/")
            assert answer["Location"] == self.page, answer.content
            assert student.get(self.page).status_code == 200

    @property
    def page(self) -> str:
        return f"/c/{self.course.slug}/labs/{LAB}/browser/"

    def work(self, number: int = 0) -> Submission:
        return Submission.objects.select_related("sandbox").order_by("pk")[number]

    def slug(self, number: int = 0) -> str:
        sandbox = self.work(number).sandbox
        assert sandbox is not None
        return sandbox.slug


@pytest.fixture
def lesson_in_browsers(port: FakePort, monkeypatch: pytest.MonkeyPatch) -> Lesson:
    files = {"digest": "build-1", "packs": [], "offline": {}, "pyodide": "", "feed": "", "total_bytes": 0}
    monkeypatch.setattr("queueviz.pages.lite.lite_files", lambda: files)
    monkeypatch.setattr("queueviz.pages.course_lite.lite_files", lambda: files)
    return Lesson()


@sync_to_async
def do(work: Any, *given: Any, **more: Any) -> Any:
    return work(*given, **more)


class Browser:
    """The socket of a student's browser."""

    def __init__(self, tab: WebsocketCommunicator) -> None:
        self.tab = tab

    async def hello(self, **values: Any) -> dict[str, Any]:
        await self.say("hello", **{"instance": "one", "engine": "build-1", **values})
        return await self.hear()

    async def say(self, kind: str, **values: Any) -> None:
        await self.tab.send_to(text_data=orjson.dumps({"k": kind, **values}).decode())

    async def hear(self, *kinds: str) -> dict[str, Any]:
        """Return the next message that is no news; of these kinds, if some are named."""
        while True:
            message: dict[str, Any] = orjson.loads(await self.tab.receive_from(timeout=PATIENCE_S))
            if (message["k"] in kinds) if kinds else (message["k"] not in ("beat", "course")):
                return message

    async def came(self, n: int, **changed: Any) -> dict[str, Any]:
        await self.say("came", n=n, **{**CAME, **changed})
        return await self.hear("receipt", "end")

    async def show(self, **changed: Any) -> None:
        await self.say("tile", seq=7, rate=1.0, epoch="7f3a", tile={**TILE, **changed})
        await self.hear("beat")


async def connected(lesson: Lesson, who: int = 0, slug: str | None = None) -> Browser:
    path = f"/ws/lite/{slug or await do(lesson.slug, who)}/"
    tab = socket(OWN, await do(cookie, lesson.students[who]), protocol=SUBPROTOCOL, path=path)
    assert await tab.connect(timeout=PATIENCE_S) == (True, SUBPROTOCOL)
    return Browser(tab)


async def begun(lesson: Lesson, who: int = 0) -> Browser:
    browser = await connected(lesson, who)
    assert (await browser.hello())["k"] == "begin"
    return browser
