"""The offset reset: what the preview promises is what happens."""

from typing import Any

from playwright.sync_api import Route, expect

from tests.browser.axe import violations
from tests.browser.conftest import PATIENCE_MS, PHONE, Site

COMMITTED = """[...document.querySelectorAll('.q .t-committed')]
    .filter((label) => Number(label.textContent) > {least}).length === 8"""

ROWS_AND_PRICE = """() => [
  [...document.querySelectorAll(".rs-run tbody tr")].map(({ cells }) => [cells[1].textContent, cells[4].textContent]),
  document.querySelector("[data-price]").textContent,
]"""


def committed(site: Site) -> dict[str, str]:
    return {f"{row['broker']}:{row['queue_id']}": row["committed"] for row in site.group("order-svc")["queues"]}


def previewed(site: Site) -> list[dict[str, Any]]:
    site.page.locator("#rs-data").wait_for(state="attached")
    return list(site.page.evaluate("JSON.parse(document.querySelector('#rs-data').textContent).rows"))


def stop_everyone(site: Site) -> None:
    """Stop all members, so that offsets stay and the preview can be compared."""
    for actor in "ABC":
        assert site.act(action="StopActor", actor=actor) == 204
    site.until("[...document.querySelectorAll('.cons .state')].every((s) => s.textContent.includes('Stopped'))")


def test_a_time_is_chosen_by_a_slider_and_an_unreadable_one_is_named_beside_its_field_and_not_applied(
    site: Site,
) -> None:
    """`monday 5` and 31 February are dates to a browser, and no dates."""
    page = site.visit("orders", "reset/")
    button, time, slider = page.locator("#rs-go"), page.locator("#rs-time"), page.locator("#rs-hist")
    expect(button).to_be_enabled()
    slider.focus()
    before = time.input_value()
    slider.press("ArrowRight")
    site.until("(before) => document.querySelector('#rs-time').value !== before", before)
    assert page.locator("#rs-form [name=value]").input_value().isdigit()
    expect(button).to_be_enabled()
    right = time.input_value()
    for wrong in ("yesterday", "monday 5", "2026-02-31 12:00:00", "1699999999", ""):
        time.fill(wrong)
        assert button.is_disabled(), "at once, not when somebody has answered"
        expect(time).to_have_attribute("aria-invalid", "true")
        expect(page.locator("#rs-wrong-time")).to_contain_text("Example: 20")
        expect(page.locator("#rs-say")).to_contain_text("Not a date and time")
        expect(page.locator(".rs-sum, #rs-expected, #rs-fingerprint")).to_have_count(0)
        expect(page.locator("#rs-export")).to_be_disabled()
    time.fill(right)
    expect(button).to_be_enabled()
    expect(page.locator("#rs-wrong-time")).to_be_hidden()
    page.get_by_role("radio", name="Exact offset").check()
    for wrong in ("-3", "ten", "1.5", ""):
        page.get_by_label("Offset", exact=True).fill(wrong)
        expect(page.locator("#rs-wrong-offset")).to_be_visible()
        expect(button).to_be_disabled()
    page.get_by_role("radio", name="Earliest").check()
    expect(button).to_be_enabled()
    for queue in page.locator("[name='queues[]']").all():
        queue.uncheck()
    expect(page.get_by_text("No queue selected").first).to_be_visible()
    expect(button).to_be_disabled()
    page.locator("[name='queues[]']").first.check()
    expect(button).to_have_text("Reset 1 queue")
    expect(button).to_be_enabled()


def test_a_change_takes_the_preview_away_until_its_own_has_come(site: Site) -> None:
    """An answer to what the form said before does not open the button again."""
    page = site.visit("orders", "reset/?target=earliest")
    expect(page.locator("#rs-go")).to_be_enabled()
    held: list[Route] = []
    page.route("**/ask/plan-reset/**", lambda route: held.append(route))
    with page.expect_request("**/ask/plan-reset/**target=shift**"):
        page.get_by_role("radio", name="Shift by").check()
        assert page.locator("#rs-go").is_disabled()
    page.get_by_label("Messages to shift by").fill("-7")
    held.pop(0).continue_()
    expect(page.locator("#rs-prev")).to_have_attribute("aria-busy", "true")
    expect(page.locator("#rs-say")).to_have_text("Computing the preview …")
    assert page.locator("#rs-go").is_disabled()
    while held:
        held.pop(0).continue_()
    page.unroute("**/ask/plan-reset/**")
    expect(page.locator("#rs-go")).to_be_enabled()
    site.until("JSON.parse(document.querySelector('#rs-data').textContent).value === '-7'")


