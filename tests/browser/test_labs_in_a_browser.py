"""A lab from the list to its receipt, by clicks and keys; in each of its phases axe reports nothing."""

import re

from playwright.sync_api import expect

from tests.browser.axe import faults_at_both_widths
from tests.browser.conftest import DESKTOP, PATIENCE_MS, Site

LAB = "members-and-queues"


def test_a_lab_is_started_predicted_done_seen_and_explained(site: Site) -> None:
    page = site.page
    page.goto(f"{site.base_url}/labs/")
    page.locator(f"#lab-{LAB}").get_by_role("button", name="Start").click()
    page.wait_for_url(f"**/labs/{LAB}/")
    site.adopt()
    panel = page.locator("#lab")

    def assert_clean(within: str = "#lab") -> None:
        assert faults_at_both_widths(page, within) == []
        page.set_viewport_size(DESKTOP)

    assert_clean(within="html")
    panel.get_by_label("How many of the").fill("1")
    page.keyboard.press("Enter")
    expect(panel.locator(".seal strong")).to_have_text("1")
    expect(page.locator("#lab-now")).to_be_focused()
    expect(page.locator(".lab-watch")).to_be_visible()
    assert_clean()
    queues, now, members = map(int, re.findall(r"has (\d+)", panel.locator(".whole p").text_content() or ""))
    for have in range(now + 1, members + 1):
        page.get_by_role("button", name=re.compile("Add consumer")).click()
        expect(panel.locator(".said")).to_contain_text(
            f"{have} of {members}" if have < members else "have been assigned"
        )
    page.get_by_role("button", name="20×").click()
    expect(panel.get_by_label("Count on the board")).to_be_visible(timeout=PATIENCE_MS)
    panel.get_by_label("Count on the board").fill("0")
    panel.get_by_role("button", name="Answer").click()
    expect(panel.locator(".said.wrong")).to_contain_text("You wrote 0")
    assert_clean()
    idle = members - queues
    panel.get_by_label("Count on the board").fill(str(idle))
    panel.get_by_role("button", name="Answer").click()
    panel.get_by_label("at most one owner").check()
    assert_clean()
    panel.get_by_role("button", name="Answer").click()
    expect(panel.locator(".was")).to_contain_text(f"Predicted: 1. Actual: {idle}.")
    expect(panel.locator(".dots .met")).to_have_count(1)
    evidence = panel.locator(".was .evs a").first
    assert f"/s/{site.slug}/journal/?at=" in (evidence.get_attribute("href") or "")
    expect(panel).to_contain_text("Your task")
    expect(panel.locator("[data-paused]")).to_be_visible()
    panel.get_by_label("After how many seconds").fill("20")
    page.keyboard.press("Enter")
    site.until("queueviz.clock.rate === 1")
