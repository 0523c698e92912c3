"""The line of findings above the Board of a past event: it moves with the event, and lights what it is about."""

import re
from pathlib import Path

from playwright.sync_api import expect

from queueviz.links.offline_page import offline_page
from tests.browser.axe import violations
from tests.browser.conftest import PHONE, Site

MADE_MS = 60_000  # other work may share the machine


def opened(site: Site, complaint: str) -> None:
    """Open an incident at its first marker."""
    site.page.goto(f"{site.base_url}/incidents/")
    site.page.get_by_role("button", name=f"Open: {complaint}").click()
    site.page.wait_for_url(re.compile(r"/s/[^/]+/\?.*at="), timeout=MADE_MS)
    site.slug = site.page.url.split("/s/")[1].split("/")[0]
    site._started.append(site.slug)


def test_the_line_of_findings_is_that_of_the_event(site: Site) -> None:
    site.page.emulate_media(reduced_motion="reduce")
    opened(site, "One queue is stopped")
    line, markers = site.page.locator("#finding"), site.page.locator("#incident ol")
    expect(line).to_contain_text("No finding is open at this event.")
    markers.get_by_role("link", name="Offset blocked").click()
    expect(line).to_contain_text("q2 is suspended: account-13 failed 10 times")
    expect(line).to_contain_text(re.compile(r"values of #.* where it opened .* ago"))
    expect(line).not_to_have_attribute("aria-busy", "true")
    line.hover()
    expect(site.page.locator('[data-queue="broker-a:2"].lit')).not_to_have_count(0)
    expect(
        site.page.locator("#r-line .mark title").filter(has_text="listener suspends the queue").first
    ).to_be_attached()
    assert violations(site.page) == []
    site.page.set_viewport_size(PHONE)
    assert site.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(site.page) == []
    site.page.keyboard.press("Home")
    expect(line).to_contain_text("No finding is open at this event.")


def test_why_leads_to_all_findings_of_the_event(site: Site) -> None:
    opened(site, "One queue is stopped")
    site.page.locator("#incident ol").get_by_role("link", name="Offset blocked").click()
    site.page.locator("#finding").get_by_role("link", name="Why").click()
    site.page.wait_for_url(re.compile(r"/findings/\?at=\d+"))
    expect(site.page.locator("#findings")).to_contain_text("q2 is suspended")
    expect(site.page.locator("#findings")).to_contain_text("open at event #")
    expect(site.page.locator("#r-at")).to_contain_text("Event #")
    assert violations(site.page) == []


def test_a_recording_names_the_findings_that_are_open_at_its_event(site: Site, tmp_path: Path) -> None:
    opened(site, "One queue is stopped")
    request, address = site.page.request, f"{site.base_url}/api/sandboxes/{site.slug}/recording?from=1300&to=1950"
    for _ in range(200):
        answer = request.get(address)
        if answer.status != 202:
            break
        site.page.wait_for_timeout(300)
    file = tmp_path / "kept.html"
    file.write_text(offline_page(answer.body(), title="Stuck", language="en"), "utf-8")
    site.page.goto(file.as_uri())
    shown, line = site.page.locator("[data-open]"), site.page.get_by_role("slider")
    expect(site.page.locator("[data-moment]")).to_contain_text("1")
    expect(shown).to_be_hidden()
    line.press("End")
    expect(shown).to_have_text(re.compile("Open findings: broker-a:2: listener suspends the queue"))
    line.press("Home")
    expect(shown).to_be_hidden()
