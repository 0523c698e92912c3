"""A board beyond eight healthy strips: retries, many queues, broadcasting; without motion, in system colours."""

from playwright.sync_api import expect

from tests.browser.axe import violations
from tests.browser.conftest import PATIENCE_MS, Site


def read(site: Site, group: str, topic: str, **more: str) -> None:
    """A group of two on a topic that sorts behind the stage's own: the pages other tests look at stay as they are."""
    consumer = {"group": group, "subscriptions": f'[{{"topic":"{topic}","expression":"*"}}]', "work_ms": "100,300"}
    assert site.act(**({"action": "StartConsumer", "copies": "2"} | consumer | more)) == 204


def remove(site: Site, group: str) -> None:
    for member in site.group(group)["members"]:
        assert site.act(action="RemoveActor", actor=member["actor"]) == 204


def test_what_failed_waits_in_a_thin_strip_below(site: Site) -> None:
    site.visit("index", "topics/")  # its Board would open anew with the first member
    assert site.act(action="CreateTopic", topic="shaky", write_queues="2", read_queues="2") == 204
    read(site, "shaky-svc", "shaky", fail_percent="100")
    assert site.act(action="SetRate", rate="20") == 204
    assert site.act(action="SendMessages", topic="shaky", count="6") == 204
    site.open("?group=shaky-svc")
    thin = site.page.locator(".sq")
    expect(thin).to_have_count(1, timeout=PATIENCE_MS)
    expect(thin).to_contain_text("retry q0")
    expect(thin.locator("svg .max")).to_have_count(1)
    assert site.act(action="SetRate", rate="1") == 204
    remove(site, "shaky-svc")


def test_ninety_six_queues_are_a_heat_map_and_twelve_strips(site: Site) -> None:
    site.visit("orders")
    assert site.act(action="CreateTopic", topic="wide", write_queues="48", read_queues="48") == 204
    read(site, "wide-svc", "wide")
    assert site.act(action="SendMessages", topic="wide", count="500") == 204
    html = site.page.request.get(f"{site.base_url}/s/{site.slug}/?group=wide-svc").text()
    assert html.count('data-queue="broker-') == 12
    site.open("?group=wide-svc")
    cells = site.page.locator(".heat button")
    expect(cells).to_have_count(96, timeout=PATIENCE_MS)
    site.until("document.querySelectorAll('.q').length >= 12")
    site.page.locator(".heat button[data-queue='broker-b:47']").click()
    expect(site.page.locator(".q[data-queue='broker-b:47']")).to_have_attribute("aria-selected", "true")
    assert violations(site.page) == []
    remove(site, "wide-svc")


def test_with_sixteen_queues_every_card_keeps_its_buttons(site: Site) -> None:
    site.visit("index", "topics/")  # its Board would open anew with the first member
    assert site.act(action="CreateTopic", topic="sixteen", write_queues="16", read_queues="16") == 204
    read(site, "sixteen-svc", "sixteen", copies="3")
    site.open("?group=sixteen-svc")
    expect(site.page.locator(".q")).to_have_count(16, timeout=PATIENCE_MS)
    site.until("document.querySelectorAll('.cons[data-client] [data-act=CrashActor]').length === 3")
    buttons = site.page.locator(".cons[data-client] [data-act]:visible")
    assert buttons.count() == 3 * len(("Slow", "Hang", "Stop", "Crash", "⋯"))
    inside = """(button) => {
        const inner = button.getBoundingClientRect(), outer = button.closest('.cons').getBoundingClientRect();
        return inner.height >= 20 && inner.top >= outer.top && inner.bottom <= outer.bottom;
    }"""
    assert all(button.evaluate(inside) for button in buttons.all())
    remove(site, "sixteen-svc")


def test_a_broadcasting_group_has_a_stack_of_strips_per_member(site: Site) -> None:
    site.visit("index", "topics/")  # its Board would open anew with the first member
    assert site.act(action="CreateTopic", topic="public", write_queues="3", read_queues="3") == 204
    read(site, "public-svc", "public", model="BROADCASTING")
    assert site.act(action="SetRate", rate="4") == 204
    assert site.act(action="SendMessages", topic="public", count="30") == 204
    site.open("?group=public-svc")
    expect(site.page.locator(".q")).to_have_count(6, timeout=PATIENCE_MS)
    site.until("[...document.querySelectorAll('.own.reads .badge')].length === 6")
    owners = site.page.locator(".own .badge").all_inner_texts()
    assert owners == sorted(owners)
    assert len(set(owners)) == 2
    site.until("[...document.querySelectorAll('.q .disk')].every((mark) => mark.getAttribute('d'))")  # its own file
    expect(site.page.locator("#add-forecast")).to_have_text("")
    site.page.locator(".pagehead [data-reset]").click()
    expect(site.page.locator("#resetdlg")).to_contain_text("each member has its own file")
    site.page.keyboard.press("Escape")
    assert site.act(action="SetRate", rate="1") == 204
    remove(site, "public-svc")


def test_a_board_of_calm_moves_nothing_and_is_readable_in_system_colours(site: Site) -> None:
    page = site.page
    page.emulate_media(reduced_motion="reduce", forced_colors="active")
    site.visit("orders")
    site.until("[...document.querySelectorAll('.own.reads')].length === 8")
    assert page.evaluate("document.querySelector('.lane.dots').getAttribute('d')") is None
    before = page.locator(".q .t-max").first.text_content()
    site.until("(before) => document.querySelector('.q .t-max').textContent !== before", before)
    assert page.evaluate("document.getAnimations().filter((each) => each.playState === 'running').length") == 0
    fill = "getComputedStyle(document.querySelector('.q %s')).fill"
    canvas = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert page.evaluate(fill % "path.pin") != canvas
    assert page.evaluate(fill % ".t-committed") != canvas
    assert page.evaluate("document.querySelector('.dot').checkVisibility()")
