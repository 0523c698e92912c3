"""A step is met by the buttons of its own panel, on a screen and on a phone, and what it watches stays in view."""

import re

import pytest
from playwright.sync_api import Locator, ViewportSize, expect

from tests.browser.conftest import DESKTOP, PATIENCE_MS, PHONE, Site

LAB = "crash-and-stop"
WIDTHS = [pytest.param(PHONE, id="390"), pytest.param(DESKTOP, id="1440", marks=pytest.mark.wide)]
IN_VIEW = """mark => {
  const { x, y, width, height } = mark.getBoundingClientRect();
  const top = document.elementFromPoint(x + width / 2, y + height / 2);
  return mark === top || mark.contains(top);
}"""


@pytest.mark.parametrize("width", WIDTHS)
def test_a_step_is_met_by_the_buttons_of_its_panel(site: Site, width: ViewportSize) -> None:
    page = site.page
    page.set_viewport_size(width)
    page.goto(f"{site.base_url}/labs/")
    page.locator(f"#lab-{LAB}").get_by_role("button", name="Start").click()
    page.wait_for_url(f"**/labs/{LAB}/")
    site.adopt()
    panel = page.locator("#lab")
    panel.get_by_label("How many of the").fill("7")
    page.keyboard.press("Enter")
    send, stop = (panel.locator(".todo > li").nth(number) for number in range(2))
    expect(send).to_have_class("now")
    assert stop.get_by_role("button").is_disabled()
    expect(stop).to_contain_text("After line 1.")
    press(send, "Send")
    expect(send).to_have_class("done")
    watched = page.locator(".lab-watch")
    expect(watched).to_have_attribute("data-predicted", "You predicted: 7 messages")
    assert watched.evaluate(IN_VIEW), "neither the head nor the panel covers it"
    press(stop, "Stop")
    reading = panel.get_by_label("How many messages were redelivered")
    expect(reading).to_be_visible(timeout=PATIENCE_MS)
    reading.fill(page.locator("#k-again").inner_text())
    panel.get_by_role("button", name="Submit answer").click()
    expect(panel.locator("input[type=radio]").first).to_be_visible()
    expect(panel.locator(".todo button")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth === innerWidth")


def press(line: Locator, label: str) -> None:
    line.get_by_role("button", name=re.compile(f"^{label}")).click()
