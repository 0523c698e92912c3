"""Rebalance page: two members hold a queue until the older one learns of the new member."""

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, Site


def test_a_silent_member_and_a_newcomer_claim_the_same_queues_until_it_goes_on(site: Site) -> None:
    site.start("orders")
    site.open("rebalance/")
    expect(site.page.locator("#minds .mind")).to_have_count(3, timeout=PATIENCE_MS)
    expect(site.page.locator("#lines .badge")).to_have_count(8, timeout=PATIENCE_MS)
    assert site.act(action="HangActor", actor="B") == 204
    assert site.act(action="StartConsumer", group="order-svc") == 204
    twice = site.page.locator("#lines .t-twice")
    expect(twice).to_have_count(2, timeout=PATIENCE_MS)
    expect(twice.first).to_contain_text("assigned to two members")
    expect(twice.first.locator(".badge")).to_have_text(["B", "C"])
    site.until("document.querySelectorAll('#lanes .rl.edge[d]').length === 4")
    expect(site.page.locator(".mind.apart .against")).to_have_text("brokers list A B C D")
    assert site.act(action="ResumeActor", actor="B") == 204
    expect(twice).to_have_count(0, timeout=PATIENCE_MS)
    both = site.page.locator("#moves .both").first
    expect(both).to_contain_text("both members held the queue for", timeout=PATIENCE_MS)


def test_queues_are_walked_with_the_arrow_keys_and_a_plan_changes_with_its_form_alone(site: Site) -> None:
    site.start("orders")
    page = site.open("rebalance/")
    expect(page.locator("#lines .badge")).to_have_count(8)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#lines .rline").nth(1)).to_be_focused()
    site.until("document.querySelectorAll('#lanes.chosen .rl.near').length >= 1")
    page.keyboard.press("Shift+T")
    expect(page.locator("#twin tbody tr").first).to_contain_text("broker-a")
    page.keyboard.press("Shift+T")

    plan = page.locator("#plan")
    expect(plan).to_contain_text("of 8 move")
    page.get_by_role("spinbutton", name="Queues").fill("12")
    page.get_by_role("combobox", name="Strategy").select_option("CONSISTENT_HASH")
    expect(plan.locator(".hashring .node")).to_have_count(40)
    expect(plan.locator(".hashring .tick")).to_have_count(12)
    expect(page.locator("#lines .rline")).to_have_count(8)
    assert site.act(action="SetRate", rate="4") == 204
    plan.get_by_role("button", name="Apply this strategy to the group").click()
    expect(page.locator(".waves")).to_contain_text("Strategy changed")
