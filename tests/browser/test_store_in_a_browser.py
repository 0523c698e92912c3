"""The log is written to while one looks; a message on the tape shows its bytes."""

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, Site


def test_the_log_grows_a_message_of_the_tape_shows_its_bytes_and_a_chosen_queue_stays(site: Site) -> None:
    page = site.visit("orders", "store/")
    end = page.locator("[data-row=figures] [data-f=max]")
    expect(end).not_to_have_text("0")
    before = end.text_content()
    assert site.act(action="SendMessages", topic="orders", count="20") == 204
    expect(end).not_to_have_text(before or "")
    expect(page.locator("#span text.max")).to_contain_text("max")

    page.locator("#entries button").first.click()
    record = page.locator("#record")
    expect(record).to_contain_text("PHYSICALOFFSET")
    record.get_by_role("button", name="QUEUEOFFSET").click()
    expect(record.locator("[data-in].lit").first).to_be_visible()
    page.locator("#tape .unit").last.dispatch_event("click")
    expect(record).to_contain_text("× 20")

    page.get_by_role("combobox", name="Queue").select_option("orders/2")
    expect(page.locator("#entries-of")).to_have_text("orders/2")
    assert "queue=orders%2F2" in page.url


def test_a_collision_is_walked_once_it_is_stored_whatever_the_form_says(site: Site) -> None:
    """The key field and the window belong to the walk, not to what is sent."""
    site.start("orders")
    site.open("index/")
    before = site.ends(site.snapshot())
    site.page.locator("#walk-form [name=key]").fill("order-17")
    site.page.locator("#walk-form [name=ui-window]").select_option("600000")
    site.page.locator("#collide").click()
    walk = site.page.locator("#walk")
    expect(walk.locator(".stations:not(.resting)")).to_be_visible(timeout=PATIENCE_MS)
    expect(site.page.locator("#walk-form .refusal")).to_have_count(0)
    asked = site.page.locator("#walk-form [name=key]").input_value()
    assert asked.endswith("-Aa")
    expect(walk).to_contain_text(asked)
    expect(walk).to_contain_text(asked.removesuffix("Aa") + "BB")
    assert int(site.ends(site.snapshot())["broker-a:0"]) >= int(before["broker-a:0"]) + 2
    site.until("(stem) => Math.floor(queueviz.clock.now() / 1000) % 10000 > Number(stem)", asked.split("-")[1])
    assert site.act(action="SetRate", rate="0") == 204  # what is stored now is in the index later
    with site.page.expect_response("**/actions/"):
        site.page.locator("#collide").click()
    assert site.act(action="SetRate", rate="1") == 204
    expect(site.page.locator("#walk-form [name=key]")).not_to_have_value(asked, timeout=PATIENCE_MS)
    again = site.page.locator("#walk-form [name=key]").input_value()
    expect(walk).to_contain_text(again.removesuffix("Aa") + "BB")  # both are there by then
