"""Frames: the list holds still under the mouse; one is chosen by keyboard and read from both sides."""

from playwright.sync_api import expect

from tests.browser.conftest import Site


def test_a_frame_is_chosen_by_keyboard_and_its_fields_and_bytes_light_each_other_up(site: Site) -> None:
    page = site.visit("orders", "wire/?link=A~broker-a")
    rows = page.locator("#frames tbody tr")
    rows.nth(3).wait_for()
    rows.first.hover()
    newest = rows.first.get_attribute("data-key")
    expect(page.locator("#held")).to_be_visible()
    assert rows.first.get_attribute("data-key") == newest
    page.locator("h1").hover()
    expect(rows.first).not_to_have_attribute("data-key", newest or "")
    expect(page.locator("#held")).to_be_hidden()

    page.keyboard.press("ArrowDown")
    first = page.evaluate("document.activeElement.dataset.no")
    page.keyboard.press("ArrowDown")
    second = page.evaluate("document.activeElement.dataset.no")
    assert int(second) < int(first)  # the newest stand first
    page.keyboard.press("Enter")
    expect(page.locator("#frame .framefields tr[data-part]").first).to_be_visible()
    expect(page.locator(f"#frames [data-key='{second}']")).to_have_attribute("aria-current", "true")

    code = page.locator(".framefields tr", has=page.get_by_role("button", name="code", exact=True))
    code.locator("button").focus()
    part = code.get_attribute("data-part")
    lit = page.locator(".hex .h .lit")
    expect(lit.first).to_be_visible()
    assert '"code"' in bytes.fromhex("".join(lit.all_text_contents())).decode()
    length = page.locator(".hex .h [data-in='0']")
    length.hover()
    expect(page.locator(".framefields tr[data-part='0']")).to_have_class("d0 lit")
    expect(page.locator(f".framefields tr[data-part='{part}']")).not_to_have_class("d1 lit")
    total = int("".join((length.text_content() or "").split()), 16)
    assert int(page.locator(".framefields tr[data-part='0'] .value").text_content() or 0) == total
