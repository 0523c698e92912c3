"""Messages: watched while they arrive, found, and read from both sides."""

import re

from playwright.sync_api import Route, expect

from tests.browser.axe import faults
from tests.browser.conftest import DESKTOP, PATIENCE_MS, PHONE, Site


def first_message(site: Site) -> None:
    """Open the newest message of the list."""
    link = site.page.locator("#messages .opens").first
    link.wait_for(timeout=PATIENCE_MS)
    site.page.goto(site.base_url + str(link.get_attribute("href")))
    site.wait_connected()


def wait_for(site: Site, what: str) -> None:
    """`what`: an expression of the sandbox's snapshot."""
    look = "const now = await (await fetch(`/api/sandboxes/${slug}`)).json()"
    site.until(f"async (slug) => {{ {look}; return {what} }}", site.slug)


STORED = "now.topics[0]?.queues.reduce((all, queue) => all + Number(queue.max), 0) >= 200"
RUNNING = "now.groups[0]?.members.some((one) => one.state === 'running')"


def test_rows_hold_still_under_the_keyboard_and_enter_opens_one(site: Site) -> None:
    site.visit("orders", "messages/?topic=orders")
    rows = site.page.locator("#messages tbody tr")
    rows.nth(2).wait_for(timeout=PATIENCE_MS)
    site.page.keyboard.press("ArrowDown")
    newest = rows.first.get_attribute("data-key")
    site.page.keyboard.press("ArrowDown")
    expect(site.page.locator("#held")).to_be_visible(timeout=PATIENCE_MS)
    assert rows.first.get_attribute("data-key") == newest
    key = rows.nth(1).locator(".key").text_content()
    site.page.keyboard.press("Enter")
    site.page.wait_for_url(re.compile(r"/messages/[0-9A-F]{32}/$"), timeout=PATIENCE_MS)
    assert key == site.page.locator("h1").text_content()
    site.page.go_back()
    rows.nth(2).wait_for(timeout=PATIENCE_MS)
    body = rows.nth(2).locator(".line")
    expect(body).not_to_have_text("–")
    body.click()
    site.page.wait_for_url(re.compile(r"/messages/[0-9A-F]{32}/$"), timeout=PATIENCE_MS)


def test_a_search_that_was_stopped_keeps_what_it_found_and_can_go_on(site: Site) -> None:
    site.visit("index", "messages/")
    wait_for(site, STORED)
    held: list[Route] = []
    site.page.route("**/ask/find-messages/*cursor*", lambda route: held.append(route))
    site.page.get_by_label("by time, tag and field").check()
    site.page.locator(".findform[data-way=time]").get_by_role("button", name="Find").click()
    stop = site.page.locator("#found [data-stop]")
    expect(stop).to_be_visible(timeout=PATIENCE_MS)
    expect(site.page.locator("#found tr[data-key]").first).to_be_visible(timeout=PATIENCE_MS)
    stop.click()
    for route in held:  # what was under way when it was stopped
        route.continue_()
    site.page.unroute("**/ask/find-messages/*cursor*")
    go = site.page.locator("#found [data-go]")
    expect(go).to_be_visible(timeout=PATIENCE_MS)
    assert 0 < site.page.locator("#found tr[data-key]").count() < 200
    go.click()
    expect(site.page.locator("#found .more").last).to_contain_text("found 200", timeout=PATIENCE_MS)
    site.page.reload()  # the search stands in the address
    expect(site.page.locator("#found .more").last).to_contain_text("found 200", timeout=PATIENCE_MS)
    assert site.page.locator("#found tr[data-key]").count() == 200


def test_fields_and_bytes_of_a_message_light_each_other_up_and_consuming_once_becomes_a_row(site: Site) -> None:
    site.start("orders")
    wait_for(site, RUNNING)
    site.open("messages/?topic=orders")
    first_message(site)
    page = site.page
    body = page.locator(".recordfields tr", has=page.get_by_role("button", name="BODY", exact=True))
    body.locator("button").focus()
    lit = page.locator(".record .h .lit")
    expect(lit.first).to_be_visible()
    assert bytes.fromhex("".join(lit.all_text_contents())).decode() == page.locator(".bodytext").text_content()
    page.locator(".record .h [data-in='0']").hover()
    expect(page.locator(".recordfields tr[data-part='0']")).to_have_class("d0 lit")
    page.get_by_role("button", name="Consume once").click()
    expect(page.locator(".lifeline [data-what=once]")).to_contain_text("success", timeout=PATIENCE_MS)
    for viewport in (DESKTOP, PHONE):
        page.set_viewport_size(viewport)
        assert faults(page) == []


def test_a_field_of_a_json_body_leads_to_the_messages_that_have_it(site: Site) -> None:
    site.start("orders")
    wait_for(site, RUNNING)
    body = '{"customer":{"id":42,"vip":true},"items":[{"sku":"a-1","price":1.10}],"note":"<a href=//x>x</a>"}'
    for key in ("json-1", "json-2"):
        assert site.act(action="SendMessages", topic="orders", count="1", key=key, body=body) == 204
    page = site.open("messages/?s-by=key&s-topic=orders&s-key=json-1")
    page.locator("#found .opens").first.click()
    tree = page.locator(".bodytree")
    expect(tree.locator("summary").first).to_contain_text("customer")
    expect(tree).to_contain_text("1.10")
    assert tree.locator("a", has_text="x").count() == 0, "no link comes from a body"
    tree.locator("summary").first.focus()
    page.keyboard.press("Enter")
    expect(tree.get_by_text("42")).to_be_hidden()
    page.keyboard.press("Enter")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#body-copy").click()
    expect(page.locator("#body-copied")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == body
    for viewport in (DESKTOP, PHONE):
        page.set_viewport_size(viewport)
        assert faults(page) == []
    page.set_viewport_size(DESKTOP)
    page.get_by_role("link", name="Filter by /customer/id = 42").click()
    expect(page.locator("#found .more").last).to_contain_text("found 2", timeout=PATIENCE_MS)
    expect(page.locator("[name=field]")).to_have_value("/customer/id")
    expect(page.locator("[name=value]")).to_have_value("42")
    assert faults(page) == []
