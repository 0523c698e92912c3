"""The Board against the real broker: it moves, and shows the actions of its owner."""

import re

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from tests.browser.conftest import DESKTOP, PHONE, Site


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_strips_are_drawn_from_the_page_itself_and_nothing_moves(site: Site, size: ViewportSize) -> None:
    site.visit("orders")
    site.page.set_viewport_size(size)
    site.page.route_web_socket("**/ws/live/", lambda socket: None)  # it opens and stays silent
    site.page.add_init_script("""window.shift = 0; new PerformanceObserver((list) => {
        const rows = (entry) => entry.sources.some(({ node }) => node?.matches?.(".q, .side, qv-strip, .board-foot"));
        window.shift += list.getEntries().filter(rows).length;
    }).observe({ type: "layout-shift", buffered: true });""")
    site.page.goto(f"{site.base_url}/s/{site.slug}/")
    site.until("document.querySelectorAll('#rows qv-strip path.max[d]').length === 8")
    labels = site.page.locator("#rows qv-strip svg").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    assert all("committed" in label for label in labels)
    assert site.page.evaluate("window.shift") == 0


def test_an_empty_stage_fills_without_a_reload_by_hand(site: Site) -> None:
    site.start("empty")
    site.page.locator("#no-queues").get_by_role("button", name="Create topic").click()
    dialog = site.page.locator("#ask")
    dialog.get_by_role("textbox", name="Topic").fill("orders")
    dialog.get_by_role("button", name="Create topic").click()
    expect(site.page.locator(".q")).to_have_count(8)
    assert site.act(action="SendMessages", topic="orders", count="100") == 204
    ends = "[...document.querySelectorAll('.q .t-max')].map((end) => Number(end.textContent))"
    site.until(f"{ends}.reduce((a, b) => a + b, 0) === 100")
    expect(site.page.locator(".q .t-committed:visible")).to_have_count(0)
    expect(site.page.locator(".q .lagn .lag").first).to_have_text("–")
    site.page.locator("#add").click()
    expect(site.page.locator(".cons[data-actor=A] .state")).to_have_text("Running")
    site.until("[...document.querySelectorAll('.own.reads')].length === 8")
    expect(site.page.locator("#no-members")).to_have_count(0)


def test_a_link_just_followed_is_not_taken_back_by_the_board_that_opens_anew(site: Site) -> None:
    site.start("empty")
    site.page.evaluate("window.same = true; window.dispatchEvent(new Event('beforeunload'))")  # a click on a link
    assert site.act(action="CreateTopic", topic="orders", write_queues="1", read_queues="1") == 204
    site.until("[...document.querySelectorAll('#journal li')].some((line) => line.textContent.includes('orders'))")
    assert site.page.evaluate("window.same")
    site.until("!window.same")  # it was a download: the page is still here, and opens anew
    expect(site.page.locator(".q")).to_have_count(1)


def test_a_small_laptop_shows_the_heads_of_all_cards_whole(site: Site) -> None:
    site.visit("flights")
    for width in (1190, 1280, 1366, 1440):
        site.page.set_viewport_size({"width": width, "height": 800})
        cut = site.page.evaluate("""() => [...document.querySelectorAll(".pagehead > *, .panel header > *")]
            .filter((node) => node.getBoundingClientRect().right > node.parentElement.getBoundingClientRect().right + 1)
            .map((node) => node.textContent.trim())""")
        assert cut == [], width
        tabs = site.page.locator(".pagehead .gtabs")
        assert tabs.evaluate("(tabs) => tabs.scrollWidth <= tabs.clientWidth"), width
    other = site.page.context.new_page()
    other.goto(site.page.url)
    expect(site.page.locator("#watchers")).to_contain_text("2")
    head = "(node) => node.scrollWidth <= node.clientWidth"
    assert site.page.locator(".top .tabs").evaluate(head), "all views beside the watchers"
    assert site.page.locator(".top .crumb").evaluate(head), "the name ends in …, and is not cut"
    other.close()


def test_without_scripts_a_board_is_its_table(site: Site, browser: Browser) -> None:
    site.visit("orders")
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{site.base_url}/s/{site.slug}/")
        queues = page.locator(".twin table").first.locator("tbody tr:visible")
        assert queues.count() == 8
        assert not [line for line in queues.all_inner_texts() if not re.search(r"broker-|[ab]:\d", line)]


