"""The hands of a lab's script on the keyboard of its page: every action by the form or button that a student has."""

import json
import re
from contextlib import suppress
from typing import Any

from playwright.sync_api import Locator, TimeoutError, expect

from sandbox.control.actions import Action, SendMessages
from sandbox.control.questions import Question
from sandbox.journal.events import Entry, LabStarted
from sandbox.journal.schema import describe, from_row
from sandbox.labs.attempt import Attempt
from sandbox.labs.catalogue import LABS
from sandbox.labs.evidence import Evidence, Numbers
from sandbox.labs.lab import Step
from tests.browser.conftest import Site
from tests.browser.keyboard import Keyboard
from tests.browser.lab_actions import DONE, Ways

LONG_MS = 8 * 60_000  # of a step whose clock runs fast on a machine that others use
FAST = 20
LONG_S = 5
PAUSED_WITHIN_MS = 3_000
MOST_STOPS = 5
LOOKS = 600  # 100 ms apart: other work may share the machine


class KeyboardHands(Ways):
    """Actions of a lab script by the keyboard; its readings come from the page or the journal."""

    def __init__(self, site: Site) -> None:
        super().__init__(site, Keyboard(site.page))
        self.panel = site.page.locator("#lab")
        self._entries: list[Entry] = []
        self._attempt: Attempt | None = None

    # What the journal has.

    @property
    def attempt(self) -> Attempt:
        """Folded from the journal, as far as it is written."""
        after = self._entries[-1].seq if self._entries else -1
        answer = self.page.request.get(f"{self.site.base_url}/api/sandboxes/{self.site.slug}/events?after={after}")
        for line in answer.text().splitlines():
            entry = from_row(with_longs(json.loads(line)))
            self._entries.append(entry)
            if isinstance(entry.event, LabStarted):
                started = entry.event
                self._attempt = Attempt(LABS[started.lab], started.seed, started.attempt, entry.seq)
            elif self._attempt is not None:
                self._attempt.see(entry)
        assert self._attempt is not None
        return self._attempt

    @property
    def entries(self) -> list[Entry]:
        assert self.attempt
        return self._entries

    @property
    def numbers(self) -> Numbers:
        return self.attempt.evidence.numbers

    @property
    def evidence(self) -> Evidence:
        return self.attempt.evidence

    # The panel.

    def predict(self, value: float | str) -> None:
        self._answer("predict", value)

    def say(self, value: float | str) -> None:
        self._answer("say", value)

    def why(self, value: float | str) -> None:
        self._answer("why", value)

    def hint(self) -> None:
        self.keys.push(self.panel.locator(".hints button"))

    def _answer(self, part: str, value: float | str) -> None:
        form = self.panel.locator(f"form:has([name=part][value={part}])")
        form.wait_for()
        options = form.locator("[type=radio]")
        if options.count():
            self.keys.choose(form.locator(f"[type=radio][value='{value}']"))
        else:
            self.keys.write(form.locator("input[name=value]"), value)
        self.keys.press("Enter")
        expect(form).to_have_count(0)
        if self.panel.locator(".steps:is([data-phase=do], [data-phase=done])").count():
            self.site.until("queueviz.clock.rate !== 0")  # the page has time go on

    # Time.

    def wait(self, seconds: float) -> None:
        """Wait on the sandbox's clock, a long time at 20×; after a short time stop the clock to act at that moment.

        The focus is at the key that stops it before the time is over: however long keys take, it is not much more.
        """
        is_long = seconds >= LONG_S
        until_ms = self._now() + seconds * 1000
        self.pace(FAST if is_long else 1)
        if not is_long:
            self.keys.go_to(self.page.locator("#world"))
        self.site.until("(until) => queueviz.clock.now() >= until", until_ms)
        if is_long:
            self.pace(1)
        else:
            self.stop()

    def see(self, within_s: float = 180) -> None:
        """At the step's pace.  The page stops the clock where something is to be read."""
        doing = self.panel.locator(".steps[data-phase=do]")
        if doing.count():
            self._go_at(self.attempt.open_step)
        expect(doing).to_have_count(0, timeout=LONG_MS)
        if self.panel.locator(".steps[data-phase=say]").count():
            self._see_it_stand()

    def _see_it_stand(self) -> None:
        """It goes on where the pace was chosen just as the step had happened; then it is stopped by hand."""
        with suppress(TimeoutError):
            self.panel.locator("[data-paused]").wait_for(timeout=PAUSED_WITHIN_MS)
        self.stop()

    def _go_at(self, step: Step | None) -> None:
        """Set the pace by a button of the panel, so that a short wait does not end before the next action."""
        rate = 1 if step is None else step.rate
        if not self._button(rate).count():
            self.keys.push(self.panel.locator(f"[data-pace='{rate:g}']"))
        elif self._rate() != rate:
            self.keys.push(self._button(rate))
            goes = f"footer.time [data-rate='{rate:g}'][aria-pressed=true]"
            stands = "#lab .steps:not([data-phase=do])"  # the step was met meanwhile, and the page has stopped time
            self.page.locator(f"{goes}, {stands}").first.wait_for(state="attached")

    def stop(self) -> None:
        """Stop the clock by its key outside fields; repeat it if the page had stopped time and the key resumed it."""
        self.keys.go_to(self.page.locator("#world"))
        for _ in range(MOST_STOPS):
            if not self._rate():
                break
            self.keys.press("Shift+Space")
            with suppress(TimeoutError):
                self.page.wait_for_function("() => queueviz.clock.rate === 0", timeout=PAUSED_WITHIN_MS)
        self.site.until("queueviz.clock.rate === 0")

    def pace(self, rate: float) -> None:
        """Set the pace by a button of the time bar."""
        if self._rate() != rate:
            self.keys.push(self._button(rate))
            expect(self._button(rate)).to_have_attribute("aria-pressed", "true")

    def _button(self, rate: float) -> Locator:
        return self.page.locator(f"footer.time [data-rate='{rate:g}']")

    def _now(self) -> float:
        return float(self.page.evaluate("queueviz.clock.now()"))

    def _rate(self) -> float:
        return float(self.page.evaluate("queueviz.clock.rate"))

    # The Board.

    def act(self, action: Action) -> int:
        before = self.entries[-1].seq
        if isinstance(action, SendMessages):
            self.stop()  # what is done with them next is a matter of seconds
        DONE[type(action)](self, action)
        name = type(action).__name__
        for _ in range(LOOKS):
            taken = [seen for seen in self.evidence.actions(name, since=0) if seen.seq > before]
            if taken:
                return taken[-1].seq
            self.page.evaluate("new Promise((done) => setTimeout(done, 100))")
        raise AssertionError(f"{name} was not carried out")

    def read(self, channel: str) -> Any:
        kind, _, rest = channel.partition("/")
        name = f"{kind}/{self.site.slug}/{rest}"
        return self.page.evaluate("(name) => queueviz.live.channels.get(name).data", name)

    def ask(self, question: Question) -> dict[str, Any]:
        raise AssertionError(f"none of the ten first labs asks {question}")


SHAPES = describe()
NUMBER = re.compile(r"-?\d+")


def with_longs(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the API, whose longs are text, as the journal's files have it."""
    fields = SHAPES[row["type"]]["fields"]
    longs = {"seq", "cause", *(name for name, kind in fields.items() if "int64" in kind)}
    return {name: _long(value) if name in longs else value for name, value in row.items()}


def _long(value: Any) -> Any:
    if isinstance(value, list):
        return [_long(one) for one in value]
    return int(value) if isinstance(value, str) and NUMBER.fullmatch(value) else value
