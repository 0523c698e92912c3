"""A visitor filters by properties: refused at first, then switched on from the settings."""

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, PHONE, Site


def test_a_condition_is_refused_until_the_settings_allow_it(site: Site) -> None:
    page = site.page
    site.visit("orders")
    page.locator("[data-ask=consumer]").first.click()
    dialog = page.locator("#ask[open]")
    dialog.wait_for()
    dialog.locator("[data-expression]").fill("TAGS = 'paid'")
    dialog.locator("[data-filter]").select_option("SQL92")
    dialog.locator("button.primary").click()
    card = page.locator(".cons[data-client]", has_text="does not support consumer to filter message by SQL92")
    expect(card).to_have_count(1, timeout=PATIENCE_MS)
    page.set_viewport_size(PHONE)
    site.open("settings/")
    switch = page.locator("[aria-labelledby=s-filter]")
    expect(switch.locator("select")).to_have_value('{"property_filter":false}')
    switch.locator("select").select_option(label="on")
    with page.expect_response(lambda answer: answer.url.endswith("/actions/")) as answered:
        switch.locator("button").click()
    assert answered.value.status == 204
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    site.open("settings/")
    expect(switch.locator("select")).to_have_value('{"property_filter":true}')
