"""Faults from their dialog, by the keyboard alone."""

from typing import Any

from playwright.sync_api import Locator, expect

from tests.browser.conftest import PATIENCE_MS, Site


def opened(site: Site) -> Locator:
    site.page.keyboard.press("f")
    dialog = site.page.locator("#ask[open]")
    expect(dialog.get_by_role("heading", name="Inject fault")).to_be_visible()
    return dialog


def closed(site: Site) -> None:
    expect(site.page.locator("#ask[open]")).to_have_count(0, timeout=PATIENCE_MS)


def states(site: Site) -> dict[tuple[str, int], tuple[Any, Any]]:
    return {(row["broker"], row["broker_id"]): (row["role"], row["state"]) for row in site.snapshot()["brokers"]}


def test_a_master_is_killed_and_its_slave_promoted_with_the_keyboard(site: Site) -> None:
    site.start("cluster")
    for broker, button in (("broker-a", "Kill"), ("broker-a.1", "Promote")):
        group = opened(site).locator(f"form[aria-labelledby='fault-{broker}']")
        group.get_by_role("button", name=button, exact=True).focus()
        site.page.keyboard.press("Enter")
        closed(site)
    assert states(site)["broker-a", 0] == ("master", "running")
    assert states(site)["broker-a", 1] == ("slave", "killed")
    site.page.goto(f"{site.base_url}/s/{site.slug}/journal/")
    journal = site.page.locator(".journal")
    expect(journal).to_contain_text("slave 1 of broker-a promoted to master manually", timeout=PATIENCE_MS)
