"""The first page: a live board of the demo, and one suggested click whose consequences are said below it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import faults_at_both_widths
from tests.browser.conftest import DESKTOP, PATIENCE_MS, PHONE, Site

ALL_RUN = """() => document.querySelectorAll('.cons[data-client]').length === 3
    && !document.querySelector('.cons.out')"""
FIXED = ("#try-crash", ".then", ".others", ".liveboard", "#board", ".ways", "#symptoms")
RECTS = """(all) => all.map((one) => {
    const { left, top, width, height } = document.querySelector(one).getBoundingClientRect();
    return [one, ...[left, top + scrollY, width, height].map(Math.round)];
})"""
HAPPENED = re.compile(
    r"^\s*A crashed\. (B|C|B, C) took q\d(, q\d)* at once\. (\d+ messages? (was|were)|No message was) delivered again\."
)


def rects(page: Page) -> Any:
    return page.evaluate(RECTS, list(FIXED))


@pytest.fixture
def landing(site: Site) -> Page:
    """The first page, once all members of its group run."""
    open_landing(site.page, site.base_url)
    return site.page


def open_landing(page: Page, base_url: str) -> None:
    page.goto(f"{base_url}/")
    page.locator(".app[data-conn=connected]").wait_for()
    page.wait_for_function(ALL_RUN, timeout=PATIENCE_MS)
    page.reload()  # the suggested member is the first that runs
    page.locator(".app[data-conn=connected]").wait_for()


@pytest.fixture
def other(browser: Browser) -> Iterator[Page]:
    """The page of another visitor."""
    with browser.new_context(viewport=DESKTOP) as context:
        context.set_default_timeout(PATIENCE_MS)
        yield context.new_page()


def test_it_shows_all_queues_their_members_and_what_the_checks_say(landing: Page, site: Site) -> None:
    expect(landing.locator("#rows .q")).to_have_count(8)
    expect(landing.locator("#conn .word")).to_have_text("Live")
    expect(landing.locator(".cons .say")).to_have_text(["q0, q1, q2", "q3, q4, q5", "q6, q7"])
    site.until("document.querySelectorAll('#lanes .lane.dots[d]').length > 0")
    expect(landing.locator("#finding")).not_to_have_text(re.compile("Not checked yet"), timeout=PATIENCE_MS)
    expect(landing.locator(".btn.primary")).to_have_count(1)
    ends = "[...document.querySelectorAll('.q .lag, .q .t-max')].map((one) => one.textContent).join()"
    site.until(f"(before) => {ends} !== before", landing.evaluate(ends))


def test_a_line_that_nothing_was_known_for_is_fetched_again(landing: Page) -> None:
    landing.evaluate("""() => {
        const line = document.querySelector("#finding");
        line.setAttribute("data-moves", "");
        line.querySelector("p").textContent = "Not checked yet.";
    }""")
    expect(landing.locator("#finding")).not_to_have_text(re.compile("Not checked yet"), timeout=PATIENCE_MS)


def test_a_click_is_followed_by_a_sentence_and_nothing_moves(landing: Page) -> None:
    button, said = landing.locator("#try-crash"), landing.locator("#try-said")
    expect(button).to_have_accessible_name("Crash consumer A")
    landing.evaluate("document.fonts.ready")
    before = rects(landing)
    button.focus()
    landing.keyboard.press("Enter")
    expect(button).to_have_accessible_name("Restart A")
    expect(landing.locator("#try-note")).to_have_text(re.compile(r"It restarts by itself in \d"))
    assert rects(landing) == before
    expect(said).to_have_text(HAPPENED, timeout=PATIENCE_MS)
    assert rects(landing) == before
    expect(said.get_by_role("link")).to_have_attribute("href", re.compile(r"/s/landing/journal/\?at=\d+"))
    expect(landing.locator("#finding")).to_have_text(re.compile("delivered again"))
    if button.get_attribute("data-verb") == "RestartActor":
        button.click()
        expect(said).to_have_text(re.compile(r"A has \d queues? (after|at once)"), timeout=PATIENCE_MS)
    expect(button).to_have_accessible_name("Crash consumer A", timeout=PATIENCE_MS)
    assert rects(landing) == before


def test_of_two_visitors_who_crash_the_same_member_the_second_gets_a_sentence_with_or_without_a_socket(
    landing: Page, other: Page, site: Site
) -> None:
    other.emulate_media(reduced_motion="reduce")
    other.context.route_web_socket("**/ws/live/", lambda socket: socket.close())
    late = other.context.new_page()  # it cannot see what others do
    for page in (other, late):
        page.goto(f"{site.base_url}/")
        expect(page.locator("#conn .word")).to_have_text("Offline")
    before = rects(late)
    other.locator("#try-crash").click()  # it restarts by itself after 20 s
    expect(other.locator("#try-crash")).to_have_accessible_name("Restart A")
    late.locator("#try-crash").click()
    expect(landing.locator("#try-crash")).to_have_accessible_name("Restart A")
    expect(landing.locator("#try-said")).to_have_text("Another visitor crashed A.")
    expect(other.locator("#try-said")).to_have_text(re.compile("A crashed"))
    expect(late.locator(".then .refusal")).to_have_text(re.compile("A is already crashed"))
    assert rects(late) == before
    assert faults_at_both_widths(landing) == []


def test_a_server_that_is_busy_refuses_in_the_line_below_the_button(landing: Page) -> None:
    refusal = '<div class="refusal" role="alert" tabindex="-1" data-status="503"><span>The engine is busy.</span></div>'
    landing.route("**/actions/", lambda route: route.fulfill(status=503, body=refusal, content_type="text/html"))
    before = rects(landing)
    landing.locator("#try-crash").click()
    expect(landing.locator(".then .refusal")).to_have_text("The engine is busy.")
    expect(landing.locator("#try-crash")).to_have_accessible_name("Crash consumer A")
    assert rects(landing) == before


def test_a_phone_needs_no_scrolling_aside_in_either_language(landing: Page, site: Site) -> None:
    landing.set_viewport_size(PHONE)
    for language in ("en", "zh-hans"):
        landing.context.add_cookies([{"name": "django_language", "value": language, "url": site.base_url}])
        landing.reload()
        assert landing.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_the_quiet_buttons_say_what_they_do_too(landing: Page) -> None:
    """The last one: it leaves no presses for another test of this address."""
    before = rects(landing)
    landing.get_by_role("button", name="Send 50 messages").click()
    expect(landing.locator("#try-said")).to_have_text(re.compile("50 messages were sent"))
    landing.get_by_role("button", name="Slow down a consumer").click()
    expect(landing.locator("#try-said")).to_have_text(re.compile("C now needs 2 to 4 s for each message"))
    assert rects(landing) == before