def test_members_come_take_the_queues_that_were_forecast_and_stand_on_a_shelf_in_the_end(site: Site) -> None:
    site.start("orders")
    page = site.page
    expect(page.locator("#add-forecast")).to_have_text("moves 5 of 8 queues")
    owners = """Object.fromEntries([...document.querySelectorAll('.q')].map((row) =>
        [row.dataset.queue, row.querySelector('.own .badge').textContent]))"""
    site.until("[...document.querySelectorAll('.own.reads')].length === 8")
    before = page.evaluate(owners)
    page.locator("#add").click()
    site.until("document.querySelectorAll('.cons[data-client]').length === 4")
    site.until("new Set([...document.querySelectorAll('.own.reads .badge')].map((b) => b.textContent)).size === 4")
    site.until("[...document.querySelectorAll('.own.reads')].length === 8")
    after = page.evaluate(owners)
    assert sum(before[queue] != after[queue] for queue in before) == 5
    assert sorted(set(after.values())) == ["A", "B", "C", "D"]

    more = {
        "action": "StartConsumer",
        "group": "order-svc",
        "work_ms": "100,600",
        "subscriptions": '[{"topic":"orders","expression":"*"}]',
    }
    assert site.act(**more, copies="2") == 204
    site.until("document.querySelectorAll('.cons[data-client]').length === 6")
    lowest = "document.querySelector('#adds').getBoundingClientRect().bottom"
    site.until(f"{lowest} <= document.querySelector('#board').getBoundingClientRect().bottom")
    assert site.act(**more, copies="4") == 204
    shelf = page.locator(".shelfhead")
    expect(shelf).to_have_text("8 queues, 10 members: I, J get no queue")
    edge = "document.querySelector('#board').getBoundingClientRect().height"
    ends = "(({y, height}) => y + height)(lane.getBBox())"
    site.until(f"[...document.querySelectorAll('.lane.beyond')].every((lane) => {ends} <= {edge})")
    shelf.scroll_into_view_if_needed()
    expect(page.locator(".cons.shelf")).to_have_count(2)


def test_a_slow_and_a_crashed_member_say_so_on_their_cards(site: Site) -> None:
    site.start("orders")
    page, dialog = site.page, site.page.locator("#ask")
    slow, crashed = (page.locator(f".cons[data-actor={actor}]") for actor in "AB")
    slow.get_by_role("button", name="Slow").click()
    expect(dialog.get_by_label("The next message of this queue")).to_be_checked()
    expect(dialog.locator("[data-slow-queue]")).to_have_value("broker-a:0")  # A's first
    dialog.get_by_label("One message key").check()
    dialog.get_by_label("Key", exact=True).fill("")
    dialog.get_by_role("button", name="Slow down").click()
    expect(dialog.get_by_label("Key", exact=True)).to_be_focused()  # a key that is empty is not sent
    dialog.get_by_label("Key", exact=True).fill("order-77812")
    dialog.get_by_role("button", name="Slow down").click()
    expect(dialog).to_be_hidden()
    expect(slow.locator(".say")).to_have_text("messages with key order-77812 take 5 m 00 s; none has come yet")

    assert site.act(action="ChangeActor", actor="B", work_ms="60000") == 204
    site.until("document.querySelector('.cons[data-actor=B] [data-meter=threads] b').textContent.startsWith('2')")
    crashed.get_by_role("button", name="Crash").click()
    expect(dialog.locator(".foretold")).to_contain_text(re.compile(r"Up to \d+ messages are redelivered"))
    dialog.get_by_role("button", name="Crash").click()
    expect(crashed.locator(".state")).to_have_text("Crashed")
    expect(crashed.get_by_role("button", name="Restart")).to_be_visible()
    crashed.get_by_role("button", name="Remove").click()
    expect(crashed).to_have_count(0)
    reported = page.locator("#journal li", has_text="delivered twice: B crashed")
    expect(reported.get_by_role("link", name="why")).to_have_attribute("href", re.compile(r"/journal/\?at=\d+$"))

    assert site.act(action="SetRate", rate="20") == 204
    assert site.act(action="SendMessages", topic="orders", key="order-77812", count="1", queue="broker-a:0") == 204
    queue = page.locator(".q[data-queue='broker-a:0']")
    expect(queue.locator(".t-pinned")).to_contain_text("order-77812 pinned")
    expect(queue).to_have_class("q me-0 bad")
    expect(slow.locator(".say")).to_contain_text("because order-77812 is unfinished")
    site.stand_still()
    row = next(row for row in site.group("order-svc")["queues"] if (row["broker"], row["queue_id"]) == ("broker-a", 0))
    committed = f"{int(row['committed']):,}".replace(",", "\u2009")
    expect(slow.locator(".say")).to_contain_text(f"committed offset stays at {committed}")


def test_a_view_freezes_the_world_stops_and_steps_and_its_table_says_what_the_strips_show(site: Site) -> None:
    page, pill = site.visit("orders"), site.page.locator("#livepill")
    page.locator("#play").click()
    ends = "[...document.querySelectorAll('.q .t-max')].map((end) => end.textContent).join()"
    frozen = page.evaluate(ends)
    site.until("document.querySelector('#livepill .word').textContent.includes('missed')")
    assert page.evaluate(ends) == frozen
    pill.click()
    site.until(f"(frozen) => {ends} !== frozen", frozen)

    page.locator("#world").click()
    expect(pill).to_have_text("Time stopped")
    site.until("document.querySelector('#world').ariaPressed === 'true'")
    still = page.locator("#clock .now").inner_text()
    page.locator("#step").click()
    site.until("(still) => document.querySelector('#clock .now').textContent !== still", still)
    expect(pill).to_have_text("Time stopped")

    site.stand_still()
    page.keyboard.press("Shift+T")
    cells = page.locator("#twin tbody").first.locator("tr")
    expect(cells).to_have_count(8)
    for row in (row for row in site.group("order-svc")["queues"] if row["broker"] == "broker-a"):
        expect(cells.nth(row["queue_id"])).to_contain_text(row["committed"] or "–")
    page.locator("#world").click()
    expect(pill).to_have_text("LIVE")
