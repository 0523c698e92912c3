"""A lab over troubles in mid-step: its prediction is sealed, and what the step asks for has not happened yet.

Whatever comes between, the step is met once, each answer is received once, and the open page shows it by itself.
"""

import json

import pytest
from playwright.sync_api import Page, Request, Route, expect

from sandbox.control.actions import StartConsumer
from sandbox.journal.events import ActionTaken, PredictionGiven, StepMet
from tests.browser.conftest import PATIENCE_MS, Site, Wire
from tests.browser.lab_hands import KeyboardHands
from tests.browser.test_lab_by_keyboard_in_a_browser import begin
from tests.server.server import Server

LAB = "members-and-queues"
PARTS = ("predict", "say", "why")
SETTLES = 5  # times three beats: what was on its way as time stopped still comes


@pytest.fixture
def hands(site: Site) -> KeyboardHands:
    return in_mid_step(site)


def in_mid_step(site: Site) -> KeyboardHands:
    """Begin a lab whose first step is predicted, and all members it asks for are started.

    Time is stopped: the queues have not been assigned for long enough yet.
    """
    hands = begin(site, LAB)
    n = hands.numbers
    hands.predict(n["idle"])
    hands.stop()
    hands.act(StartConsumer(group=n["group"], copies=n["members"] - n["at_first"]))
    assert hands.attempt.phase == "do"
    return hands


def finish(hands: KeyboardHands) -> None:
    hands.see()
    hands.say(hands.numbers["idle"])
    hands.why("one_owner")


def assert_whole(hands: KeyboardHands) -> None:
    """Nothing is lost and nothing is doubled, in the journal and on the page."""
    entries = hands.entries
    seqs = [entry.seq for entry in entries]
    assert seqs == sorted(set(seqs)), "no event is there twice; after a kill their numbers begin further on"
    events = [entry.event for entry in entries]
    assert [event.step for event in events if isinstance(event, PredictionGiven)] == [1]
    assert [event.step for event in events if isinstance(event, StepMet)] == [1]
    assert answered(hands) == list(PARTS)
    receipts = hands.attempt.receipts.kept
    assert [receipt.part for receipt in receipts] == list(PARTS)
    expect(hands.panel.locator(".dots .met")).to_have_count(1)


def answered(hands: KeyboardHands) -> list[str]:
    return [
        entry.event.fields["part"]
        for entry in hands.entries
        if isinstance(entry.event, ActionTaken) and entry.event.action == "AnswerStep"
    ]


def test_a_reload_at_twenty_times_the_speed_a_double_enter_and_a_second_tab_change_nothing(
    hands: KeyboardHands,
) -> None:
    assert hands.site.act(action="SetRate", rate="20") == 204
    hands.page.reload()
    hands.site.wait_connected()
    expect(hands.panel.locator(".seal strong")).to_have_text(str(hands.numbers["idle"]))
    hands.see()
    hands.page.reload()
    hands.site.wait_connected()
    expect(hands.panel.locator("[data-paused]")).to_be_visible()
    expect(hands.page.locator("#chart canvas")).to_be_visible()
    other = hands.page.context.new_page()
    other.goto(hands.page.url)
    other.locator(".app[data-conn=connected]").wait_for()
    second = other.locator("#lab").get_by_label("Count on the board")
    second.fill(str(hands.numbers["idle"]))  # begun there, sent here
    hands.page.bring_to_front()
    field = hands.panel.get_by_label("Count on the board")
    hands.keys.write(field, hands.numbers["idle"])
    hands.keys.press_twice("Enter")
    expect(field).to_have_count(0)
    second.press("Enter")
    expect(other.locator("#lab .refusal")).to_contain_text("This question of step 1 is not open.")
    hands.why("one_owner")
    assert_whole(hands)
    expect(other.locator("#lab .dots .met")).to_have_count(1)
    other.close()


