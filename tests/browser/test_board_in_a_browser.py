"""The Board against the real broker: it moves, and what people do shows."""

import re

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from tests.browser.conftest import DESKTOP, PATIENCE_MS, PHONE, Site

STRIPS = "[...document.querySelectorAll('#rows qv-strip svg')].map((svg) => svg.innerHTML).join()"


def test_a_board_moves_after_one_click(site: Site) -> None:
    site.page.goto(f"{site.base_url}/")
    site.page.get_by_role("button", name="Start a sandbox").click()
    site.page.wait_for_url("**/s/**")
    before = site.page.evaluate(STRIPS)
    site.until(f"(before) => {STRIPS} !== before", before)


def test_the_first_paint_needs_no_script(site: Site, browser: Browser) -> None:
    site.visit("orders")
    html = site.page.request.get(f"{site.base_url}/s/{site.slug}/").text()
    assert html.count('data-queue="broker-') == 8
    assert "10.0.0.11@" in html
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{site.base_url}/s/{site.slug}/")
        queues = page.locator(".twin table").first.locator("tbody tr:visible")
        assert queues.count() == 8
        assert not [line for line in queues.all_inner_texts() if not re.search(r"broker-|[ab]:\d", line)]


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


def test_adding_a_consumer_moves_the_queues_that_were_forecast(site: Site) -> None:
    site.start("orders")
    expect(site.page.locator("#add-forecast")).to_have_text("moves 5 of 8", timeout=PATIENCE_MS)
    owners = """Object.fromEntries([...document.querySelectorAll('.q')].map((row) =>
        [row.dataset.queue, row.querySelector('.own .badge').textContent]))"""
    site.until("[...document.querySelectorAll('.own.reads')].length === 8")
    before = site.page.evaluate(owners)
    site.page.locator("#add").click()
    site.until("document.querySelectorAll('.cons[data-client]').length === 4")
    site.until("new Set([...document.querySelectorAll('.own.reads .badge')].map((b) => b.textContent)).size === 4")
    site.until("[...document.querySelectorAll('.own.reads')].length === 8")
    after = site.page.evaluate(owners)
    assert sum(before[queue] != after[queue] for queue in before) == 5
    assert sorted(set(after.values())) == ["A", "B", "C", "D"]


def test_a_crashed_member_says_so_on_its_card(site: Site) -> None:
    site.start("orders")
    card = site.page.locator(".cons[data-actor=B]")
    assert site.act(action="ChangeActor", actor="B", work_ms="60000") == 204
    site.until("document.querySelector('.cons[data-actor=B] [data-meter=threads] b').textContent.startsWith('2')")
    card.get_by_role("button", name="Crash").click()
    dialog = site.page.locator("#ask")
    expect(dialog.locator(".foretold")).to_contain_text(re.compile(r"Up to \d+ messages come twice"))
    dialog.get_by_role("button", name="Crash").click()
    expect(card.locator(".state")).to_have_text("Crashed")
    expect(card.get_by_role("button", name="Restart")).to_be_visible()
    card.get_by_role("button", name="Remove").click()
    expect(site.page.locator(".cons[data-actor=B]")).to_have_count(0)
    reported = site.page.locator("#journal li", has_text="came twice: B crashed")
    expect(reported.get_by_role("link", name="why")).to_have_attribute("href", re.compile(r"/journal/\?at=\d+$"))
    reported.get_by_role("link").first.click()
    expect(site.page.locator("#found tbody tr").first).to_be_visible()


def test_legend_and_figures_explain_themselves(site: Site, browser: Browser) -> None:
    page = site.visit("orders")
    things = page.locator("[data-why]")
    said = page.locator(".peek.said")
    assert things.count() == 19, "ten of the legend, six figures, three columns"
    assert page.locator("[id^=why-]").count() == 0, "no part of the first view"
    page.keyboard.press("Tab")
    for thing in things.all():
        words = page.locator(f"#{thing.get_attribute('aria-describedby')}").text_content() or ""
        assert len(words) > 40
    lag = page.get_by_role("button", name="Lag", exact=True)
    lag.focus()
    expect(said).to_contain_text("brokerOffset − consumerOffset")
    page.keyboard.press("Escape")
    expect(said).to_be_hidden()
    page.locator("#k-again").hover()
    expect(said).to_contain_text("reconsumeTimes")
    page.locator("h1, .topbar").first.hover(force=True)
    expect(said).to_be_hidden()
    page.locator("#rows qv-strip").first.hover()
    site.until("document.querySelector('.peek:not(.said) [data-zone]')")
    site.until("""(() => {
        const strip = document.querySelector("#rows qv-strip");
        const pin = strip.querySelector(".pin").getBoundingClientRect();
        const at = {clientX: pin.x + pin.width / 2, clientY: pin.y + pin.height / 2, bubbles: true};
        strip.dispatchEvent(new PointerEvent("pointermove", at));
        const said = document.querySelector(".peek:not(.said):not([hidden]) .more:not([hidden]) > :not([hidden])");
        return said?.textContent.includes("consumerOffset.json");
    })()""")
    touch = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    phone = touch.new_page()
    phone.goto(page.url)
    phone.get_by_role("button", name="next pull").tap()
    expect(phone.locator(".peek.said")).to_contain_text("PullRequest.nextOffset")
    phone.locator("#k-lag").tap()
    expect(phone.locator(".peek.said")).to_contain_text("brokerOffset")
    phone.locator(".cons").first.tap(position={"x": 4, "y": 4})  # no button, which may be disabled
    expect(phone.locator(".peek.said")).to_be_hidden()
    touch.close()


