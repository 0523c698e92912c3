"""Faults from their dialog, by mouse and by the keyboard alone."""

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


def test_a_link_is_cut_slowed_and_healed(site: Site) -> None:
    site.start("cluster")
    links = opened(site).get_by_role("form", name="Links", exact=True)
    links.locator("[name=a]").select_option("broker-a")
    links.locator("[name=b]").select_option("broker-b")
    links.get_by_role("button", name="Cut the link").click()
    refusal = site.page.locator("#ask .refusal")
    expect(refusal).to_be_focused(timeout=PATIENCE_MS)
    expect(refusal).to_contain_text("do not talk to each other")
    links.locator("[name=b]").select_option("ns-1")
    links.get_by_label("this way only").check()
    links.get_by_role("button", name="Cut the link").click()
    closed(site)
    assert site.snapshot()["links"] == [{"a": "broker-a", "b": "ns-1", "state": "cut", "one_way": True, "delay_ms": 0}]
    opened(site).get_by_role("button", name="Heal").click()
    closed(site)
    links = opened(site).get_by_role("form", name="Links", exact=True)
    links.locator("[name=a]").select_option("shop")
    links.locator("[name=b]").select_option("broker-b")
    links.get_by_label("Delay, in ms").fill("250")
    links.get_by_role("button", name="Slow it down").click()
    closed(site)
    [row] = site.snapshot()["links"]
    assert (row["state"], row["delay_ms"]) == ("delayed", 250)


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
    expect(journal).to_contain_text("slave 1 of broker-a made its master by hand", timeout=PATIENCE_MS)
