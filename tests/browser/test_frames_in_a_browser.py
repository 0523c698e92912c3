"""Frames: chosen by keyboard, opened, and read from both sides."""

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, Site

LINK = "wire/?link=A~broker-a"


def test_a_frame_is_found_and_opened_by_keyboard(site: Site) -> None:
    site.visit("orders", LINK)
    rows = site.page.locator("#frames tbody tr")
    rows.nth(3).wait_for(timeout=PATIENCE_MS)
    site.page.keyboard.press("ArrowDown")
    first = site.page.evaluate("document.activeElement.dataset.no")
    site.page.keyboard.press("ArrowDown")
    second = site.page.evaluate("document.activeElement.dataset.no")
    assert int(second) < int(first)  # the newest stand first
    site.page.keyboard.press("Enter")
    expect(site.page.locator("#frame .framefields tr[data-part]").first).to_be_visible()
    expect(site.page.locator(f"#frames [data-key='{second}']")).to_have_attribute("aria-current", "true")


def test_fields_and_bytes_light_each_other_up(site: Site) -> None:
    site.visit("orders", LINK)
    site.page.locator("#frames .opens").first.click(timeout=PATIENCE_MS)
    code = site.page.locator(".framefields tr", has=site.page.get_by_role("button", name="code", exact=True))
    code.locator("button").focus()
    part = code.get_attribute("data-part")
    lit = site.page.locator(".hex .h .lit")
    expect(lit.first).to_be_visible()
    assert '"code"' in bytes.fromhex("".join(lit.all_text_contents())).decode()
    length = site.page.locator(".hex .h [data-in='0']")
    length.hover()
    expect(site.page.locator(".framefields tr[data-part='0']")).to_have_class("d0 lit")
    expect(site.page.locator(f".framefields tr[data-part='{part}']")).not_to_have_class("d1 lit")
    total = int("".join((length.text_content() or "").split()), 16)
    value = int(site.page.locator(".framefields tr[data-part='0'] .value").text_content() or 0)
    assert total == value


def test_the_list_holds_still_while_someone_is_in_it(site: Site) -> None:
    site.visit("orders", LINK)
    rows = site.page.locator("#frames tbody tr")
    rows.nth(1).wait_for(timeout=PATIENCE_MS)
    rows.first.hover()
    newest = rows.first.get_attribute("data-key")
    expect(site.page.locator("#held")).to_be_visible(timeout=PATIENCE_MS)
    assert rows.first.get_attribute("data-key") == newest
    site.page.locator("h1").hover()
    expect(rows.first).not_to_have_attribute("data-key", newest or "", timeout=PATIENCE_MS)
    expect(site.page.locator("#held")).to_be_hidden()
