"""Topology: nodes and lines as the engine has them, by mouse, by keyboard, on a phone, and without motion."""

import re
from typing import Any

from playwright.sync_api import Locator, expect

from tests.browser.axe import faults_at_both_widths, violations
from tests.browser.conftest import DESKTOP, PHONE, Site

PAGE = "topology/"


def box(site: Site, name: str) -> Locator:
    return site.page.locator(f'[data-box="{name}"]')


def links(site: Site) -> dict[str, Any]:
    script = "() => [...queueviz.live.channels.values()].find((ch) => ch.name.startsWith('topology/')).data.links"
    return dict(site.page.evaluate(script))


def test_a_line_for_every_link_lies_under_no_box_and_runs_only_while_something_is_received(site: Site) -> None:
    """Its dash never runs for those who want no motion."""
    page = site.visit("cluster", PAGE)
    site.until("document.querySelectorAll('.lines .hit').length >= 20")
    assert page.locator(".lines .hit").count() == len(links(site))
    covered = page.evaluate("""() => {
        const boxes = [...document.querySelectorAll("[data-box]")].map((box) => box.getBoundingClientRect());
        const origin = document.querySelector(".lines").getBoundingClientRect();
        return [...document.querySelectorAll(".lines .hit")].filter((path) => {
            const length = path.getTotalLength();
            return Array.from({length: 21}, (_, i) => path.getPointAtLength(length * (0.06 + 0.044 * i))).some((p) =>
                boxes.some((b) => p.x + origin.left > b.left + 2 && p.x + origin.left < b.right - 2
                    && p.y + origin.top > b.top + 2 && p.y + origin.top < b.bottom - 2));
        }).length;
    }""")
    assert covered == 0

    page.evaluate("""() => {
        globalThis.ran = 0;
        new MutationObserver((all) => all.forEach((one) => one.addedNodes.forEach((node) => {
            if (node.classList?.contains("tick")) globalThis.ran++;
        }))).observe(document.querySelector(".lines"), {childList: true});
    }""")
    site.stand_still()
    before = page.evaluate("ran")
    site.hear_three_beats()
    assert page.evaluate("ran") == before, "the world is stopped"
    assert site.act(action="SetRate", rate="20") == 204
    site.until("(before) => ran > before", before)
    page.emulate_media(reduced_motion="reduce")
    before = page.evaluate("ran")
    site.hear_three_beats()
    assert page.evaluate("ran") == before
    assert site.act(action="SetRate", rate="1") == 204

    hrefs = page.eval_on_selector_all(".lines a", "(all) => all.map((a) => a.getAttribute('href'))")
    assert f"/s/{site.slug}/wire/?link=A~broker-a" in hrefs
    box(site, "shop").locator("a").click()
    expect(page).to_have_url(re.compile("/clients/shop/$"))


def test_arrow_keys_go_from_box_to_box_and_focus_stays_when_clients_and_routes_change(site: Site) -> None:
    page, keys = site.visit("cluster", PAGE), site.page.keyboard
    box(site, "broker-a").locator(".node").focus()
    for key, arrives in (("ArrowDown", "broker-a.1"), ("ArrowDown", "broker-b"), ("ArrowUp", "broker-a.1")):
        keys.press(key)
        expect(box(site, arrives).locator(".node")).to_be_focused()
    assert (
        site.act(
            action="StartConsumer",
            actor="guest",
            group="audit",
            instance="A",
            subscriptions='[{"topic": "orders", "expression": "*"}]',
        )
        == 204
    )
    expect(box(site, "A")).to_contain_text("guest")
    expect(box(site, "guest")).to_have_count(0)
    expect(box(site, "broker-a.1").locator(".node")).to_be_focused()
    assert site.act(action="RemoveActor", actor="guest") == 204
    expect(box(site, "A")).not_to_contain_text("guest")

    tables = page.locator("#routes table")
    expect(tables).to_have_count(2)
    queues = {"action": "ChangeTopic", "topic": "orders", "scope": "broker-b"}
    assert site.act(**queues, write_queues="5", read_queues="5") == 204
    expect(tables.nth(1).locator("tr", has_text="broker-b")).to_contain_text("5")
    assert site.act(**queues, write_queues="4", read_queues="4") == 204

    keys.press("ArrowRight")
    assert page.evaluate("document.activeElement.closest('[data-box]').dataset.kind") == "client"
    box(site, "ns-1").locator(".node").focus()
    keys.press("Enter")
    heading = page.locator("#panel-h")
    expect(heading).to_have_text("ns-1")
    expect(heading).to_be_focused()
    expect(page).to_have_url(re.compile(r"\?node=ns-1$"))
    page.reload()
    expect(heading).to_have_text("ns-1")


