"""A lecture of thirty students on a real server: clicks of the teacher, and how fast all students see what was done."""

import html
import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from queueviz.courses.broadcasts import LEAD_S
from queueviz.operations.remote_pages import RemotePages
from tests.patience import PATIENCE_S
from tests.server.server import Server, run, until
from tests.server.test_live_socket import PROTOCOL

STUDENTS = 30
MOST_CLICKS = 6
ACCOUNT = {
    "DJANGO_SUPERUSER_USERNAME": "teacher",
    "DJANGO_SUPERUSER_PASSWORD": "a-lecture-for-all",
    "DJANGO_SUPERUSER_EMAIL": "teacher@example.org",
}


class Hand:
    """A teacher at a browser, who presses only what the page shows."""

    def __init__(self, url: str) -> None:
        self.pages = RemotePages(url)
        self.clicks = 0
        self.address, self.html = "", ""

    def open(self, address: str) -> None:
        self.address, self.html = address, self.pages.get(address).text

    def unfold(self, words: str) -> None:
        assert re.search(rf"<summary[^>]*>{words}</summary>", self.html), f"{words} is not on {self.address}"
        self.clicks += 1

    def follow(self, address: str) -> None:
        assert f'href="{address}"' in self.html, f"{address} is not linked on {self.address}"
        self.clicks += 1
        self.open(address)

    def press(self, name: str, value: str) -> None:
        """Press a button that sends the page's form with what it suggests."""
        assert f'name="{name}" value="{value}"' in self.html, f"{value} is not on {self.address}"
        [title] = re.findall('name="title"[^>]* value="([^"]+)"', self.html)
        self.clicks += 1
        self.open(self.pages.post(self.address, {"title": html.unescape(title), name: value}).headers["Location"])


