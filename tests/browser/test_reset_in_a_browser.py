"""The offset reset: what the preview promises is what happens."""

from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, Site
from tests.browser.test_axe_in_a_browser import violations

COMMITTED = """[...document.querySelectorAll('.q .t-committed')]
    .filter((label) => Number(label.textContent) > {least}).length === 8"""


def committed(site: Site) -> dict[str, str]:
    return {f"{row['broker']}:{row['queue_id']}": row["committed"] for row in site.group("order-svc")["queues"]}


def previewed(site: Site) -> list[dict[str, Any]]:
    site.page.locator("#rs-data").wait_for(state="attached")
    return list(site.page.evaluate("JSON.parse(document.querySelector('#rs-data').textContent).rows"))


def stop_everybody(site: Site) -> None:
    """With nobody running the offsets hold still, and what was promised can be compared."""
    for actor in "ABC":
        assert site.act(action="StopActor", actor=actor) == 204
    site.until("[...document.querySelectorAll('.cons .state')].every((s) => s.textContent.includes('Stopped'))")


def test_a_reset_does_what_its_preview_showed(site: Site) -> None:
    site.start("orders")
    site.until(COMMITTED.format(least=3))
    stop_everybody(site)
    site.page.locator(".ghead [data-reset]").click()
    site.page.get_by_role("radio", name="Earliest").check()
    site.until("JSON.parse(document.querySelector('#rs-data')?.textContent ?? '{}').target === 'earliest'")
    promised = {row["queue"]: row["target"] for row in previewed(site)}
    assert set(promised.values()) == {"0"}
    button = site.page.locator("#rs-go")
    expect(button).to_have_text("Reset 8 queues")
    button.click()
    expect(site.page.locator("#resetdlg")).to_be_hidden()
    assert committed(site) == promised


def test_skipping_needs_the_name_of_the_group(site: Site) -> None:
    site.start("orders")
    site.until(COMMITTED.format(least=1))
    stop_everybody(site)
    assert site.act(action="SendMessages", topic="orders", count="80") == 204
    site.open("reset/?target=latest")
    site.until("document.querySelector('.rs-sum') && Number(document.querySelector('.rs-sum').dataset.skipped) >= 80")
    expect(site.page.locator("#rs-go")).to_be_disabled()
    site.page.locator("#rs-typed").fill("order-svc")
    expect(site.page.locator("#rs-go")).to_be_enabled()
    site.stand_still()
    site.page.locator("#rs-go").click()
    site.page.wait_for_url("**/?group=order-svc**")
    assert committed(site) == site.ends(site.snapshot())


def test_a_slider_and_the_keyboard_choose_the_same_moment(site: Site) -> None:
    site.visit("orders", "reset/")
    site.page.locator("#rs-data").wait_for(state="attached")
    slider = site.page.locator("#rs-hist")
    slider.focus()
    before = site.page.locator("#rs-time").input_value()
    slider.press("ArrowRight")
    site.until("(before) => document.querySelector('#rs-time').value !== before", before)
    assert site.page.locator("#rs-form [name=value]").input_value().isdigit()


def test_a_live_reset_is_followed_member_by_member_and_undone(site: Site) -> None:
    site.page.emulate_media(reduced_motion="reduce")
    site.start("orders")
    assert site.act(action="SetRate", rate="4") == 204
    site.until(COMMITTED.format(least=3))
    site.page.locator(".ghead [data-reset]").click()
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
    assert violations(site) == []
    before = site.page.locator(".rs-run tbody td:nth-child(2)").all_inner_texts()
    assert all(int(offset) > 3 for offset in before)
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


def test_a_plan_that_no_longer_holds_is_refused_beside_the_new_one(site: Site) -> None:
    """What was promised is what is sent: here a promise the world does not keep."""
    site.start("orders")
    site.until(COMMITTED.format(least=3))
    stop_everybody(site)
    site.page.locator(".ghead [data-reset]").click()
    site.page.get_by_role("radio", name="Earliest").check()
    site.until("JSON.parse(document.querySelector('#rs-data')?.textContent ?? '{}').target === 'earliest'")
    expect(site.page.locator("[name=method][value=online]")).to_be_disabled()
    expect(site.page.get_by_text("nobody is online")).to_be_visible()
    stored = committed(site)
    old_plan = """() => {
        const sent = document.querySelector('#rs-expected');
        sent.value = sent.value.replaceAll('"target": "0"', '"target": "1"');
        document.querySelector('#rs-go').click();
    }"""
    site.page.evaluate(old_plan)
    refusal = site.page.locator("#rs-apply .refusal")
    expect(refusal).to_contain_text("is 0 now, not 1")
    expect(refusal).to_be_focused()
    site.until("JSON.parse(document.querySelector('#rs-expected').value).every(({target}) => target === '0')")
    expect(refusal).to_be_visible()
    assert committed(site) == stored