def test_a_closed_laptop_loses_no_step_and_no_answer(site: Site, wire: Wire) -> None:
    """The laptop is closed for a minute of the sandbox, in which the step happens."""
    hands = in_mid_step(site)
    hands.pace(1)
    close(hands, wire)
    held = hands.page.evaluate("queueviz.clock.now()")
    assert site.act(action="SetRate", rate="20") == 204  # beside the page, which hears nothing
    begun = site.snapshot()["at_ms"]
    while site.snapshot()["at_ms"] - begun < 60_000:
        hands.page.evaluate("new Promise(requestAnimationFrame)")
    assert hands.page.evaluate("queueviz.clock.now()") == held, "no countdown runs while nothing is heard"
    assert site.act(action="SetRate", rate="1") == 204
    open_again(hands, wire)
    field = hands.panel.get_by_label("Count on the board")
    field.wait_for()
    close(hands, wire)
    hands.keys.write(field, hands.numbers["idle"])
    hands.keys.press("Enter")
    expect(hands.panel.locator("[data-kept]")).to_be_visible()
    assert answered(hands) == ["predict"]
    open_again(hands, wire)
    expect(field).to_have_count(0)
    hands.why("one_owner")
    assert_whole(hands)


def test_an_answer_whose_receipt_was_lost_is_kept_over_a_reload_and_goes_out_with_the_key_it_had(
    hands: KeyboardHands,
) -> None:
    hands.see()
    page = hands.page
    assert_fetches_nothing(hands)

    def lose(route: Route) -> None:
        if route.request.method != "POST":
            return route.fallback()
        route.fetch()
        return route.abort()

    page.route("**/labs/**", lose)
    field = hands.panel.get_by_label("Count on the board")
    hands.keys.write(field, hands.numbers["idle"])
    with page.expect_event("requestfailed", lambda request: request.method == "POST"):
        hands.keys.press("Enter")
    kept = json.loads(page.evaluate("localStorage.getItem(`queueviz:kept ${location.pathname}`)"))
    assert (kept["part"], kept["value"]) == ("say", str(hands.numbers["idle"]))
    page.unroute("**/labs/**")
    page.reload()
    hands.site.wait_connected()
    expect(field).to_have_count(0)
    hands.site.until("localStorage.getItem(`queueviz:kept ${location.pathname}`) === null")
    hands.why("one_owner")
    assert_whole(hands)
    keys = [
        entry.event.fields["key"]
        for entry in hands.entries
        if isinstance(entry.event, ActionTaken) and entry.event.fields.get("part") == "say"
    ]
    assert keys == [kept["key"]]


def assert_fetches_nothing(hands: KeyboardHands) -> None:
    """While time is stopped: a panel is fetched only where something has changed."""
    fetched: list[str] = []
    path = hands.page.url.partition("?")[0]

    def note(request: Request) -> None:
        if request.url.startswith(path):
            fetched.append(request.url)

    hands.page.on("request", note)
    for _ in range(SETTLES):
        fetched.clear()
        hands.site.hear_three_beats()
        if not fetched:
            break
    hands.page.remove_listener("request", note)
    assert fetched == []


def close(hands: KeyboardHands, wire: Wire) -> None:
    hands.page.context.set_offline(True)
    wire.cut()
    expect(hands.page.locator(".app")).to_have_attribute("data-conn", "offline")


def open_again(hands: KeyboardHands, wire: Wire) -> None:
    hands.page.context.set_offline(False)
    wire.mend()
    hands.site.wait_connected()


def test_a_kill_of_the_server_keeps_step_seal_and_receipts(page: Page, own_server: Server) -> None:
    hands = in_mid_step(Site(page, own_server.url, {}))
    own_server.kill()
    expect(page.locator("#conn")).to_contain_text("Offline")
    own_server.start()
    page.locator(".app[data-conn=connected]").wait_for(timeout=PATIENCE_MS)
    expect(hands.panel.locator(".seal strong")).to_have_text(str(hands.numbers["idle"]))
    finish(hands)
    assert_whole(hands)
