"""No page has an accessibility violation axe can find, in either theme and at 390 px, nor a target too small there."""

import pytest
from playwright.sync_api import Page, ViewportSize

from queueviz.pages.first_steps import COOKIE
from tests.browser.axe import faults, small_targets, violations
from tests.browser.conftest import DESKTOP, PHONE, Site

PAGES = {
    "board": ("orders", "", ".q"),
    "orderly board": ("payments", "", ".q"),
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


@pytest.fixture(autouse=True)
def still(page: Page) -> None:
    """What moves when a page opens is not where it will be."""
    page.emulate_media(reduced_motion="reduce")


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(site: Site, name: str) -> None:
    template, path, ready = PAGES[name]
    for viewport in (DESKTOP, PHONE):
        site.page.set_viewport_size(viewport)
        site.visit(template, path)
        if not path:  # the Board of who comes for the first time
            site.page.context.clear_cookies(name=COOKIE)
            site.page.reload()
            site.page.locator(".tip").wait_for()
        site.page.locator(ready).first.wait_for()
        assert faults(site.page) == []
    assert small_targets(site.page) == []


@pytest.mark.parametrize("path", ["s/{slug}/share/", "s/{slug}/branch/?at=20", "s/{slug}/claims/", "recipe/", "labs/",
                                  "incidents/"])
def test_axe_finds_nothing_on_pages_beside_the_board(site: Site, path: str) -> None:
    site.visit("orders")
    for viewport in (DESKTOP, PHONE):
        site.page.set_viewport_size(viewport)
        site.page.goto(f"{site.base_url}/{path.format(slug=site.slug)}")
        assert faults(site.page) == []
    assert small_targets(site.page) == []


def test_the_time_bar_of_a_phone_has_room_for_its_longest_texts(site: Site) -> None:
    """A busy machine says so beside the clock, and a frozen page counts what it missed."""
    site.page.set_viewport_size(PHONE)
    site.visit("orders", "groups/")
    written = """([selector, words]) => {
        const node = document.querySelector(selector);
        [node.hidden, node.textContent] = [false, words];
        return document.documentElement.scrollWidth;
    }"""
    for place in (("#reached", "1.4\u00d7 of 20\u00d7: this machine is busy"), ("#clock .wall", "wall 23:59:59"),
                  ("#clock .seq", "event #10 000 000"), ("#livepill .word", "Frozen, 1 000 000 events missed"),
                  ("#conn .word", "Catching up")):
        assert site.page.evaluate(written, place) == PHONE["width"], place


@pytest.mark.parametrize("path", ["topology/", "audit/", "history/", "pipeline/"])
def test_a_finger_finds_everything_on_the_other_pages_too(site: Site, path: str) -> None:
    site.page.set_viewport_size(PHONE)
    site.visit("orders", path)
    assert small_targets(site.page) == []


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing_on_the_first_page(site: Site, viewport: ViewportSize) -> None:
    site.page.set_viewport_size(viewport)
    site.page.goto(f"{site.base_url}/")
    assert faults(site.page) == []
    assert viewport == DESKTOP or small_targets(site.page) == []


def test_axe_finds_nothing_in_the_dialogs(site: Site) -> None:
    site.visit("orders")
    for name in ("burst", "producer", "strategy", "fault", "consumer"):
        site.page.locator(f"[data-ask={name}]").first.click()
        site.page.locator("#ask[open]").wait_for()
        assert violations(site.page) == [], name
        site.page.keyboard.press("Escape")
    site.page.keyboard.press("?")
    site.page.locator("#ask .keys").wait_for()
    assert violations(site.page) == []
    site.page.keyboard.press("Escape")
    site.page.locator(".ghead [data-reset]").click()
    site.page.locator(".rs-tbl").wait_for()
    assert violations(site.page) == []


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing_in_the_table_of_a_board(site: Site, viewport: ViewportSize) -> None:
    site.page.set_viewport_size(viewport)
    site.visit("orders")
    site.page.locator("#twin-toggle").click()
    site.page.locator("#twin tbody tr").first.wait_for()
    assert violations(site.page) == []
