"""The Groups page is sorted and searched by keyboard, moves by itself, and leads to the Board of the group behind."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, PATIENCE_MS, PHONE, Site


def test_the_group_behind_is_found_and_leads_to_its_board(site: Site) -> None:
    site.start("orders")
    assert (
        site.act(
            action="StartConsumer",
            actor="Q",
            group="audit",
            subscriptions='[{"topic":"orders"}]',
            threads="1",
            work_ms="20000,20000",
        )
        == 204
    )
    assert site.act(action="SendMessages", topic="orders", count="40") == 204
    assert site.act(action="StartConsumer", group="order-svc", actor="twin", client_id_of="A") == 204
    site.open("groups/")
    page, keys = site.page, site.page.keyboard
    names = page.locator("#groups tbody tr:not([hidden]) a")
    expect(page.locator("tr[data-group=audit] [data-c=word]")).to_have_text("Behind", timeout=PATIENCE_MS)
    expect(names).to_have_text(["order-svc", "audit"], timeout=PATIENCE_MS)  # a shared client id is an error
    page.locator("th[data-sort=name] button").focus()
    keys.press("Enter")
    expect(page.locator("th[data-sort=name]")).to_have_attribute("aria-sort", "ascending")
    page.locator("#sort").select_option("consumed")
    expect(names).to_have_text(["order-svc", "audit"])
    page.evaluate("document.activeElement.blur()")
    keys.press("/")
    keys.type("AUD")
    expect(names).to_have_text(["audit"])
    keys.type("x")
    expect(page.locator("#no-match")).to_be_visible()
    page.get_by_role("button", name="Clear the search").press("Enter")
    expect(names).to_have_count(2)
    differ = page.locator("tr[data-group=order-svc] [data-c=differ]")
    expect(differ).to_contain_text("client ID", timeout=PATIENCE_MS)
    page.set_viewport_size(PHONE)
    assert differ.evaluate(
        "(node) => node.scrollWidth <= node.clientWidth && node.getBoundingClientRect().right <= innerWidth"
    )
    page.set_viewport_size(DESKTOP)
    before = page.locator("tr[data-group=audit] [data-c=lag]").inner_text()
    assert site.act(action="SendMessages", topic="orders", count="40") == 204
    expect(page.locator("tr[data-group=audit] [data-c=lag]")).not_to_have_text(before, timeout=PATIENCE_MS)
    page.locator("tr[data-group=audit] a").press("Enter")
    page.wait_for_url(re.compile(r"/\?group=audit&topic=orders"))
