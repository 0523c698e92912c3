"""The page What if?: a crash left out and replaced, the result above the boards, and a claim over many seeds."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import faults_at_both_widths
from tests.browser.conftest import PATIENCE_MS, Site


@pytest.fixture
def crashed(site: Site) -> Page:
    """The page of a run in which A crashed."""
    site.start("orders")
    assert site.act(action="SetRate", rate=20) == 204
    site.until("queueviz.live.seq > 600", within_ms=PATIENCE_MS)
    assert site.act(action="CrashActor", actor="A") == 204
    site.until("queueviz.live.seq > 1200", within_ms=PATIENCE_MS)
    site.stand_still()
    site.page.locator(".tabs a", has_text="What if?").click()
    return site.page


def test_a_crash_is_left_out_and_replaced(crashed: Page) -> None:
    page = crashed
    page.locator(".mode", has_text="Leave out").get_by_role("button", name="Run").click()
    result = page.locator("table.res")
    expect(result).to_be_visible(timeout=PATIENCE_MS)
    expect(result.locator("thead")).to_contain_text("without the crash of A")
    expect(result.locator("tbody tr").first).to_contain_text("Delivered twice")
    top, boards = result.bounding_box(), page.locator(".pair").bounding_box()
    assert top is not None
    assert boards is not None
    assert top["y"] < boards["y"]
    assert faults_at_both_widths(page) == []

    instead = page.locator(".mode", has_text="Do instead")
    assert [option.text_content() for option in instead.locator("[name=instead] option:enabled").all()] == [
        "stop it cleanly",
        "let it hang",
    ]
    instead.locator("[name=instead]").select_option("StopActor")
    instead.get_by_role("button", name="Run").click()
    expect(result.locator("thead")).to_contain_text("A stopped cleanly", timeout=PATIENCE_MS)
    both_boards_move_with_one_line(page)
    expect(page.locator("#dif tr").first).to_contain_text("A")


def both_boards_move_with_one_line(page: Page) -> None:
    since = page.locator("#since")
    expect(since).to_have_text("+90.0 s since the action", timeout=PATIENCE_MS)
    before, after = page.locator(".side").all()
    page.locator("#line input").press("Home")
    expect(since).to_have_text(re.compile("^\u2212"))
    tables = [side.locator("tbody").text_content() for side in (before, after)]
    assert tables[0] == tables[1] != ""
    page.locator("#parted").click()
    expect(since).to_have_text("+0.3 s since the action")
    page.keyboard.press(".")
    expect(since).not_to_have_text("+0.3 s since the action")
    page.locator("#line input").press("End")
    expect(since).to_have_text("+90.0 s since the action")
    for side in (before, after):
        side.locator("summary").click()
        assert side.locator("tbody tr").count() == side.locator("[data-queue]").count() > 0


def test_several_actions_are_left_out_by_keys(crashed: Page) -> None:
    page = crashed
    page.go_back()
    address = page.url
    csrf = page.evaluate("JSON.parse(document.body.getAttribute('hx-headers'))['X-CSRFToken']")
    headers = {"X-CSRFToken": csrf, "HX-Request": "true"}
    crash = page.request.post(f"{address}actions/", form={"action": "CrashActor", "actor": "B"}, headers=headers)
    assert crash.status == 204
    page.goto(f"{address}what-if/")
    boxes = page.locator(".acts").get_by_role("checkbox")
    expect(boxes).to_have_count(2)
    expect(boxes.first).to_be_checked()
    boxes.nth(1).press("Space")
    page.locator(".mode", has_text="Leave out").get_by_role("button", name="Run").press("Enter")
    heads = page.locator("table.res thead")
    expect(heads).to_contain_text("without the crash of A, without the crash of B", timeout=PATIENCE_MS)
    expect(page.locator(".acts :checked")).to_have_count(2)
    expect(page.locator("table.res")).to_contain_text("Queues without a reader")


def test_a_claim_shows_its_counterexample_before_all_seeds_have_run(crashed: Page) -> None:
    page = crashed
    seeds = page.locator(".mode", has_text="Over many seeds")
    seeds.locator("[name=claim]").select_option("no-duplicates-after-a-crash")
    seeds.get_by_role("button", name="Run").click()
    expect(page.locator(".example")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator(".cells .waits").first).to_be_attached()
    assert faults_at_both_widths(page) == []
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".seeds")).to_contain_text("The results of the finished runs are kept.")
    with page.expect_download() as download:
        page.get_by_role("link", name="Save as a test").click()
    name = download.value.suggested_filename
    assert name.startswith("test_no_duplicates_after_a_crash_seed_")
    expect(page.locator(".example code")).to_have_text(f"python -m pytest {name}")
    page.get_by_role("button", name="Open as sandbox").click()
    page.wait_for_url(re.compile("/branching/$|/s/[^/]+/$"), timeout=PATIENCE_MS)