class Seat:
    """A student: a browser with a lab, and its live socket on a thread of its own."""

    def __init__(self, url: str, course: str, code: str) -> None:
        self.url, self.course = url, course
        self.pages = RemotePages(url)
        self.pages.get(f"/join/?code={code}")
        assert self.pages.post("/join/", {"code": code}).headers["Location"] == course
        page = self.pages.get(course).text
        self.address = self.pages.post(re.findall(r'action="(/c/[^"]+/labs/[^"]+/)"', page)[0]).headers["Location"]
        self.slug = self.address.split("/")[2]
        self.frames: list[tuple[float, str]] = []

    def predict(self) -> None:
        panel = self.pages.get(self.address, **{"HX-Request": "true"}).text
        form = panel[panel.index('name="action" value="AnswerStep"') :].partition("</form>")[0]
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form)) | {"action": "AnswerStep"}
        options = re.findall(r'type="radio" name="value" value="([^"]+)"', form)
        self.pages.post(self.address, {**fields, "value": options[0] if options else "3"}, **{"HX-Request": "true"})

    def watch(self) -> None:
        self._thread = threading.Thread(target=self._hear, daemon=True)
        self._thread.start()

    def _hear(self) -> None:
        """Write down all frames of the lab and of the class with their times, until the page is closed."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.pages.cookies.items())
        with connect(
            f"{self.url.replace('http', 'ws')}/ws/live/",
            origin=self.url,
            subprotocols=[Subprotocol(PROTOCOL)],
            additional_headers={"Cookie": cookies},
            proxy=None,
            open_timeout=PATIENCE_S,
        ) as self.socket:
            for channel in (f"lab/{self.slug}", f"class/{self.course.split('/')[2]}"):
                self.socket.send(json.dumps({"k": "sub", "ch": channel}))
            for text in self.socket:
                frame = json.loads(text)
                if frame["k"] in ("snap", "delta"):
                    self.frames.append((time.monotonic(), str(text)))
                    self.socket.send(json.dumps({"k": "ack", "n": {frame["ch"]: frame["n"]}}))

    def close(self) -> None:
        self.socket.close()
        self._thread.join(PATIENCE_S)
        self.pages.close()

    def heard_s(self, words: str, since_s: float) -> float | None:
        """Return when the first frame with these words came."""
        return next((at_s for at_s, text in self.frames if at_s >= since_s and words in text), None)


class Lecture:
    def __init__(self, server: Server) -> None:
        self.teacher = Hand(server.url)
        form = {"username": "teacher", "password": ACCOUNT["DJANGO_SUPERUSER_PASSWORD"]}
        self.teacher.pages.post("/accounts/login/", form)
        self.began_s = time.monotonic()
        self.teacher.open("/")
        self.teacher.unfold("My courses")
        self.teacher.follow("/c/new/")
        self.teacher.press("pack", "first-hour")
        self.course = self.teacher.address.removesuffix("live/")
        code = "".join(re.findall(r"<span>([A-Z]{3})</span>", self.teacher.html))
        with ThreadPoolExecutor(8) as pool:
            self.students = list(pool.map(lambda _: Seat(server.url, self.course, code), range(STUDENTS)))
            list(pool.map(Seat.predict, self.students))
        self.predicted_s = time.monotonic() - self.began_s
        for student in self.students:
            student.watch()
        until(lambda: all(len(one.frames) >= 2 for one in self.students), what="all pages are live")

    def close(self) -> None:
        for student in self.students:
            student.close()
        self.teacher.pages.close()

    def broadcast(self, kind: str) -> dict[str, Any]:
        return dict(self.teacher.pages.post(f"{self.course}broadcast/", {"kind": kind}).json())

    def seen_s(self, words: str, act: Callable[[], object]) -> list[float]:
        """Return after how many seconds each student sees what `act` does, the fastest first."""
        began_s = time.monotonic()
        act()
        until(lambda: all(one.heard_s(words, began_s) for one in self.students), what=words)
        return sorted((one.heard_s(words, began_s) or 0.0) - began_s for one in self.students)


@pytest.fixture(scope="module")
def lecture(own_home: Callable[[], Path]) -> Iterator[Lecture]:
    server = Server(own_home()).start()
    with pytest.MonkeyPatch.context() as patched:
        for name, value in ACCOUNT.items():
            patched.setenv(name, value)
        made = run("createsuperuser", "--noinput", home=server.home)
    assert made.returncode == 0, made.stderr
    try:
        taught = Lecture(server)
        yield taught
        taught.close()
    finally:
        server.end()
    assert "Traceback" not in server.log


def test_thirty_students_have_predicted_after_three_clicks_of_the_teacher(
    lecture: Lecture, record_property: Callable[[str, object], None]
) -> None:
    record_property("clicks", lecture.teacher.clicks)
    record_property("minutes", round(lecture.predicted_s / 60, 2))
    print(f"clicks {lecture.teacher.clicks}, last prediction after {lecture.predicted_s:.1f} s")
    assert lecture.teacher.clicks == 3 <= MOST_CLICKS
    for student in lecture.students:
        row = student.pages.get(f"/api/sandboxes/{student.slug}/ask/lab-state").json()["lab"]
        assert [receipt["part"] for receipt in row["receipts"]] == ["predict"]


def test_all_students_see_a_poll_and_each_tap_is_counted_once(lecture: Lecture) -> None:
    poll = f"{lecture.course}poll/"
    asked = {"question": "How many come twice?", "value": ["0", "3", "24"], "sentence": ["", "", ""]}
    seen_s = lecture.seen_s("How many come twice?", lambda: lecture.teacher.pages.post(f"{poll}ask/", asked))
    print(f"poll seen after {seen_s[len(seen_s) // 2]:.2f} s (p50), {seen_s[-1]:.2f} s (last)")
    chance = random.Random("votes")
    votes = [chance.randrange(3) for _ in lecture.students]

    def vote(student: Seat, answer: int) -> httpx.Response:
        band = student.pages.get(f"{poll}band/").text
        assert band.count('name="answer"') == 3
        student.pages.post(f"{poll}1/vote/", {"round": "1", "answer": (answer + 1) % 3}, **{"HX-Target": "class-poll"})
        return student.pages.post(f"{poll}1/vote/", {"round": "1", "answer": answer}, **{"HX-Target": "class-poll"})

    with ThreadPoolExecutor(8) as pool:
        bands = list(pool.map(vote, lecture.students, votes))
    assert all(band.text.count('aria-pressed="true"') == 1 for band in bands)
    assert f"{STUDENTS} of {STUDENTS} voted" in lecture.students[0].pages.get(f"{poll}band/").text
    for state in ("hidden", "discuss", "again", "run"):
        lecture.teacher.pages.post(f"{poll}1/step/", {"to": state})
    lecture.teacher.pages.post(f"{poll}1/step/", {"to": "reveal", "shown": "1"})
    rows = re.findall(r'<span class="num">(\d+) → (\d+)</span>', lecture.students[0].pages.get(f"{poll}band/").text)
    assert [int(first) for first, _ in rows] == [votes.count(answer) for answer in range(3)]


@pytest.mark.parametrize("kind", ["crash_member", "freeze", "heal"])
def test_all_students_see_what_the_teacher_does(lecture: Lecture, kind: str) -> None:
    outcomes: list[dict[str, Any]] = []
    seen_s = lecture.seen_s(f'"kind":"{kind}"', lambda: outcomes.append(lecture.broadcast(kind)))
    middle_s = seen_s[len(seen_s) // 2]
    print(f"{kind} seen after {middle_s:.2f} s (p50), {seen_s[-1]:.2f} s (last), of which {LEAD_S} s are its lead")
    assert outcomes[0]["done"] == STUDENTS
    assert outcomes[0]["again"] == (STUDENTS if kind == "crash_member" else 0)
