"""Screenshots of the main pages, for eyes: `script/test browser --shots DIR`.  Light, dark, and on a phone.

The pictures of the README are some of these, copied to docs/images.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.conftest import DESKTOP, PHONE, Site

RISEN = "Number(document.querySelector('.q .t-max')?.textContent) > {least}"


def board(site: Site) -> None:
    """One key held, one member silent, the rest at work."""
    site.start("orders")
    assert site.act(action="SetRate", rate="20") == 204
    assert site.act(action="ChangeActor", actor="A", slow_key="order-77812", slow_ms="900000") == 204
    site.until(RISEN.format(least=60))
    assert site.act(action="SendMessages", topic="orders", key="order-77812", count="1", queue="broker-a:1") == 204
    site.until("document.querySelector('.q[data-queue=\"broker-a:1\"] .t-pinned').textContent.includes('held')")
    assert site.act(action="SetRate", rate="4") == 204
    assert site.act(action="HangActor", actor="C") == 204
    site.until("document.querySelectorAll('.q.bad').length >= 3")
    assert site.act(action="SetRate", rate="1") == 204
    site.page.locator(".q[data-queue='broker-a:1']").click()


def orderly(site: Site) -> None:
    site.start("payments")
    assert site.act(action="SetRate", rate="20") == 204
    site.until(RISEN.format(least=60))
    assert site.act(action="SetRate", rate="1") == 204
    assert site.act(action="CrashActor", actor="B") == 204
    site.until("document.querySelectorAll('.q.bad').length >= 3")


def locks(site: Site) -> None:
    orderly(site)
    site.open("locks/")
    site.until("document.querySelectorAll('#lock-rows .ring').length === 8")


def index(site: Site) -> None:
    site.visit("index", "index/?key=order-Aa")
    site.until("document.querySelector('.walkend') && !document.querySelector('.stations.playing')")


def reset(site: Site) -> None:
    site.visit("orders")
    assert site.act(action="SetRate", rate="20") == 204
    site.until(RISEN.format(least=60))
    assert site.act(action="SetRate", rate="1") == 204
    site.page.locator(".pagehead [data-reset]").click()
    site.page.locator(".rs-tbl").wait_for()
    site.page.get_by_role("button", name="30 s ago").click()
    site.page.evaluate("new Promise((done) => setTimeout(done, 600))")


def landing(site: Site) -> None:
    site.page.goto(f"{site.base_url}/")
    site.until(RISEN.format(least=0))


def fidelity(site: Site) -> None:
    site.page.goto(f"{site.base_url}/fidelity/#0.27")


PAGES = (board, orderly, locks, index, reset, landing, fidelity)


@pytest.mark.parametrize("prepare", PAGES, ids=[prepare.__name__ for prepare in PAGES])
def test_shots(site: Site, request: pytest.FixtureRequest, prepare: Callable[[Site], None]) -> None:
    """Skipped without a folder for the pictures."""
    folder = request.config.getoption("--shots")
    if folder is None:
        pytest.skip("no --shots")
    prepare(site)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for viewport, size in ((DESKTOP, ""), (PHONE, "-phone")):
        site.page.set_viewport_size(viewport)
        for theme in ("light", "dark"):
            site.page.evaluate("(theme) => document.documentElement.dataset.theme = theme", theme)
            site.page.evaluate("document.fonts.ready")
            site.page.evaluate("new Promise((done) => setTimeout(done, 400))")  # colours and charts settle
            site.page.screenshot(path=Path(folder) / f"{prepare.__name__}{size}-{theme}.png")
