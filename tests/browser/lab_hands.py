"""The hands of a lab's script on the keyboard of its page: every action by the form or button that a student has."""

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, expect

from sandbox.control.actions import (
    Action,
    ChangeActor,
    ChangeTopic,
    CrashActor,
    ResendMessage,
    ResetOffsets,
    RestartActor,
    SendMessages,
    StartConsumer,
    StopActor,
)
from sandbox.control.questions import Question
from sandbox.journal.events import Entry, LabStarted
from sandbox.journal.schema import describe, from_row
from sandbox.labs.attempt import Attempt
from sandbox.labs.catalogue import LABS
from sandbox.labs.evidence import Evidence, Numbers
from tests.browser.conftest import PATIENCE_MS, Site
from tests.browser.keyboard import Keyboard

LONG_MS = 8 * 60_000  # of a step whose clock runs fast on a machine that others use
FAST = 20


class KeyboardHands:
    """What a script does, on the page of the lab; what it reads is on the page or in the journal."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.page = site.page
        self.keys = Keyboard(site.page)
        self.panel = site.page.locator("#lab")
        self.address = site.page.url
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
        self._pace(1)
        form = self.panel.locator(f"form:has([name=part][value={part}])")
        form.wait_for()
        options = form.locator("[type=radio]")
        if options.count():
            self.keys.choose(form.locator(f"[type=radio][value='{value}']"))
        else:
            self.keys.write(form.locator("input[name=value]"), value)
        self.keys.press("Enter")
        expect(form).to_have_count(0)
        expect(self.panel.locator("footer")).to_contain_text("Answer received")

    # Time.

    def wait(self, seconds: float) -> None:
        """Of the sandbox's clock; what is long at 20×, by its button."""
        began = self._now()
        self._pace(FAST if seconds >= 10 else 1)
        self.site.until("(until) => queueviz.clock.now() >= until", began + seconds * 1000)
        self._pace(1)

    def see(self, within_s: float = 180) -> None:
        phase = self.panel.locator(".steps")
        step = self.panel.locator(".dots [aria-current=step] [aria-hidden]").inner_text()
        faster = self.panel.locator("[data-pace]")
        self._pace(FAST) if faster.count() == 0 else self.keys.push(faster)
        seen = self.page.locator(f"#lab:not(:has(.steps[data-phase=do])), #lab:not(:has(.dots [aria-current=step]:has-text('{step}')))")
        expect(seen.first).to_be_attached(timeout=LONG_MS)
        assert phase.count() == 1

    def _now(self) -> float:
        return float(self.page.evaluate("queueviz.clock.now()"))

    def _pace(self, rate: int) -> None:
        button = self.page.locator(f"footer.time [data-rate='{rate}']")
        if self.page.evaluate("queueviz.clock.rate") not in (rate, 0):
            self.keys.push(button)
            expect(button).to_have_attribute("aria-pressed", "true")

    # The Board.

    def act(self, action: Action) -> int:
        before = self.entries[-1].seq
        DONE[type(action)](self, action)
        name = type(action).__name__
        for _ in range(100):
            taken = [seen for seen in self.evidence.actions(name, since=0) if seen.seq > before]
            if taken:
                return taken[-1].seq
            self.page.evaluate("new Promise((done) => setTimeout(done, 100))")
        raise AssertionError(f"{name} was not carried out")

    def card(self, actor: str) -> Locator:
        return self.page.locator(f".cons[data-actor='{actor}']")

    def dialog(self) -> Locator:
        found = self.page.locator("#ask[open]")
        found.wait_for()
        return found

    def ask_for(self, name: str) -> Locator:
        """A dialog of the rail, which a lab keeps folded."""
        rail = self.page.locator("details.labrail")
        if rail.get_attribute("open") is None:
            self.keys.push(rail.locator("summary"))
        self.keys.push(self.page.locator(f"[data-ask={name}]").first)
        return self.dialog()

    def send(self, dialog: Locator) -> None:
        """Enter in a field of a form sends it."""
        self.keys.push(dialog.locator(".foot .btn:not([data-close])"))
        expect(self.page.locator("#ask[open]")).to_have_count(0)

    def back(self) -> None:
        """By the link in the head of every page."""
        self.keys.push(self.page.locator("[data-lab]"))
        self.page.wait_for_url("**/labs/**")
        self.site.wait_connected()

    def read(self, channel: str) -> Any:
        kind, _, rest = channel.partition("/")
        name = f"{kind}/{self.site.slug}/{rest}"
        return self.page.evaluate("(name) => queueviz.live.channels.get(name).data", name)

    def ask(self, question: Question) -> dict[str, Any]:
        raise NotImplementedError(question)


SHAPES = describe()


def with_longs(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the API, whose longs are text, as the journal's files have it."""
    fields = SHAPES[row["type"]]["fields"]
    longs = {"seq", "cause", *(name for name, kind in fields.items() if "int64" in kind)}
    return {name: _long(value) if name in longs else value for name, value in row.items()}


def _long(value: Any) -> Any:
    if isinstance(value, list):
        return [_long(one) for one in value]
    return int(value) if isinstance(value, str) else value


def _press_card(hands: KeyboardHands, action: Any) -> None:
    hands.keys.push(hands.card(action.actor).locator(f"[data-act={type(action).__name__}]"))
    if isinstance(action, CrashActor):
        hands.send(hands.dialog())


def _send_messages(hands: KeyboardHands, action: SendMessages) -> None:
    dialog = hands.ask_for("burst")
    hands.keys.pick(dialog.locator("[name=topic]"), action.topic)
    hands.keys.write(dialog.locator("[name=count]"), action.count or len(action.rows))
    if action.rows:
        hands.keys.write(dialog.locator("[name=key]"), action.rows[0].key)
    hands.keys.write(dialog.locator("[name=body_bytes]"), action.body_bytes)
    hands.send(dialog)


def _start_consumer(hands: KeyboardHands, action: StartConsumer) -> None:
    hands.keys.push(hands.page.locator("[data-ask=consumer]").first)
    dialog = hands.dialog()
    hands.keys.write(dialog.locator("[name=group]"), action.group)
    for one in action.subscriptions:
        hands.keys.write(dialog.locator("[data-topic]"), one.topic)
        hands.keys.write(dialog.locator("[data-expression]"), one.expression)
    if action.actor:
        hands.keys.write(dialog.locator("[name=actor]"), action.actor)
    hands.keys.write(dialog.locator("[name=copies]"), action.copies)
    hands.send(dialog)


DONE: dict[type[Action], Callable[[KeyboardHands, Any], None]] = {
    CrashActor: _press_card, StopActor: _press_card, RestartActor: _press_card,
    SendMessages: _send_messages, StartConsumer: _start_consumer,
}  # fmt: skip
