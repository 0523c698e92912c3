"""The journal after twenty thousand events: what happened long ago is still found, shown and linked to."""

import re
from pathlib import Path

import orjson
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, Kept, Site

AFTER_A_CRASH = "orders, long after a crash"  # a sandbox these tests share
BETWEEN = 25_000  # details no one wants to see one by one; memory holds 10 000 events

OVERLAPS = """() => [...document.querySelectorAll("#journal li")].flatMap((line) => {
    const boxes = [...line.children].map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getBoundingClientRect();
    }).filter((box) => box.width);
    return boxes.slice(1).filter((box, i) => box.left < boxes[i].right - 0.5 && box.top < boxes[i].bottom - 1)
        .map(() => line.textContent);
})"""


def api(site: Site, verb: str) -> None:
    """Wake or sleep, as the sandbox's owner."""
    script = """async ([slug, verb]) => {
        const headers = {...JSON.parse(document.body.getAttribute("hx-headers")), "Content-Type": "application/json"};
        return (await fetch(`/api/sandboxes/${slug}/${verb}`, {method: "POST", headers})).status;
    }"""
    assert site.page.evaluate(script, [site.slug, verb]) == 200


@pytest.fixture
def crash(site: Site, home: Path, kept: Kept) -> int:
    """The number of a crash of A, with `BETWEEN` details written behind it while the sandbox slept."""
    if AFTER_A_CRASH not in kept:
        site.start("orders")
        assert site.act(action="CrashActor", actor="A") == 204
        assert site.act(action="SetRate", rate="0") == 204
        api(site, "sleep")
        newest = max((home / "sandboxes" / site.slug / "journal").glob("*.ndjson"))
        last = orjson.loads(newest.read_bytes().splitlines()[-1])
        with newest.open("ab") as file:
            for n in range(1, BETWEEN):
                row = {
                    "seq": last["seq"] + n,
                    "at_ms": last["at_ms"],
                    "type": "OffsetsPersisted",
                    "cause": None,
                    "owner": "broker-a",
                    "file": "consumerOffset.json",
                    "entries": 8,
                }
                file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
        api(site, "wake")
        kept[AFTER_A_CRASH] = (site.slug, site.page.context.cookies())
    site.visit(AFTER_A_CRASH)
    [first, *_] = sorted((home / "sandboxes" / site.slug / "journal").glob("*.ndjson"))
    rows = (orjson.loads(line) for line in first.read_bytes().splitlines())
    return next(int(row["seq"]) for row in rows if row.get("action") == "CrashActor")


def test_two_marked_events_are_compared(site: Site, crash: int) -> None:
    """Marks are set by the keyboard; a third one replaces the first."""
    page = site.open(f"journal/?at={crash}")
    for seq in (crash - 1, crash, crash + 3):
        page.get_by_label(f"Compare event #{seq}", exact=True).press("Space")
    panel = page.locator("#j-diff")
    changed = f"What changed from event #{crash} to #{crash + 3}"
    expect(panel).to_contain_text(changed, timeout=PATIENCE_MS)
    expect(panel.locator("[data-said]")).to_contain_text("Values not recorded by events")
    assert not page.get_by_label(f"Compare event #{crash - 1}", exact=True).is_checked()
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_be_hidden()


def test_a_search_is_not_put_off_by_facts_that_come_while_it_is_typed(site: Site) -> None:
    page = site.visit("orders", "journal/")
    page.locator("#j-search").fill("rate")
    for rate in ("4", "1"):
        site.act(action="SetRate", rate=rate)
    expect(page).to_have_url(re.compile(r"\?search=rate$"))


def test_a_crash_of_long_ago_is_searched_and_filtered_and_each_message_is_found(site: Site, crash: int) -> None:
    page, state = site.open("journal/?search=zebra&causes=1"), site.page.locator("#j-state")
    row = page.locator(f"#e{crash}")
    expect(state).to_have_text(
        "No event matches: search “zebra”, only causes. The first event is reached.", timeout=PATIENCE_MS
    )
    page.get_by_role("button", name="Clear the filters").click()
    expect(row).to_contain_text("A crashed")
    assert "zebra" not in page.url
    page.locator("#j-causes").check()
    expect(page.locator("#journal .k", has_text="member")).to_have_count(0)
    expect(row).to_be_visible()
    page.locator("#j-causes").uncheck()
    page.locator("#j-search").fill("crash")
    expect(state).to_contain_text("The first event is reached.", timeout=PATIENCE_MS)
    assert all("crash" in line for line in page.locator("#journal .txt").all_inner_texts())
    expect(row).to_be_visible()
    assert "search=crash" in page.url

    page.locator("#j-search").fill("MessagesConsumed")
    expect(state).to_contain_text("No event matches", timeout=PATIENCE_MS)
    page.get_by_label("include each message").check()
    expect(page.locator("#journal li").first).to_contain_text('keys ["order-', timeout=PATIENCE_MS)
    assert "messages=1" in page.url


def test_every_link_to_a_cause_opens_its_row_however_old_and_older_events_come_by_the_page(
    site: Site, crash: int
) -> None:
    page = site.open()
    expect(page.locator("#journal li:not(.gap)")).to_have_count(6)  # of the Board: facts, not the newest details
    site.open(f"journal/#e{crash + BETWEEN // 2}")  # a detail between, which the list leaves out
    page.wait_for_url(f"**/journal/?at={crash + BETWEEN // 2}")
    expect(page.locator("#journal li[aria-current=true]")).to_be_in_viewport()
    page.goto("about:blank")
    site.open(f"journal/#e{crash}")
    row = page.locator(f"#e{crash}[aria-current=true]")
    expect(row).to_be_in_viewport()
    page.locator(f'#journal a[href="#e{crash}"]').first.click()
    expect(row).to_be_in_viewport()
    site.open("journal/?steps=1")
    expect(page.locator("#journal li")).to_have_count(100)
    page.get_by_role("button", name="Older").click()
    expect(page.locator("#journal li")).to_have_count(200)
    expect(page.locator("#j-state")).to_contain_text("Shown back to event #")


def test_on_a_projector_no_cell_of_the_journal_touches_another(site: Site, crash: int) -> None:
    page = site.open("journal/")
    expect(page.locator(f"#e{crash}")).to_be_visible()
    page.keyboard.press("p")
    expect(page.locator("html")).to_have_attribute("data-projector", "")
    for width in (1440, 1920):
        page.set_viewport_size({"width": width, "height": width * 9 // 16})
        assert page.evaluate(OVERLAPS) == [], width
