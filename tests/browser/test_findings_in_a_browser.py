"""The Board's line proves and mends: its figures, the other findings, and what a remedy will do."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Site

FITS = "document.documentElement.scrollWidth <= innerWidth"


def hung(site: Site) -> Page:
    """A board whose member A hangs, with the finding of it."""
    site.start("orders")
    assert site.act(action="HangActor", actor="A") == 204
    assert site.act(action="SetRate", rate="4") == 204
    site.page.locator("#finding.error #finding-why").wait_for()
    return site.page


def new_answer(page: Page) -> None:
    """Wait for the next answer of the line."""
    page.evaluate("""() => new Promise((done) => {
        document.body.addEventListener("htmx:afterSettle", ({ target }) => target.id === "finding" && done());
        document.body.dispatchEvent(new CustomEvent("queueviz:findings"));
    })""")


def lit(page: Page) -> Locator:
    return page.locator(".lit")


def test_why_opens_the_figures_in_the_place_of_the_second_panel(site: Site) -> None:
    page = hung(site)
    why, panel, tape = page.locator("#finding-why"), page.locator("#why"), page.locator("#tape")
    expect(panel).to_be_hidden()
    why.focus()
    page.keyboard.press("Enter")
    expect(panel).to_be_visible()
    expect(tape).to_be_hidden()
    expect(why).to_have_attribute("aria-expanded", "true")
    row = panel.locator("tbody tr.lead")
    expect(row.locator("th")).to_have_text("A")
    new_answer(page)
    expect(panel, "it stays open when the line comes again").to_be_visible()
    expect(why).to_have_attribute("aria-expanded", "true")
    row.hover()
    expect(lit(page)).to_have_count(1)
    expect(page.locator(".cons[data-actor=A]")).to_have_class(re.compile(r"\blit\b"))
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(tape).to_be_visible()
    expect(why).to_be_focused()
    why.click()
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_be_hidden()
    expect(why).to_be_focused()


def test_times_go_on_between_two_answers_and_stand_with_the_clock(site: Site) -> None:
    page = hung(site)
    since = page.locator("#finding [data-since]").first
    before = since.inner_text()
    site.until("(before) => document.querySelector('#finding [data-since]').textContent !== before", before)
    site.stand_still()
    new_answer(page)
    stands = since.inner_text()
    site.page.evaluate("new Promise((done) => setTimeout(done, 600))")
    assert since.inner_text() == stands


def test_the_other_findings_open_in_place_and_keep_their_order(site: Site) -> None:
    page = hung(site)
    assert site.act(action="HangActor", actor="B") == 204
    more, listed = page.locator("#finding-more"), page.locator("#finding-list")
    more.wait_for()
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        expect(listed).to_be_hidden()
        more.focus()
        page.keyboard.press("Enter")
        expect(listed).to_be_visible()
        expect(more).to_have_attribute("aria-expanded", "true")
        assert page.evaluate(FITS)
        page.keyboard.press("Tab")
        link = listed.get_by_role("link").first
        expect(link).to_be_focused()
        expect(lit(page).first).to_be_attached()
        keys = "[...document.querySelectorAll('#finding-list li')].map((line) => line.dataset.key)"
        before = page.evaluate(keys)
        new_answer(page)
        assert page.evaluate(keys)[: len(before)] == before
        expect(link, "the focus stays on its line").to_be_focused()
        page.keyboard.press("Escape")
        expect(listed).to_be_hidden()
        expect(more).to_be_focused()


def test_a_member_that_hangs_is_crashed_from_its_finding_and_from_its_card(site: Site) -> None:
    page, dialog = hung(site), site.page.locator("dialog#ask")
    for where, button in (
        ("", ".cons[data-actor=A] [data-act=CrashActor]"),
        ("findings/", ".fi .btn.primary"),
        ("", "#finding .btn.primary"),
    ):
        site.open(where)
        page.locator(button).click()
        expect(dialog.locator(".badge")).to_have_text("A")
    dialog.get_by_role("button", name="Crash").click()
    expect(page.locator(".cons[data-actor=A]")).to_contain_text("Crashed")


def test_a_remedy_runs_after_its_sentence_only(site: Site) -> None:
    site.start("orders")
    page = site.page
    assert site.act(action="StopBroker", broker="broker-a") == 204
    button = page.locator("#finding").get_by_role("button", name="Start broker-a…")
    button.wait_for()
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("broker-a runs again as master: its 4 queues accept messages, and are read from it.")
    expect(dialog.get_by_role("button", name="Do it")).to_be_focused()
    new_answer(page)
    expect(dialog, "it stays open when the line comes again").to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(button).to_be_focused()
    assert {row["state"] for row in site.snapshot()["brokers"]} == {"running", "stopped"}
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(button).to_have_count(0)
    assert {row["state"] for row in site.snapshot()["brokers"]} == {"running"}


def test_the_page_has_the_same_figures_and_keeps_them_open(site: Site) -> None:
    hung(site)
    page = site.open("findings/")
    figures = page.locator("details.proofs").first
    figures.locator("summary").click()
    expect(figures.locator("tbody tr.lead th")).to_have_text("A")
    page.evaluate("""() => new Promise((done) => {
        document.body.addEventListener("htmx:afterSettle", ({ target }) => target.id === "findings" && done());
        document.body.dispatchEvent(new CustomEvent("queueviz:findings"));
    })""")
    expect(figures).to_have_attribute("open", "")
    page.set_viewport_size(PHONE)
    assert page.evaluate(FITS)