def test_the_price_stands_beside_the_button_on_a_phone(site: Site) -> None:
    site.page.set_viewport_size(PHONE)
    page = site.visit("orders")
    page.locator("body").press("r")
    page.get_by_role("radio", name="Earliest").check()
    expect(page.locator("#rs-go")).to_be_enabled()
    price = page.locator("#rs-say")
    expect(price).to_contain_text("delivered again")
    again = page.locator(".rs-sum").get_attribute("data-again")
    assert "".join(filter(str.isdigit, price.locator("b").first.inner_text())) == again
    box = price.bounding_box()
    assert box is not None
    assert page.evaluate(
        "([x, y]) => document.elementFromPoint(x, y).closest('#rs-say') !== null",
        [box["x"] + 5, box["y"] + box["height"] / 2],
    ), "nothing covers it"
    assert box["y"] + box["height"] <= PHONE["height"]


def test_a_live_reset_is_followed_member_by_member_and_undone(site: Site) -> None:
    site.page.emulate_media(reduced_motion="reduce")
    site.start("orders")
    assert site.act(action="SetRate", rate="4") == 204
    site.until(COMMITTED.format(least=3))
    site.page.locator(".pagehead [data-reset]").click()
    site.page.get_by_role("radio", name="Earliest").check()
    site.until("JSON.parse(document.querySelector('#rs-data')?.textContent ?? '{}').target === 'earliest'")
    site.page.locator("#rs-go").click()
    members = site.page.locator(".rs-clients > li")
    expect(members).to_have_count(3)
    expect(members.first.locator("[data-step=dropped]")).to_have_class("done")
    resumed = site.page.locator(".rs-run[data-state=resumed]")
    resumed.wait_for(timeout=PATIENCE_MS)
    expect(members.first.locator("[data-step=resumed]")).to_contain_text("pulls at a:0 0")
    same = site.page.locator(".rs-run .v-same")
    expect(same).to_have_count(8)
    assert violations(site.page) == []
    before = site.page.locator(".rs-run tbody td:nth-child(2)").all_inner_texts()
    assert all(int(offset) > 3 for offset in before)
    rows, price = site.page.evaluate(ROWS_AND_PRICE)
    backs = [int(stored) - int(old) for old, stored in rows]
    again, skipped = sum(max(0, back) for back in backs), sum(max(0, -back) for back in backs)
    assert price == f"Undo now: {again} delivered again, {skipped} skipped."
    assert site.act(action="SetRate", rate="20") == 204
    site.page.locator(".rs-run[data-state=verified]").wait_for(timeout=PATIENCE_MS)
    assert site.act(action="SetRate", rate="4") == 204
    site.page.locator("#rs-undo").click()
    resumed.wait_for(timeout=PATIENCE_MS)
    expect(same).to_have_count(8)
    assert site.page.locator(".rs-run tbody td:nth-child(4)").all_inner_texts() == before
    expect(site.page.locator("#rs-undo")).to_be_hidden()
    site.page.locator("#rs-done [data-close]").click()
    expect(site.page.locator("#resetdlg")).to_be_hidden()


def test_skipping_needs_the_group_s_name_and_a_plan_that_no_longer_holds_is_refused(site: Site) -> None:
    """The page sends the previewed plan: here a plan that no longer applies."""
    site.start("orders")
    assert site.act(action="SetRate", rate="4") == 204
    site.until(COMMITTED.format(least=3))
    stop_everyone(site)
    assert site.act(action="SendMessages", topic="orders", count="80") == 204
    site.page.locator(".pagehead [data-reset]").click()
    site.page.locator("#resetdlg [name=target][value=latest]").check()
    site.until("document.querySelector('.rs-sum') && Number(document.querySelector('.rs-sum').dataset.skipped) >= 80")
    expect(site.page.locator("#rs-go")).to_be_disabled()
    site.page.locator("#rs-typed").fill("order-svc")
    expect(site.page.locator("#rs-go")).to_be_enabled()
    site.page.get_by_role("radio", name="Earliest").check()
    site.until("JSON.parse(document.querySelector('#rs-data')?.textContent ?? '{}').target === 'earliest'")
    expect(site.page.locator("[name=method][value=online]")).to_be_disabled()
    expect(site.page.get_by_text("no member is online")).to_be_visible()
    stored = committed(site)
    old_plan = """() => {
        const sent = document.querySelector('#rs-expected');
        sent.value = sent.value.replaceAll('"target": "0"', '"target": "1"');
        document.querySelector('#rs-go').click();
    }"""
    site.page.evaluate(old_plan)
    refusal = site.page.locator("#rs-apply .refusal")
    expect(refusal).to_contain_text("is now 0; the preview showed 1")
    expect(refusal).to_be_focused()
    site.until("JSON.parse(document.querySelector('#rs-expected').value).every(({target}) => target === '0')")
    expect(refusal).to_be_visible()
    assert committed(site) == stored
