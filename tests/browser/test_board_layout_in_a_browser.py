"""Measured positions of the parts of the Board and of the page heads."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, ViewportSize, expect

from tests.browser.conftest import DESKTOP, PATIENCE_MS, PHONE, Site

SIZES = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
TABS = ("", "findings/", "rebalance/", "locks/", "store/", "index/", "messages/", "topology/", "topics/", "journal/")
PAGES = (*TABS, "groups/", "connect/", "wire/", "settings/", "history/", "audit/", "pipeline/")
MEMBER = {
    "action": "StartConsumer",
    "group": "order-svc",
    "work_ms": "100,600",
    "subscriptions": '[{"topic":"orders","expression":"*"}]',
}
OUTSIDE = """(selector) => [...document.querySelectorAll(selector)].flatMap((box) => {
    const outer = box.getBoundingClientRect();
    return [...box.querySelectorAll("*")].filter((part) => {
        const inner = part.getBoundingClientRect();
        return inner.width > 1 && (inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1);
    }).map((part) => part.textContent.trim());
})"""
LOOK = """(head) => {
    const { left, right, top } = head.getBoundingClientRect(), title = head.querySelector("h1");
    const { fontSize, fontWeight } = getComputedStyle(title), banner = document.querySelector("#notice").offsetHeight;
    return [left, right, top - banner, getComputedStyle(head).backgroundColor,
        ...(title.classList.contains("vh") ? [] : [fontSize, fontWeight])].join();
}"""


def top(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None
    return box["y"]


def bottom(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def test_details_are_hidden_until_asked_for_and_stay_as_chosen(site: Site) -> None:
    page = site.visit("orders")
    button = page.get_by_role("button", name="Details")
    details = [page.locator("#rail .timers"), page.locator("#k-risk"), page.locator("[data-meter=span]").first]
    expect(button).to_have_attribute("aria-pressed", "false")
    for part in details:
        expect(part).to_be_hidden()
    button.focus()
    page.keyboard.press("Enter")
    for part in details:
        expect(part).to_be_visible()
    page.reload()
    expect(button).to_have_attribute("aria-pressed", "true")
    for part in details:
        expect(part).to_be_visible()
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), size
    button.click()
    expect(details[0]).to_be_hidden()


def test_a_lab_shows_the_details_of_the_card_it_points_at(site: Site) -> None:
    page = site.visit("orders")
    cards = page.locator(".cons[data-client]")
    cards.first.evaluate("(card) => card.classList.add('lab-watch')")
    expect(cards.first.locator("[data-meter=span]")).to_be_visible()
    expect(cards.last.locator("[data-meter=span]")).to_be_hidden()


def test_cards_keep_their_parts_and_add_consumer_stays_in_sight(site: Site) -> None:
    site.start("orders")
    page = site.page
    for members in (3, 4, 5, 6, 7):
        if members > 3:
            assert site.act(**MEMBER) == 204
        expect(page.locator(".cons[data-client]")).to_have_count(members)
        for width in (1440, 1190, 900):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(OUTSIDE, ".cons[data-client]") == [], (members, width)
            assert bottom(page.locator("#adds")) <= top(page.locator(".board-foot")), (members, width)
        page.set_viewport_size(DESKTOP)
        last = page.locator(".cons[data-client]").last
        assert bottom(last) <= top(page.locator("#adds")) + 1, members
    expect(page.locator(".cons[data-client] .ms:visible")).to_have_count(0)
    page.locator(".cons[data-client] .badge").first.click()
    expect(page.locator(".cons[data-client] .ms:visible")).to_contain_text(re.compile("Fullest queue.*Threads", re.S))


def test_sentences_of_a_finding_and_of_cards_move_no_board_and_cover_no_card(site: Site) -> None:
    site.start("orders")
    page, board, cards = site.page, site.page.locator("#board"), site.page.locator(".cons[data-client]")
    page.set_viewport_size({"width": 1440, "height": 820})
    board_top_px = top(board)
    for _ in range(2):
        assert site.act(**MEMBER) == 204
    for actor in ("A", "B"):
        assert site.act(action="HangActor", actor=actor) == 204
    page.locator("#finding.error").wait_for()
    expect(cards).to_have_count(5)
    expect(page.locator("#consumers")).to_have_attribute("data-terse", "")
    assert top(board) == board_top_px
    assert bottom(cards.last) <= top(page.locator("#adds")) + 1
    expect(cards.locator(".say:visible")).to_have_count(0)
    cards.first.locator(".badge").click()
    expect(cards.first.locator(".say"), "the chosen card keeps its sentence").to_be_visible()
    page.locator("#finding b").evaluate("(said) => { said.textContent = `${said.textContent} ${said.textContent}`; }")
    assert top(board) == board_top_px


def test_cards_that_have_no_room_are_in_reach_and_announced(site: Site) -> None:
    site.start("orders")
    page = site.page
    for _ in range(3):
        assert site.act(**MEMBER) == 204
    for actor in ("A", "B"):
        assert site.act(action="StopActor", actor=actor) == 204
    expect(page.locator(".cons.out[data-client]")).to_have_count(2)
    for height in (900, 700):
        page.set_viewport_size({"width": 1440, "height": height})
        site.until("""(() => {
            const box = document.querySelector("#consumers"), cards = [...box.querySelectorAll(".cons[data-client]")];
            box.scrollTop = box.scrollHeight;
            const bottom = Math.max(...cards.map((card) => card.getBoundingClientRect().bottom));
            const isReached = bottom <= document.querySelector("#adds").getBoundingClientRect().top + 1;
            return isReached && "cut" in box.dataset === box.scrollHeight > box.clientHeight + 1;
        })()""")


@pytest.mark.parametrize("width", [1440, 1180])
def test_the_head_and_the_button_to_add_cut_no_words(site: Site, width: int) -> None:
    page = site.visit("orders")
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("queueviz.painter.frozen = true")
    page.locator("#k-delivered").evaluate(
        "(note) => { note.hidden = false; note.textContent = '134.6 delivered > consumed'; }"
    )
    cut = page.locator(".kpi dd, #add, #add span").evaluate_all(
        "(all) => all.filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.textContent)"
    )
    assert cut == []


def test_what_followed_covers_no_journal_and_leaves_while_the_clock_stands(site: Site) -> None:
    site.start("orders")
    page = site.page
    page.set_viewport_size(DESKTOP)
    for actor in ("A", "B", "C"):
        page.locator(f".cons[data-actor={actor}] [data-act=StopActor]").click()
    shown = page.locator("#toasts > .toast:visible")
    expect(shown.first).to_contain_text("messages in progress interrupted")
    assert site.act(action="SetRate", rate="0") == 204
    expect(shown).to_have_count(2)
    journal = page.locator("#journal").bounding_box()
    for line in shown.all():
        box = line.bounding_box()
        assert box is None or journal is None or box["x"] + box["width"] <= journal["x"] + 1
    shown.first.hover()
    expect(shown).to_have_count(1, timeout=PATIENCE_MS)
    page.mouse.move(5, 5)
    expect(shown).to_have_count(0, timeout=PATIENCE_MS)


def test_four_members_have_labelled_meters(site: Site) -> None:
    site.start("orders")
    assert site.act(**MEMBER) == 204
    expect(site.page.locator(".consumers[data-many] .cons[data-client]")).to_have_count(4)
    names = site.page.locator(".consumers[data-many] .cons[data-client] .meter:visible .name")
    expect(names).to_have_text(["Fullest queue", "Threads"] * 4)
    assert names.evaluate_all("(all) => all.every((name) => name.scrollWidth <= name.clientWidth)")


@SIZES
def test_a_second_line_in_the_header_moves_nothing(site: Site, size: ViewportSize) -> None:
    site.page.set_viewport_size(size)
    page = site.visit("orders")
    page.evaluate("queueviz.painter.frozen = true")
    known, places = page.locator("#k-known"), []
    for is_hidden in (True, False):
        known.evaluate(
            "(note, hidden) => { note.hidden = hidden; note.textContent = '4 of 8 queues known'; }", is_hidden
        )
        places.append(top(page.locator("#finding")))
    assert places[0] == places[1]


@SIZES
def test_a_dead_master_clips_no_row_and_reports_no_missing_item(site: Site, size: ViewportSize) -> None:
    site.start("cluster")
    page = site.page
    page.set_viewport_size(size)
    head = bottom(page.locator(".pagehead")) - top(page.locator(".pagehead"))
    assert site.act(action="StopBroker", broker="broker-a") == 204
    down = page.locator(".q.down")
    expect(down).to_have_count(4)
    expect(down.first.locator(".downmark")).to_be_visible()
    rows = page.locator(".q")
    for row in rows.all()[:-1]:
        inside = row.evaluate("""(row) => [...row.querySelectorAll(":scope > *")].filter((part) => part.offsetParent)
            .every((part) => part.getBoundingClientRect().bottom <= row.getBoundingClientRect().bottom + 1)""")
        assert inside, row.get_attribute("data-queue")
    ends = rows.evaluate_all("(all) => all.map((row) => row.getBoundingClientRect()).map((at) => [at.top, at.bottom])")
    assert all(before[1] < after[0] + 0.5 for before, after in pairwise(ends)), ends
    if size is DESKTOP:
        assert bottom(page.locator(".pagehead")) - top(page.locator(".pagehead")) == head
    tape = page.locator("#tape")
    tape.scroll_into_view_if_needed()
    expect(tape).to_have_class(re.compile("old"))
    expect(page.locator(".toast")).to_have_count(0)
    assert site.act(action="StartBroker", broker="broker-a") == 204
    expect(tape).not_to_have_class(re.compile("old"))
    expect(down).to_have_count(0)


def test_actions_are_sorted_by_what_they_act_on(site: Site) -> None:
    page = site.visit("orders")
    for size, has_head in ((DESKTOP, True), (PHONE, False)):  # the head of a wide page has the reset
        page.set_viewport_size(size)
        assert page.locator(".pagehead [data-reset]").is_visible() == has_head
        assert page.locator("#rail .do :is(h3, .btn):visible").all_inner_texts() == [
            *("Messages", "Send burst", "Add producer", "Transactions"),
            *("Consumers", *([] if has_head else ["Reset offset"]), "Strategy"),
            *("Cluster", "Create topic", "Inject fault"),
        ]


@SIZES
def test_every_page_has_the_same_head(site: Site, size: ViewportSize) -> None:
    site.page.set_viewport_size(size)
    looks = set()
    for path in PAGES:
        page = site.visit("payments", path)
        head = page.locator(".pagehead")
        expect(head).to_have_count(1)
        expect(head.locator("h1")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        looks.add(head.evaluate(LOOK))
    common = min(looks, key=len)
    assert all(look.startswith(common) for look in looks), looks
    assert len(looks) <= 2, looks


def test_a_difference_is_explained_on_hover_and_focus_and_opens_with_a_click(site: Site) -> None:
    page = site.visit("payments", "locks/")
    mark, said = page.locator(".lives .differs"), page.locator(".peek.said")
    mark.locator("summary").hover()
    expect(said).to_contain_text("the TTL (60 s) is the broker's")
    page.keyboard.press("Escape")
    expect(said).to_be_hidden()
    mark.locator("summary").focus()
    expect(said).to_be_visible()
    mark.locator("summary").click()
    expect(said).to_be_hidden()
    expect(mark.locator(".said")).to_be_visible()


@pytest.mark.parametrize("way", ["button", "sentence", "keyboard"])
def test_a_phone_shows_what_a_finding_points_at(site: Site, way: str) -> None:
    site.start("orders")
    page = site.page
    page.set_viewport_size(PHONE)
    page.emulate_media(reduced_motion="reduce")
    assert site.act(action="HangActor", actor="C") == 204
    finding = page.locator("#finding[data-marks*='member/']")
    finding.wait_for()
    site.stand_still()
    card = page.locator(".cons[data-actor=C]")
    expect(card).not_to_be_in_viewport()
    show = finding.get_by_role("button", name="Show", exact=True)
    if way == "keyboard":
        show.focus()
        page.keyboard.press("Enter")
    elif way == "button":
        show.click()
    else:
        finding.locator("p").dispatch_event("click", {"pointerType": "touch", "bubbles": True})
    lit = page.locator(".lit")
    expect(lit.first).to_be_in_viewport()
    page.locator(".q").last.dispatch_event("pointerover", {"pointerType": "touch", "bubbles": True})
    expect(lit.first).to_be_visible()
    page.locator("#twin-toggle").dispatch_event("click")
    expect(lit).to_have_count(0)
