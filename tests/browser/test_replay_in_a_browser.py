"""Replay on the Board: what is drawn is the state at the event of the address, and nothing can be done to it."""

import json
import re
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE_MS, PHONE, Kept, Site

A_RUN = "orders, for a replay"  # a sandbox these tests share; its clock is stopped


@pytest.fixture
def newest(site: Site, kept: Kept) -> int:
    """The number of the newest event, some hundred after a crash."""
    if A_RUN not in kept:
        site.start("orders")
        site.until("queueviz.live.seq > 600", within_ms=PATIENCE_MS)
        assert site.act(action="CrashActor", actor="A") == 204
        site.until("queueviz.live.seq > 1200", within_ms=PATIENCE_MS)
        site.stand_still()
        kept[A_RUN] = (site.slug, site.page.context.cookies())
    site.visit(A_RUN)
    return int(site.snapshot()["seq"])


def ask(site: Site, path: str) -> Any:
    with urlopen(f"{site.base_url}/api/sandboxes/{site.slug}/{path}") as answer:
        return json.load(answer)


def open_at(site: Site, seq: int) -> Page:
    site.page.goto(f"{site.base_url}/s/{site.slug}/?at={seq}")
    shown(site, seq)
    return site.page


def shown(site: Site, seq: int) -> None:
    expect(site.page.locator("#r-seq")).to_have_text(re.compile(rf"#{seq:,}".replace(",", "\u2009")))


def read(page: Page, at: int) -> tuple[int, list[tuple[str | None, str]]]:
    """The event whose values the Board shows, and committed and max of its queues."""
    grey, rows = page.evaluate("""() => [document.querySelector('#r-grey').textContent,
        [...document.querySelectorAll('#r-queues tr')].map((row) => [...row.cells].map((cell) => cell.textContent))]""")
    of = re.match(r"all values are of event #([\d\u2009]+)", grey)
    ends = [(row[3].replace("\u2009", ""), row[6].replace("\u2009", "")) for row in rows]
    return int(of[1].replace("\u2009", "")) if of else at, ends


def folded(site: Site, at: int) -> list[tuple[str | None, str]]:
    """The same out of the journal."""
    state = ask(site, f"state?at={at}")["snapshot"]
    topic = next(topic for topic in state["topics"] if topic["topic"] == "orders")
    group = next(group for group in state["groups"] if group["group"] == "order-svc")
    committed = {(row["broker"], row["queue_id"]): row["committed"] for row in group["queues"]}
    return [(committed[row["broker"], row["queue_id"]] or "–", row["max"]) for row in topic["queues"]]


def test_the_board_shows_the_state_at_the_event_of_the_line_and_nothing_can_be_done_to_it(
    site: Site, newest: int
) -> None:
    at = newest - 150
    page = open_at(site, at)
    site.until("document.querySelectorAll('#rows .q').length === 8")
    expect(page.locator("#replay-pill")).to_have_text("Replay")
    expect(page.locator("#conn")).to_have_count(0)
    buttons = page.locator(".cons footer button")
    assert buttons.count()
    assert all(button.is_disabled() for button in buttons.all())
    expect(page.locator("#r-grey")).to_have_text(re.compile("^all values are of[^.]*$"), timeout=PATIENCE_MS)

    page.keyboard.press("Shift+T")
    of, ends = read(page, at)
    assert ends == folded(site, of)
    page.route("**/state?*", lambda route: route.abort())
    page.route("**/journal?*", lambda route: None)  # never answered: the Board does not wait for the event's sentence
    page.locator("[role=slider]").focus()
    for step in range(1, 6):
        page.keyboard.press("ArrowLeft")
        shown(site, at - step)
    of, ends = read(page, at - 5)
    assert at - 60 < of <= at - 5
    page.unroute_all(behavior="ignoreErrors")
    assert ends == folded(site, of)
    expect(page.locator(".app")).not_to_have_attribute("data-grey", re.compile("."))

    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    expect(page.locator("#r-live")).to_be_in_viewport()


def test_keys_go_to_the_first_event_to_facts_to_the_cause_and_back_to_live(site: Site, newest: int) -> None:
    crash = next(int(row["seq"]) for row in ask(site, "journal?show=actions")["rows"] if row["action"] == "CrashActor")
    died = min(int(row["seq"]) for row in ask(site, f"journal?show=told&after={crash}")["rows"])
    first = int(ask(site, "stretches")["keyframe"])
    page = open_at(site, newest)
    site.until("document.querySelector('[role=slider]').getAttribute('aria-valuemin') !== '0'")
    page.keyboard.press("Home")
    shown(site, first)
    page = open_at(site, died)
    expect(page.locator("#r-go")).to_be_enabled()
    site.until("document.querySelector('#r-since').textContent.includes('#')")
    page.keyboard.press("c")
    shown(site, crash)
    page.keyboard.press(".")
    shown(site, died)
    expect(page).to_have_url(re.compile(rf"\?at={died}$"))
    page.keyboard.press("l")
    site.wait_connected()
    assert "at=" not in page.url


def test_another_view_at_an_event_does_not_update_and_leads_to_other_events(site: Site, newest: int) -> None:
    page, at = site.page, newest - 150
    page.goto(f"{site.base_url}/s/{site.slug}/rebalance/?at={at}")
    expect(page.locator("#executing, #r-at").first).to_be_visible()
    shown(site, at)
    expect(page.locator("#lines > li")).to_have_count(8)
    expect(page.locator("#replay-pill")).to_have_text("Replay")
    for control in page.locator("#plan-form :is(input, select)").all():
        expect(control).to_be_disabled()
    expect(page.locator("#plan")).to_be_empty()
    page.locator(".tabs a", has_text="Topology").click()
    shown(site, at)
    assert page.url.endswith(f"/topology/?at={at}")
    page.wait_for_load_state("networkidle")
    expect(page.locator("#routes table")).to_have_count(0)  # of the present
    page.locator("[data-box][data-kind=broker] [data-choose]").first.click()
    expect(page.locator("[data-panel]")).to_be_visible()
    assert f"at={at}" in page.url
    page.keyboard.press(",")
    page.wait_for_url(lambda url: f"at={at}" not in url and "at=" in url)
    page.wait_for_selector("#r-live")
    page.keyboard.press("l")
    page.wait_for_url(lambda url: "at=" not in url)
    expect(page.locator("#replay-pill")).to_have_count(0)
