"""An incident from the gallery: opened, gone through by its markers, branched before its repair."""

import re

from playwright.sync_api import expect

from tests.browser.axe import violations
from tests.browser.conftest import PHONE, Site

MADE_MS = 60_000  # other work may share the machine


def test_it_opens_at_its_first_marker_and_keys_go_from_marker_to_marker(site: Site) -> None:
    site.page.emulate_media(reduced_motion="reduce")
    site.page.goto(f"{site.base_url}/incidents/")
    open_it = site.page.get_by_role("button", name="Open: Messages arrive twice")
    open_it.focus()
    site.page.keyboard.press("Enter")
    site.page.wait_for_url(re.compile(r"/s/[^/]+/\?.*at="), timeout=MADE_MS)
    site.slug = site.page.url.split("/s/")[1].split("/")[0]
    site._started.append(site.slug)
    shown = site.page.locator("#incident")
    current, said = shown.locator("[aria-current=step]"), shown.locator("[data-note]:visible")
    expect(current).to_have_text(re.compile("The kill"))
    expect(site.page.locator("#r-line .note")).to_have_count(5)
    expect(said).to_have_text(re.compile("How many messages will be redelivered"))
    for title in ("First duplicate", "The total", "A clean stop"):
        site.page.keyboard.press("]")
        expect(current).to_have_text(re.compile(title))
    site.page.keyboard.press("[")
    expect(said).to_have_text(re.compile("messages of the killed process were redelivered"))
    shown.get_by_role("link", name="The kill").click()
    expect(current).to_have_text(re.compile("The kill"))
    shown.locator("summary").click()
    expect(shown.get_by_role("link", name=re.compile("the lab “Crash and clean stop”"))).to_be_visible()
    assert violations(site.page) == []
    site.page.set_viewport_size(PHONE)
    assert site.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(site.page) == []
    site.page.locator("#r-branch button").click()
    site.adopt()
    expect(site.page.locator("#board")).to_be_visible(timeout=MADE_MS)
    assert "at=" not in site.page.url
