"""A made-up student of a course: joins by the code, begins a lab, and plays its script over HTTP and the live socket.

An answer is sent with its key until a panel comes back.  Who is cut off, or finds no server, tries again.
"""

import html
import random
import re
import secrets
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
import orjson

from sandbox.control.actions import Action, fields_of, name_of
from sandbox.control.questions import Question
from sandbox.journal.events import LabStarted
from sandbox.journal.schema import from_row
from sandbox.labs.attempt import Attempt, Part
from sandbox.labs.catalogue import LABS
from sandbox.labs.evidence import Evidence, Numbers
from sandbox.labs.lab import Lab, shown
from tests.bench.lesson_line import RETRY_S, Browser, Cut, Tab, Unreached

LOOK_S = 0.5
STEADY_S = 1.5  # a picture is of now when the clock has stood for so long
AGAIN_S = 5.0
TOO_FAST = 429
GIVE_UP_S = 1_200.0  # of sixty on two busy cores


class Sent(NamedTuple):
    """An answer, from when it was pressed until a panel said it was received."""

    key: str
    part: str
    pressed_s: float
    received_s: float
    tries: int
    status: int


class GaveUp(Exception):
    pass


class Student:
    """The hands of a script (`sandbox.labs.script.Hands`).  `tab` runs on the loop of another thread."""

    def __init__(self, url: str, number: int, lab: Lab, *, on_loop: Callable[[Callable[[], Any]], None]) -> None:
        self.chance = random.Random(f"student {number}")
        self.browser = Browser(url, self.chance)
        self.lab = lab
        self.pressed: list[str] = []  # keys of all answers that were ever given
        self.sent: list[Sent] = []
        self.tab: Tab | None = None
        self.cut_at: int | None = None  # the answer with whose pressing the line is cut, from 0 on
        self.cut_s = 0.0
        self._url, self._on_loop = url, on_loop
        self._until_s = float("inf")
        self.slug, self.address, self.trouble = "", "", ""

    # Into the course.

    def join(self, code: str) -> None:
        self._insist(lambda: self.browser.get("/join/"))
        said = self._insist(lambda: self.browser.post("/join/", {"code": code}))
        self.course = said.headers["Location"]

    def begin(self) -> None:
        said = self._insist(lambda: self.browser.post(f"{self.course}labs/{self.lab.slug}/", {}))
        self.address = said.headers["Location"]
        self.slug = self.address.split("/")[2]
        self._insist(lambda: self.browser.get(self.address))
        rows = self.browser.get(f"/api/sandboxes/{self.slug}/events").content.splitlines()
        [started] = [row for row in map(orjson.loads, rows) if row["type"] == "LabStarted"]
        self.numbers: Numbers = self.lab.numbers(started["seed"], started["attempt"])
        self.tab = Tab(self._url, self.browser, [self._lab_channel, f"facts/{self.slug}"])

    @property
    def _lab_channel(self) -> str:
        return f"lab/{self.slug}"

    def play(self) -> None:
        self._until_s = time.monotonic() + GIVE_UP_S
        self.lab.solve(self)

    # The script's hands.

    @property
    def evidence(self) -> Evidence:
        return self._folded().evidence

    @property
    def _open(self) -> tuple[int, str]:
        """Step and phase as the newest picture has them; (0, "") without one."""
        assert self.tab is not None
        row = (self.tab.data.get(self._lab_channel) or {}).get("lab")
        if row is None:
            return 0, ""
        return (row["open"]["step"], row["open"]["phase"]) if row["open"] else (len(self.lab.steps) + 1, "done")

    def act(self, action: Action) -> int:
        """Once: where nothing came back, the journal says whether it was carried out."""
        self._think()
        before = self._newest()
        while True:
            try:
                said = self.browser.post_json(
                    f"/api/sandboxes/{self.slug}/actions", {"action": name_of(action), **fields_of(action)}
                )
            except Unreached:
                said = None
            if said is not None and said.status_code == 200:
                return int(said.json()["seq"])
            if said is not None and said.status_code not in (TOO_FAST, 503, 500, 502):
                raise GaveUp(f"{name_of(action)}: {said.status_code} {said.text[:200]}")
            self._pause(RETRY_S[0])
            done = [
                row for row in self._events(before) if row["type"] == "ActionTaken" and row["action"] == name_of(action)
            ]
            if done:
                return int(done[0]["seq"])

    def wait(self, seconds: float) -> None:
        self._pause(seconds)

    def see(self, within_s: float = 180) -> None:
        """At the step's pace; then the clock stands until the answer."""
        step, _ = self._open
        rate, asked_s = self.lab.steps[min(step, len(self.lab.steps)) - 1].rate, 0.0
        while self._open == (step, "do"):
            now_s = time.monotonic()
            if now_s - asked_s >= AGAIN_S:
                asked_s = now_s
                self._set_rate(rate)
            self._pause(LOOK_S)
        if self._open[1] != "done":
            self._set_rate(0)
            self._pause(STEADY_S)

    def predict(self, value: float | str) -> None:
        self._answer("predict", value)

    def say(self, value: float | str) -> None:
        self._answer("say", value)
        if self._open[1] == "say":  # the board had moved on before it stood
            step = self.lab.steps[self._open[0] - 1]
            assert step.say is not None
            truth = step.say.right(self.evidence).value
            self._answer("say", truth if isinstance(truth, float | str) else truth[0])

    def why(self, value: float | str) -> None:
        self._answer("why", value)

    def hint(self) -> None:
        raise NotImplementedError

    def read(self, channel: str) -> Any:
        assert self.tab is not None
        kind, _, rest = channel.partition("/")
        name = f"{kind}/{self.slug}/{rest}"
        if name not in self.tab.data:
            self._on_loop(lambda: self.tab.add(name))  # type: ignore[union-attr]
        while name not in self.tab.data:
            self._pause(LOOK_S)
        return self.tab.data[name]

    def ask(self, question: Question) -> dict[str, Any]:
        raise NotImplementedError

    # Answers.

    def _answer(self, part: Part, value: float | str) -> None:
        self._think()
        while self._open[1] != part:
            self._pause(LOOK_S)
        step, key = self._open[0], secrets.token_urlsafe(12)
        self.send(step, part, value if isinstance(value, str) else shown(float(value)), key)
        while self._open == (step, part) and not self._was_wrong():
            self._pause(LOOK_S)

    def _was_wrong(self) -> bool:
        assert self.tab is not None
        row = self.tab.data[self._lab_channel]["lab"]
        return bool(row["open"]["verdict"]["state"] == "wrong")

    def send(self, step: int, part: str, value: str, key: str) -> Sent:
        """As the page does: again and again with the same key, until a panel comes back."""
        form = {"action": "AnswerStep", "step": step, "part": part, "value": value, "key": key, "attempt": 1}
        if len(self.pressed) == self.cut_at:
            now_s = time.monotonic()
            self.browser.cut = Cut(now_s, now_s + self.cut_s)
        self.pressed.append(key)
        pressed_s, tries, wait_s = time.monotonic(), 0, RETRY_S[0]
        while True:
            tries += 1
            try:
                said = self.browser.post(self.address, form)
            except Unreached:
                said = None
            if said is not None and "data-received" in said.text and said.status_code not in (TOO_FAST, 503):
                break
            self._pause(self.chance.uniform(0.5, 1) * wait_s)
            wait_s = min(RETRY_S[1], wait_s * 2)
        self.sent.append(Sent(key, part, pressed_s, time.monotonic(), tries, said.status_code))
        if said.status_code != 200:
            why = re.search(r'class="refusal[^>]*>(.*?)</', said.text, re.S)
            raise GaveUp(f"{part} of step {step}: {said.status_code} {html.unescape(why[1]).strip() if why else ''}")
        return self.sent[-1]

    # The line.

    def _set_rate(self, rate: float) -> None:
        body = {"action": "SetRate", "rate": rate}
        self._insist(lambda: self.browser.post_json(f"/api/sandboxes/{self.slug}/actions", body))

    def _newest(self) -> int:
        path = f"/api/sandboxes/{self.slug}/journal?show=all&most=1"
        rows = self._insist(lambda: self.browser.get(path)).json()["rows"]
        return int(rows[0]["seq"]) if rows else -1

    def _events(self, after: int) -> list[dict[str, Any]]:
        """All after it, in pages."""
        rows: list[dict[str, Any]] = []
        while True:
            last = rows[-1]["seq"] if rows else after
            said = self._insist(
                lambda last=last: self.browser.get(  # type: ignore[misc]
                    f"/api/sandboxes/{self.slug}/events?after={last}&most=10000"
                )
            )
            page = [orjson.loads(line) for line in said.content.splitlines()]
            rows += page
            if len(page) < 10_000:
                return rows

    def _folded(self) -> Attempt:
        attempt: Attempt | None = None
        for row in self._events(-1):
            entry = from_row(_plain(row))
            if isinstance(entry.event, LabStarted):
                attempt = Attempt(LABS[entry.event.lab], entry.event.seed, entry.event.attempt, entry.seq)
            elif attempt is not None:
                attempt.see(entry)
        assert attempt is not None
        return attempt

    def _insist(self, ask: Callable[[], httpx.Response]) -> httpx.Response:
        while True:
            try:
                said = ask()
            except Unreached:
                said = None
            if said is not None and said.status_code < 400:
                return said
            if said is not None and said.status_code not in (409, TOO_FAST, 500, 502, 503):
                raise GaveUp(f"{said.request.url.path}: {said.status_code} {said.text[:300]}")
            self._pause(RETRY_S[0])

    def _think(self) -> None:
        self._pause(self.chance.uniform(0.5, 3.0))

    def _pause(self, seconds: float) -> None:
        if time.monotonic() > self._until_s:
            raise GaveUp(f"at {self._open}")
        time.sleep(seconds)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    from tests.browser.lab_hands import with_longs

    return with_longs(row)
