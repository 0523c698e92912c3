"""Screenshots of the main pages, for eyes: `script/test browser --shots DIR`.  Light, dark, and on a phone.

The pictures of the README are some of these, copied to docs/images.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.conftest import DESKTOP, PHONE, Site


@pytest.fixture
def shoot(site: Site, request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Take the page as it is now, in both themes and on a phone; skipped where no one asked for pictures."""
    where = request.config.getoption("--shots")
    if where is None:
        pytest.skip("no --shots")
    folder = Path(where)
    folder.mkdir(parents=True, exist_ok=True)

    def take(name: str) -> None:
        for viewport, size in ((DESKTOP, ""), (PHONE, "-phone")):
            site.page.set_viewport_size(viewport)
            for theme in ("light", "dark"):
                site.page.evaluate("(theme) => document.documentElement.dataset.theme = theme", theme)
                site.page.evaluate("document.fonts.ready")
                site.page.evaluate("new Promise((done) => setTimeout(done, 400))")  # colours and charts settle
                site.page.screenshot(path=folder / f"{name}{size}-{theme}.png")
        site.page.set_viewport_size(DESKTOP)
        site.page.evaluate("document.documentElement.dataset.theme = 'light'")

    return take


def test_shots_of_the_board(site: Site, shoot: Callable[[str], None]) -> None:
    """One key held, one member silent, the rest at work."""
    site.start("orders")
    assert site.act(action="SetRate", rate="20") == 204
    assert site.act(action="ChangeActor", actor="A", slow_key="order-77812", slow_ms="900000") == 204
    site.until("Number(document.querySelector('.q .t-max').textContent) > 60")
    assert site.act(action="SendMessages", topic="orders", key="order-77812", count="1", queue="broker-a:1") == 204
    site.until("document.querySelector('.q[data-queue=\"broker-a:1\"] .t-pinned').textContent.includes('held')")
    assert site.act(action="SetRate", rate="4") == 204
    assert site.act(action="HangActor", actor="C") == 204
    site.until("document.querySelectorAll('.q.bad').length >= 3")
    assert site.act(action="SetRate", rate="1") == 204
    site.page.locator(".q[data-queue='broker-a:1']").click()
    shoot("board")


def test_shots_of_an_orderly_board_and_its_locks(site: Site, shoot: Callable[[str], None]) -> None:
    site.start("payments")
    assert site.act(action="SetRate", rate="20") == 204
    site.until("Number(document.querySelector('.q .t-max').textContent) > 60")
    assert site.act(action="SetRate", rate="1") == 204
    assert site.act(action="CrashActor", actor="B") == 204
    site.until("document.querySelectorAll('.q.bad').length >= 3")
    shoot("orderly")
    site.open("locks/")
    site.until("document.querySelectorAll('#lock-rows .ring').length === 8")
    shoot("locks")


def test_shots_of_an_index_walk(site: Site, shoot: Callable[[str], None]) -> None:
    site.visit("index", "index/?key=order-Aa")
    site.until("document.querySelector('.walkend') && !document.querySelector('.stations.playing')")
    shoot("index")


def test_shots_of_a_reset(site: Site, shoot: Callable[[str], None]) -> None:
    site.visit("orders")
    assert site.act(action="SetRate", rate="20") == 204
    site.until("Number(document.querySelector('.q .t-max').textContent) > 60")
    assert site.act(action="SetRate", rate="1") == 204
    site.page.locator(".ghead [data-reset]").click()
    site.page.locator(".rs-tbl").wait_for()
    site.page.get_by_role("button", name="30 s ago").click()
    site.page.evaluate("new Promise((done) => setTimeout(done, 600))")
    shoot("reset")


def test_shots_of_the_first_page(site: Site, shoot: Callable[[str], None]) -> None:
    site.page.goto(f"{site.base_url}/")
    site.until("Number(document.querySelector('.q .t-max')?.textContent) > 0")
    shoot("landing")