def test_a_link_is_refused_cut_and_healed_from_its_panel_and_wears_a_word_meanwhile(site: Site) -> None:
    page = site.visit("cluster", f"{PAGE}?link=broker-b~ns-2")
    other_end = page.locator("form.way input[name=b]").first
    other_end.evaluate("(input) => { input.value = 'nobody'; }")
    page.locator("#do-cut-1").click()
    refusal = page.locator("form.way .refusal")
    expect(refusal).to_contain_text("nobody")
    expect(refusal).to_be_focused()
    site.open(f"{PAGE}?link=broker-b~ns-2")

    page.locator("#do-cut-2").click()
    word = page.locator(".linkword")
    expect(word).to_have_text("✂ → cut")
    assert "stroke-dasharray" in (page.locator(".l.cut").first.get_attribute("style") or ""), "a gap"
    assert links(site)["broker-b~ns-2"]["there_cut"] is True
    box(site, "ns-1").locator(".node").click()
    expect(page.locator("#panel-h")).to_have_text("ns-1")
    word.click()
    expect(page.locator("#panel-h")).to_have_text("broker-b → ns-2")
    page.locator("#do-HealLink").click()
    expect(word).to_have_count(0)
    expect(page.locator("#do-HealLink")).to_have_count(0)


def test_a_hung_broker_s_ring_runs_on_and_a_name_server_that_is_down_keeps_its_place(site: Site) -> None:
    page = site.visit("cluster", f"{PAGE}?node=ns-2")
    before = box(site, "ns-1").bounding_box()
    page.locator("#do-StopNameServer").click()
    expect(box(site, "ns-2").locator(".down")).to_be_visible()
    expect(box(site, "ns-2").locator(".ring").first).to_be_hidden()
    assert box(site, "ns-1").bounding_box() == before
    page.locator("#do-StartNameServer").click()
    expect(box(site, "ns-2").locator(".says").first).to_be_visible()

    box(site, "broker-b").locator(".node").first.click()
    page.locator("#do-HangBroker").click()
    state = box(site, "broker-b").locator(".state span")
    expect(state).to_have_text("hung")
    resume = page.locator("#do-ResumeBroker")
    expect(resume).to_be_visible()
    assert site.act(action="SetRate", rate="20") == 204
    ring = page.locator('[data-ring="ns-1~broker-b"]')
    expect(ring).to_have_class(re.compile("late"))
    assert site.act(action="SetRate", rate="1") == 204
    expect(ring.locator(".says")).to_contain_text("no heartbeat for")
    resume.click()
    expect(state).to_have_text("running")


def test_axe_reports_nothing_at_any_size_and_in_any_light(site: Site) -> None:
    page = site.visit("cluster", PAGE)
    assert site.act(action="CutLink", a="shop", b="broker-b") == 204
    for choice, within in (("node=broker-a.1", "html"), ("node=ns-1", "#panel"), ("link=shop~broker-b", "#panel")):
        site.open(f"{PAGE}?{choice}")
        page.locator("#routes table").first.wait_for()
        assert faults_at_both_widths(page, within) == []
    page.locator("#twin-toggle").click()
    page.locator("#twin tbody tr").first.wait_for()
    for viewport in (DESKTOP, PHONE):
        page.set_viewport_size(viewport)
        assert violations(page, within="#twin") == [], viewport["width"]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), viewport["width"]
    assert site.act(action="HealLink", a="shop", b="broker-b") == 204
