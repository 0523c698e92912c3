"""Open transactions, found and ended by hand."""

from playwright.sync_api import expect

from tests.browser.axe import faults_at_both_widths
from tests.browser.conftest import DESKTOP, PATIENCE_MS, Site


def test_a_transactional_producer_is_added_and_what_it_left_open_is_ended_by_hand(site: Site) -> None:
    site.page.emulate_media(reduced_motion="reduce")  # a colour on its way is not a colour
    site.start("orders")
    site.open("")
    site.page.locator("[data-ask=producer]").first.click()
    site.page.get_by_label("Transactional").check()
    site.page.get_by_role("button", name="Add producer").last.click()
    expect(site.page.locator("#ask[open]")).to_have_count(0, timeout=PATIENCE_MS)
    assert site.act(action="ChangeActor", actor="producer-1", handler="silent") == 204
    site.page.locator("[data-ask=transactions]").click()
    rows = site.page.locator("#ask [role=listitem]")
    expect(rows.first).to_be_visible(timeout=PATIENCE_MS)
    assert faults_at_both_widths(site.page, within="#ask") == []
    site.page.set_viewport_size(DESKTOP)
    ended = rows.first.get_attribute("id")
    rows.first.get_by_role("button", name="Roll back").click()
    expect(site.page.locator("#ask[open]")).to_have_count(0, timeout=PATIENCE_MS)
    site.page.locator("[data-ask=transactions]").click()
    expect(rows.first).to_be_visible(timeout=PATIENCE_MS)
    expect(site.page.locator(f"#ask #{ended}")).to_have_count(0, timeout=PATIENCE_MS)
