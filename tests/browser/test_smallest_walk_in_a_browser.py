"""The smallest walk: a sandbox of one click moves, is acted upon, outlives a reload and a cut socket."""

import re

from playwright.sync_api import ConsoleMessage, expect

from tests.browser.conftest import Site, Wire

ENDS = "[...document.querySelectorAll('.q .t-max')].map((end) => end.textContent).join()"


def test_a_sandbox_of_one_click_moves_and_is_still_there_after_a_reload_and_a_cut(site: Site, wire: Wire) -> None:
    page, errors = site.page, []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    page.on("console", note)
    page.goto(f"{site.base_url}/")
    page.get_by_role("button", name="Start a sandbox").click()
    site.adopt()
    expect(page.locator("#livepill")).to_have_text("LIVE")
    site.until(f"(before) => {ENDS} !== before", page.evaluate(ENDS))

    card = page.locator(".cons[data-actor=A]")
    card.get_by_role("button", name="Crash").click()
    page.locator("#ask").get_by_role("button", name="Crash").click()
    expect(card.locator(".state")).to_have_text("Crashed")
    page.reload()
    site.wait_connected()
    expect(card.locator(".state")).to_have_text("Crashed")
    expect(card.locator(".say")).to_contain_text(re.compile(r"crashed [\d.]+ m?s ago"))

    wire.cut()
    expect(page.locator(".app")).to_have_attribute("data-conn", "offline")
    expect(page.locator("#notice .banner")).to_be_visible()
    before = page.evaluate(ENDS)
    wire.mend()
    site.wait_connected()
    site.until(f"(before) => {ENDS} !== before", before)
    expect(page.locator("#notice .banner")).to_be_hidden()
    assert errors == []