def test_a_slow_key_pins_the_committed_offset(site: Site) -> None:
    site.start("orders")
    site.page.locator(".cons[data-actor=A]").get_by_role("button", name="Slow").click()
    dialog = site.page.locator("#ask")
    expect(dialog.get_by_label("The next message of this queue")).to_be_checked()
    expect(dialog.locator("[data-slow-queue]")).to_have_value("broker-a:0")  # A's first
    dialog.get_by_label("One message key").check()
    dialog.get_by_label("Key", exact=True).fill("")
    dialog.get_by_role("button", name="Slow down").click()
    expect(dialog.get_by_label("Key", exact=True)).to_be_focused()  # a key that is empty is not sent
    dialog.get_by_label("Key", exact=True).fill("order-77812")
    dialog.get_by_role("button", name="Slow down").click()
    expect(dialog).to_be_hidden()
    card = site.page.locator(".cons[data-actor=A] .say")
    expect(card).to_have_text("order-77812 takes 5 m 00 s each: waiting for its first message")
    assert site.act(action="SetRate", rate="20") == 204
    assert site.act(action="SendMessages", topic="orders", key="order-77812", count="1", queue="broker-a:0") == 204
    pinned = site.page.locator(".q[data-queue='broker-a:0'] .t-pinned")
    expect(pinned).to_contain_text("order-77812 held")
    expect(site.page.locator(".q[data-queue='broker-a:0']")).to_have_class("q me-0 bad")
    expect(card).to_contain_text("because order-77812 is unfinished")
    site.stand_still()
    row = next(row for row in site.group("order-svc")["queues"] if (row["broker"], row["queue_id"]) == ("broker-a", 0))
    expect(card).to_contain_text(f"committed stays at {int(row['committed']):,}".replace(",", "\u2009"))


def test_a_refused_form_keeps_its_input_and_says_why(site: Site) -> None:
    site.visit("orders")
    site.page.get_by_role("button", name="Send burst").click()
    dialog = site.page.locator("#ask")
    dialog.locator("form").evaluate("(form) => form.noValidate = true")
    dialog.get_by_label("Messages", exact=True).fill("900000")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    expect(dialog.get_by_role("alert")).to_be_focused()
    expect(dialog.get_by_label("Messages", exact=True)).to_have_value("900000")


def test_the_keyboard_alone_runs_a_board(site: Site) -> None:
    site.start("orders")
    keys = site.page.keyboard
    keys.press("ArrowDown")
    first = site.page.evaluate("document.querySelector('.q[aria-selected=true]').dataset.queue")
    keys.press("ArrowDown")
    assert site.page.evaluate("document.activeElement.dataset.queue") != first
    keys.press("ArrowRight")
    chosen = site.page.locator(".cons[aria-current=true]").get_attribute("data-actor")
    keys.press("x")
    dialog = site.page.locator("#ask")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Crash").press("Enter")
    expect(site.page.locator(f".cons[data-actor={chosen}] .state")).to_have_text("Crashed")
    site.page.evaluate("document.activeElement.blur()")
    keys.press("Space")
    expect(site.page.locator("#livepill")).to_contain_text("Frozen")
    keys.press("l")
    expect(site.page.locator("#livepill")).to_have_text("LIVE")
    keys.press("r")
    expect(site.page.locator("#resetdlg")).to_be_visible()
    keys.press("Escape")
    expect(site.page.locator("#resetdlg")).to_be_hidden()
    keys.press("4")
    site.page.wait_for_url("**/locks/")


