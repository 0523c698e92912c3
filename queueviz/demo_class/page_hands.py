"""The actions of a lab's script on the pages of a running server: `sandbox.labs.script.Hands` over HTTP."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlencode

from queueviz.demo_class.page_socket import picture
from queueviz.operations.remote_pages import RemotePages
from queueviz.operations.remote_sandbox import RemoteRefused
from sandbox.control.actions import Action, SetRate, fields_of, name_of
from sandbox.control.questions import BY_NAME, Question
from sandbox.journal.schema import Row, describe, from_row
from sandbox.kernel import json_bytes
from sandbox.kernel.chance import Chance
from sandbox.labs.evidence import Evidence, Numbers
from sandbox.labs.grade import grade
from sandbox.labs.lab import Lab
from sandbox.queries.rows.labs import LabRow

LOOK_EVERY_S = 1.5
MOST_LINES = 1_000_000
GRACE_S = 45.0  # how much longer than it should a wait takes on a busy machine
PANEL = {"HX-Request": "true"}
LOWERS = 'name="do" value="down"'
RUNS = ("do", "done")  # in other phases the clock is paused while the student reads


class Pace(NamedTuple):
    """The pace of a simulated student.

    `least_s`, `most_s`: shortest and longest pause between two actions, in seconds.  `rate`: the least rate of the
    sandbox's clock while a step waits.
    """

    chance: Chance
    least_s: float
    most_s: float
    rate: float = 1.0


class PageHands:
    """The actions of one student in one lab (`Hands`), sent to the server's pages.

    `rest` waits for the given number of seconds; it raises once the class is over.  Every method raises
    RemoteRefused if the server refuses the request or does not respond.
    """

    def __init__(self, pages: RemotePages, slug: str, lab: Lab, pace: Pace, rest: Callable[[float], None]) -> None:
        self._pages, self._lab, self._pace, self._rest = pages, lab, pace, rest
        self._slug = slug
        self._api = f"/api/sandboxes/{slug}"
        self._panel = f"/s/{slug}/labs/{lab.slug}/"
        self._rate = 1.0
        self._drawn: tuple[int, Numbers] | None = None  # by the attempt
        self.said: tuple[str, str] | None = None  # part and value of the last answer

    @property
    def state(self) -> LabRow:
        row: LabRow | None = self._pages.get(f"{self._api}/ask/lab-state").json()["lab"]
        if row is None:
            raise RemoteRefused(f"Sandbox {self._slug} has no lab in progress.")
        return row

    @property
    def numbers(self) -> Numbers:
        """All numbers drawn for the attempt, read from the journal.

        The page shows only those that occur in its texts.
        """
        attempt = self.state["attempt"]
        if self._drawn is None or self._drawn[0] != attempt:
            self._drawn = attempt, self.evidence.numbers
        return self._drawn[1]

    @property
    def evidence(self) -> Evidence:
        lines = self._pages.get(f"{self._api}/events?{urlencode({'after': -1, 'most': MOST_LINES})}").content
        return grade(from_row(with_numbers(row)) for row in map(json_bytes.loads, lines.splitlines()))[
            -1
        ].attempt.evidence

    def act(self, action: Action) -> int:
        self.think()
        return self._act(action)

    def wait(self, seconds: float) -> None:
        self._run_clock(max(self._rate, 1.0))
        began_ms, slept_s = self._now_ms(), 0.0
        while (left_s := seconds - (self._now_ms() - began_ms) / 1000) > 0 and slept_s < seconds + GRACE_S:
            sleep_s = min(LOOK_EVERY_S, left_s / self._rate)
            self._rest(sleep_s)
            slept_s += sleep_s

    def see(self, within_s: float = 180) -> None:
        now = self.state
        if now["open"] is not None:
            self._run_clock(max(now["open"]["rate"], self._pace.rate))
        looks = math.ceil((within_s / self._rate + GRACE_S) / LOOK_EVERY_S)
        for _ in range(looks):
            if _place(now) != _place(self.state) or not _does(now):
                break
            self._rest(LOOK_EVERY_S)
        self.look()

    def predict(self, value: float | str) -> None:
        self._answer("predict", value)

    def say(self, value: float | str) -> None:
        self._answer("say", value)

    def why(self, value: float | str) -> None:
        self._answer("why", value)

    def hint(self) -> None:
        self.think()
        self._post(action="TakeHint", step=str(self._step()))

    def read(self, channel: str) -> Any:
        kind, _, rest = channel.partition("/")
        return picture(self._pages.url, self._pages.cookies, f"{kind}/{self._slug}/{rest}".rstrip("/"))

    def ask(self, question: Question) -> dict[str, object]:
        name = next(name for name, kind in BY_NAME.items() if type(question) is kind)
        arguments = {name: value for name, value in vars(question).items() if value is not None}
        answer: dict[str, object] = self._pages.get(f"{self._api}/ask/{name}?{urlencode(arguments, doseq=True)}").json()
        return answer

    # What a script does not have: of the page, and of the person before it.

    def think(self) -> None:
        self._rest(self._pace.chance.between(self._pace.least_s, self._pace.most_s))

    def look(self) -> None:
        """Read the panel, as a page does after an event.

        The sandbox's clock runs in the phases of `RUNS`, and is paused while there is text to read.
        """
        self._pages.get(self._panel, **PANEL)
        opened = self.state["open"]
        self._run_clock(1.0 if opened is None or opened["phase"] in RUNS else 0.0)

    @property
    def hand_is_up(self) -> bool:
        """Return True if the panel shows a raised hand: then its button lowers the hand."""
        return LOWERS in self._pages.get(self._panel, **PANEL).text

    def start_over(self) -> None:
        self.think()
        self._post(action="RestartLab")
        self._run_clock(1.0)

    def say_again(self) -> None:
        """Send the last answer again, unchanged."""
        assert self.said is not None, "a script has answered something"
        part, value = self.said
        self._answer(part, value)

    def _answer(self, part: str, value: float | str) -> None:
        self.think()
        self.said = (part, value if isinstance(value, str) else f"{value:g}")
        self._post(action="AnswerStep", step=str(self._step()), part=part, value=self.said[1])
        self._rest(LOOK_EVERY_S)  # what the answer completes is written in the engine's next turn
        self.look()

    def _post(self, **form: str) -> None:
        self._pages.post(self._panel, form, **PANEL)

    def _act(self, action: Action) -> int:
        arguments = {"action": name_of(action), **fields_of(action, whole=True)}
        return int(self._pages.send(f"{self._api}/actions", arguments).json()["seq"])

    def _run_clock(self, rate: float) -> None:
        if rate != self._rate:
            self._act(SetRate(rate=rate))
            self._rate = rate

    def _now_ms(self) -> int:
        return int(self._pages.get(self._api).json()["at_ms"])

    def _step(self) -> int:
        opened = self.state["open"]
        return len(self._lab.steps) if opened is None else opened["step"]


def with_numbers(row: Row) -> Row:
    """Return an event row of the API with numbers in place of texts, as the journal's files have it.

    The API sends large numbers as text for browsers.
    """
    longs = _longs().get(row["type"], ())
    return {name: _number(value) if name in longs or name in ("seq", "cause") else value for name, value in row.items()}


@cache
def _longs() -> dict[str, tuple[str, ...]]:
    return {
        name: tuple(field for field, kind in event["fields"].items() if "int64" in kind)
        for name, event in describe().items()
    }


def _number(value: Any) -> Any:
    if isinstance(value, list):
        return [_number(item) for item in value]
    return int(value) if isinstance(value, str) and value.removeprefix("-").isdecimal() else value


def _place(row: LabRow) -> tuple[int, int | None, str | None]:
    opened = row["open"]
    return row["attempt"], opened and opened["step"], opened and opened["phase"]


def _does(row: LabRow) -> bool:
    return row["open"] is not None and row["open"]["phase"] == "do"
