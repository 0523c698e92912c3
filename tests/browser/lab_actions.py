"""Actions of labs, each by the form or button of the page that a student has for it, with keys."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import Locator, expect

from sandbox.control.actions import (
    Action,
    ChangeActor,
    ChangeTopic,
    CrashActor,
    ResetOffsets,
    RestartActor,
    SendMessages,
    StartConsumer,
    StopActor,
)
from tests.browser.conftest import Site
from tests.browser.keyboard import Keyboard


class Ways:
    """Places of the page and paths to them."""

    def __init__(self, site: Site, keys: Keyboard) -> None:
        self.site = site
        self.page = site.page
        self.keys = keys

    def card(self, actor: str) -> Locator:
        return self.page.locator(f".cons[data-actor='{actor}']")

    def dialog(self) -> Locator:
        found = self.page.locator("#ask[open]")
        found.wait_for()
        return found

    def ask_for(self, name: str, actor: str = "") -> Locator:
        """A dialog of the rail, which a lab keeps folded."""
        rail = self.page.locator("details.labrail")
        if rail.get_attribute("open") is None:
            self.keys.push(rail.locator("summary"))
        whose = f"[data-actor='{actor}']" if actor else ""
        self.keys.push(self.page.locator(f"[data-ask={name}]{whose}").first)
        return self.dialog()

    def send(self, dialog: Locator) -> None:
        self.keys.push(dialog.locator(".foot .btn:not([data-close])"))
        expect(self.page.locator("#ask[open]")).to_have_count(0)

    def back(self) -> None:
        """Return by the link in the head of every page."""
        self.keys.push(self.page.locator("[data-lab]"))
        self.page.wait_for_url("**/labs/**")
        self.site.wait_connected()

    def tab(self, path: str) -> None:
        """Another page of the sandbox, by its link in the head."""
        self.keys.push(self.page.locator(f".tabs a[href$='/{path}/']"))
        self.page.wait_for_url(f"**/{path}/**")
        self.site.wait_connected()


def press_card(ways: Ways, action: Any) -> None:
    ways.keys.push(ways.card(action.actor).locator(f"[data-act={type(action).__name__}]"))
    if isinstance(action, CrashActor):
        ways.send(ways.dialog())


def send_messages(ways: Ways, action: SendMessages) -> None:
    dialog = ways.ask_for("burst")
    ways.keys.pick(dialog.locator("[name=topic]"), action.topic)
    ways.keys.write(dialog.locator("[name=count]"), action.count or len(action.rows))
    if action.rows:
        ways.keys.write(dialog.locator("[name=key]"), action.rows[0].key)
    ways.keys.write(dialog.locator("[name=body_bytes]"), action.body_bytes)
    ways.send(dialog)


def start_consumer(ways: Ways, action: StartConsumer) -> None:
    ways.keys.push(ways.page.locator("[data-ask=consumer]").first)
    dialog = ways.dialog()
    ways.keys.write(dialog.locator("[name=group]"), action.group)
    for one in action.subscriptions:
        ways.keys.write(dialog.locator("[data-topic]"), one.topic)
        ways.keys.write(dialog.locator("[data-expression]"), one.expression)
    if action.actor:
        ways.keys.write(dialog.locator("[name=actor]"), action.actor)
    ways.keys.write(dialog.locator("[name=copies]"), action.copies)
    ways.send(dialog)


def change_actor(ways: Ways, action: ChangeActor) -> None:
    card = ways.card(action.actor)
    if action.rate_per_s is not None:
        dialog = ways.ask_for("change", actor=action.actor)
        ways.keys.write(dialog.locator("[name=rate_per_s]"), action.rate_per_s)
    elif action.slow_queue:
        ways.keys.push(card.locator("[data-act=slow]"))
        dialog = ways.dialog()
        ways.keys.pick(dialog.locator("[name=slow_queue]"), action.slow_queue)
        ways.keys.write(dialog.locator("[data-how=queue] [name=slow_ms]"), action.slow_ms)
    else:
        ways.keys.push(card.locator("[data-act=change]"))
        dialog = ways.dialog()
        for name, value in (("expression", action.expression), ("handler", action.handler)):
            if value is not None:
                ways.keys.write(dialog.locator(f"[name={name}]"), value)
    ways.send(dialog)


def change_topic(ways: Ways, action: ChangeTopic) -> None:
    ways.tab("topics")
    ways.keys.push(ways.page.locator(f"#topic-{action.topic} button"))
    form = ways.page.locator("#topic-form form")
    ways.keys.write(form.locator("[name=write_queues]"), action.write_queues)
    ways.keys.write(form.locator("[name=read_queues]"), action.read_queues)
    ways.keys.press("Enter")
    expect(ways.page.locator(f"#topic-{action.topic} td").nth(1)).to_have_text(str(action.write_queues))
    ways.back()


def reset_offsets(ways: Ways, action: ResetOffsets) -> None:
    ways.keys.push(ways.page.locator(".pagehead [data-reset]"))
    dialog = ways.page.locator("#resetdlg[open]")
    ways.keys.choose(dialog.locator(f"[name=target][value={action.target}]"))
    assert action.value is not None
    at = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=action.value)
    ways.keys.write(dialog.locator("#rs-time"), f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d}")
    go = dialog.locator("#rs-go")
    expect(go).to_be_enabled()
    ways.keys.push(go)
    expect(dialog.locator("#rs-done")).to_be_visible()
    ways.keys.press("Escape")
    expect(dialog).to_be_hidden()


DONE: dict[type[Action], Callable[[Ways, Any], None]] = {
    CrashActor: press_card,
    StopActor: press_card,
    RestartActor: press_card,
    SendMessages: send_messages,
    StartConsumer: start_consumer,
    ChangeActor: change_actor,
    ChangeTopic: change_topic,
    ResetOffsets: reset_offsets,
}
