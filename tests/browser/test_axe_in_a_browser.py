"""No page has an accessibility violation axe reports, in either theme and at 390 px, nor a target too small there."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from queueviz.pages.first_steps import COOKIE
from tests.browser.axe import faults, faults_at_both_widths, small_targets, violations
from tests.browser.conftest import DESKTOP, PHONE, Site

PAGES = {
    "board": ("orders", "", ".tip"),
    "orderly board": ("payments", "", ".q"),
    "findings": ("orders", "findings/", "#findings .holds li"),
    "groups": ("orders", "groups/", "#groups tbody tr"),
    "rebalance": ("orders", "rebalance/", ".planned"),
    "locks": ("payments", "locks/", "#lock-rows .ring"),
    "store": ("orders", "store/", "#entries button"),
    "index": ("index", "index/?key=order-Aa", ".walkend"),
    "messages": ("index", "messages/?s-by=time&s-topic=orders", "#found .more"),
    "reset": ("orders", "reset/", ".rs-tbl"),
    "topics": ("orders", "topics/?topic=orders", ".queuerow"),
    "journal": ("orders", "journal/", ".journal li"),
    "settings": ("orders", "settings/", ".table"),
    "client": ("payments", "clients/A/", "#queues tbody tr"),
    "producer": ("payments", "clients/till/", "#timers tbody tr"),
    "frames": ("orders", "wire/?link=A~broker-a", "#frames tbody tr"),
    "connect": ("orders", "connect/", ".snippet"),
    "empty": ("empty", "", "#no-queues"),
}
BESIDE = ("", "recipe/", "labs/", "incidents/", "s/{slug}/share/", "s/{slug}/what-if/?at=20")
OF_OTHER_FILES = ("topology/", "audit/", "history/", "pipeline/")
MARKED = ("locks", "index", "settings", "topics", "reset")  # beside numbers that the articles give otherwise
CLIPPED = """() => [...document.querySelectorAll(".differs .said")]
    .filter((said) => said.getBoundingClientRect().width < 60 || said.scrollWidth > said.clientWidth + 1)
    .map((said) => said.textContent)"""


@pytest.fixture(autouse=True)
def still(page: Page) -> None:
    """A page that does not move as it opens."""
    page.emulate_media(reduced_motion="reduce")


@pytest.mark.parametrize("name", PAGES)
def test_axe_reports_nothing(site: Site, name: str) -> None:
    """All explanations beside numbers are open and stay inside their page."""
    template, path, ready = PAGES[name]
    site.visit(template, path)
    if name == "board":  # as a newcomer sees it
        site.page.context.clear_cookies(name=COOKIE)
        site.page.reload()
    site.page.locator(ready).first.wait_for()
    site.page.locator("#found tr:nth-child(n+9)").evaluate_all("(all) => all.forEach((row) => row.remove())")  # alike
    marks = site.page.locator(".differs")
    marks.evaluate_all("(all) => all.forEach((mark) => { mark.open = true; })")
    assert marks.count() > 0 or name not in MARKED
    for viewport in (DESKTOP, PHONE):
        site.page.set_viewport_size(viewport)
        assert site.page.evaluate(CLIPPED) == []
        assert faults(site.page) == []
    marks.evaluate_all("(all) => all.forEach((mark) => { mark.open = false; })")
    assert small_targets(site.page) == []


@pytest.mark.parametrize("path", BESIDE)
def test_axe_reports_nothing_on_pages_without_a_socket(site: Site, path: str) -> None:
    if "{slug}" in path:
        site.visit("orders")
    site.page.goto(f"{site.base_url}/{path.format(slug=site.slug)}")
    assert faults_at_both_widths(site.page) == []


def test_a_phone_has_room_for_the_longest_texts_a_finger_and_chinese(site: Site) -> None:
    """A busy machine says so beside the clock, and a frozen page counts what it missed."""
    site.page.set_viewport_size(PHONE)
    site.visit("orders", "groups/")
    written = """([selector, words]) => {
        const node = document.querySelector(selector);
        [node.hidden, node.textContent] = [false, words];
        return document.documentElement.scrollWidth;
    }"""
    for place in (
        ("#reached", "1.4\u00d7 of 20\u00d7: this machine is busy"),
        ("#clock .wall", "wall 23:59:59"),
        ("#clock .seq", "event #10 000 000"),
        ("#livepill .word", "Frozen, 1 000 000 events missed"),
        ("#conn .word", "Catching up"),
    ):
        assert site.page.evaluate(written, place) == PHONE["width"], place
    for path in OF_OTHER_FILES:
        site.open(path)
        assert small_targets(site.page) == [], path
    for language in ("en", "zh-hans"):
        site.page.context.add_cookies([{"name": "django_language", "value": language, "url": site.base_url}])
        site.page.goto(f"{site.base_url}/fidelity/?q=lock")
        assert faults(site.page) == []
    site.open()
    assert faults(site.page) == []
    expect(site.page.locator("#conn")).to_contain_text("已连接")
    expect(site.page.locator(".cons .state").first).to_have_text("运行中")


def test_axe_reports_nothing_in_the_dialogs(site: Site) -> None:
    page = site.visit("orders")
    for name in ("burst", "producer", "strategy", "fault", "consumer"):
        page.locator(f"[data-ask={name}]").first.click()
        page.locator("#ask[open]").wait_for()
        assert violations(page, within="#ask") == [], name
        page.keyboard.press("Escape")
    page.locator(".cons[data-actor=A] [data-act=change]").click()
    page.locator("#ask[open]").wait_for()
    assert violations(page, within="#ask") == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    mark = page.locator("#ask .differs").first
    mark.locator("summary").click()
    expect(mark.locator(".said")).to_have_css("border-inline-start-width", "3px")
    assert violations(page, within="#ask") == []
    page.keyboard.press("Escape")
    page.locator(".pagehead [data-reset]").click()
    page.locator(".rs-tbl").wait_for()
    assert violations(page, within="#resetdlg") == []


@pytest.mark.parametrize("name", ["fault", "strategy"])
def test_the_long_dialogs_of_a_cluster_fit_and_axe_reports_nothing(site: Site, name: str) -> None:
    page = site.visit("cluster")
    page.evaluate("(name) => document.querySelector(`[data-ask=${name}]`).click()", name)
    dialog = page.locator("#ask[open]")
    dialog.get_by_role("heading").first.wait_for()
    for fold in dialog.locator("summary").all():
        fold.click()
    for viewport in (DESKTOP, PHONE):
        page.set_viewport_size(viewport)
        assert dialog.evaluate("(it) => it.scrollWidth <= it.clientWidth"), viewport["width"]
        assert faults(page, within="#ask") == []


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_open_table_of_a_board_is_shown_whole_and_axe_reports_nothing(site: Site, viewport: ViewportSize) -> None:
    page = site.page
    page.set_viewport_size(viewport)
    site.visit("orders")
    page.locator("#twin-toggle").click()
    page.locator("#twin tbody tr").nth(10).wait_for()
    expect(page.locator("#board")).to_be_hidden()
    last = page.locator("#twin tbody").last.locator("tr").last
    last.scroll_into_view_if_needed()
    cut = """(row) => {
        const seen = row.getBoundingClientRect(), panel = row.closest('.boardwrap').getBoundingClientRect();
        return seen.bottom > panel.bottom + 1 || seen.right > panel.right + 1;
    }"""
    assert last.evaluate(cut) is False
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page, within=".boardwrap") == []
    page.locator("#twin-toggle").click()
    expect(page.locator(".q qv-strip").first).to_be_visible()
