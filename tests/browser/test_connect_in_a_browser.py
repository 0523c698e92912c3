"""Connect: the owner opens the port, a client from outside is ticked off, seen on the Board and cut off."""

from playwright.sync_api import expect

from tests.browser.axe import faults_at_both_widths
from tests.browser.conftest import DESKTOP, PATIENCE_MS, Site
from tests.unit.hosting.wire_client import abroad


def test_a_client_connects_is_seen_and_is_cut_off(site: Site) -> None:
    site.visit("empty", "connect/")
    page = site.page
    page.get_by_role("button", name="Open the port").click()
    page.get_by_role("button", name="Close the port").wait_for(timeout=PATIENCE_MS)
    site.wait_connected()
    address = page.locator("#servers").text_content() or ""
    assert f'setNamesrvAddr("{address}")' in (page.locator("#code-Java").text_content() or "")
    with abroad([address], "TopicTest", b"hello") as external:
        row = page.locator("#connections tr[data-key]").first
        expect(row.locator(".st.done")).to_have_count(6, timeout=PATIENCE_MS)
        expect(row).to_contain_text("GET_ROUTEINFO_BY_TOPIC")
        client = page.locator(f"#clients tr[data-key='{external.client_id}']")
        expect(client).to_contain_text("PYTHON")
        expect(client).to_contain_text("4.9.8")
        assert faults_at_both_widths(page) == []
        page.set_viewport_size(DESKTOP)
        site.open("?group=readers&topic=TopicTest")
        card = page.locator(f".cons[data-client='{external.client_id}']")
        expect(card.locator(".plug")).to_be_visible(timeout=PATIENCE_MS)
        expect(card.locator("footer button:visible")).to_have_text(["Cut connection"])
        expect(card.locator("[data-meter=count] b")).to_have_text("– / –")
        expect(card.locator(".say")).to_contain_text("PYTHON 4.9.8")
        site.open("connect/")
        client.get_by_role("button", name="Cut connection").click()
        expect(page.locator("#connections tr.ended", has_text="cut").first).to_be_visible(timeout=PATIENCE_MS)
    site.open("connect/")
    page.get_by_role("button", name="Close the port").click()
    page.get_by_role("button", name="Open the port").wait_for(timeout=PATIENCE_MS)