def test_the_world_stops_and_steps(site: Site) -> None:
    site.visit("orders")
    site.page.locator("#world").click()
    expect(site.page.locator("#livepill")).to_have_text("World stopped")
    site.until("document.querySelector('#world').ariaPressed === 'true'")
    still = site.page.locator("#clock .now").inner_text()
    site.page.locator("#step").click()
    site.until("(still) => document.querySelector('#clock .now').textContent !== still", still)
    expect(site.page.locator("#livepill")).to_have_text("World stopped")
    site.page.locator("#world").click()
    expect(site.page.locator("#livepill")).to_have_text("LIVE")


def test_the_table_says_what_the_strips_show(site: Site) -> None:
    site.visit("orders")
    assert site.act(action="SetRate", rate="0") == 204
    expect(site.page.locator("#livepill")).to_have_text("World stopped")
    site.page.keyboard.press("Shift+T")
    cells = site.page.locator("#twin tbody").first.locator("tr")
    expect(cells).to_have_count(8)
    shown = {row["queue_id"]: row for row in site.group("order-svc")["queues"] if row["broker"] == "broker-a"}
    for queue_id, row in shown.items():
        text = cells.nth(queue_id).inner_text()
        assert (row["committed"] or "–") in text.split()
    assert site.act(action="SetRate", rate="1") == 204


def test_a_small_laptop_shows_the_heads_of_all_cards_whole(site: Site) -> None:
    site.visit("flights")
    for width in (1190, 1280, 1366, 1440):
        site.page.set_viewport_size({"width": width, "height": 800})
        cut = site.page.evaluate("""() => [...document.querySelectorAll(".ghead > *, .panel header > *")]
            .filter((node) => node.getBoundingClientRect().right > node.parentElement.getBoundingClientRect().right + 1)
            .map((node) => node.textContent.trim())""")
        assert cut == [], width
        tabs = site.page.locator(".ghead .gtabs")
        assert tabs.evaluate("(tabs) => tabs.scrollWidth <= tabs.clientWidth"), width


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_open_table_is_shown_whole(site: Site, viewport: ViewportSize) -> None:
    site.page.set_viewport_size(viewport)
    site.visit("orders")
    site.page.locator("#twin-toggle").click()
    site.page.locator("#twin tbody tr").nth(10).wait_for()
    expect(site.page.locator("#board")).to_be_hidden()
    last = site.page.locator("#twin tbody").last.locator("tr").last
    last.scroll_into_view_if_needed()
    cut = """(row) => {
        const seen = row.getBoundingClientRect(), panel = row.closest('.boardwrap').getBoundingClientRect();
        return seen.bottom > panel.bottom + 1 || seen.right > panel.right + 1;
    }"""
    assert last.evaluate(cut) is False
    assert site.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    site.page.locator("#twin-toggle").click()
    expect(site.page.locator(".q qv-strip").first).to_be_visible()


def test_six_members_fit_and_more_than_queues_stand_on_a_shelf(site: Site) -> None:
    site.start("orders")
    more = {"action": "StartConsumer", "group": "order-svc", "work_ms": "100,600",
            "subscriptions": '[{"topic":"orders","expression":"*"}]'}  # fmt: skip
    assert site.act(**more, copies="3") == 204
    site.until("document.querySelectorAll('.cons[data-client]').length === 6")
    lowest = "document.querySelector('#adds').getBoundingClientRect().bottom"
    site.until(f"{lowest} <= document.querySelector('#board').getBoundingClientRect().bottom")
    assert site.act(**more, copies="4") == 204
    shelf = site.page.locator(".shelfhead")
    expect(shelf).to_have_text("8 queues, 10 members: I, J get nothing", timeout=PATIENCE_MS)
    edge = "document.querySelector('#board').getBoundingClientRect().height"
    ends = "(({y, height}) => y + height)(lane.getBBox())"
    site.until(f"[...document.querySelectorAll('.lane.beyond')].every((lane) => {ends} <= {edge})")
    shelf.scroll_into_view_if_needed()
    expect(site.page.locator(".cons.shelf")).to_have_count(2)


def test_a_visitor_without_rights_may_watch_and_not_touch(site: Site, browser: object) -> None:
    site.visit("orders")
    anonymous = browser.new_context().new_page()  # type: ignore[attr-defined]
    anonymous.goto(f"{site.base_url}/s/{site.slug}/")
    anonymous.locator(".app[data-conn=connected]").wait_for()
    expect(anonymous.locator("#add")).to_be_disabled()
    expect(anonymous.locator(".cons [data-act=CrashActor]").first).to_be_disabled()
    anonymous.context.close()
