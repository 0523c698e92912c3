"""Topology: nodes and lines as the engine has them, by mouse, by keyboard, on a phone, and without motion."""

import re
from typing import Any

from playwright.sync_api import Locator, expect

from tests.browser.axe import faults, violations
from tests.browser.conftest import DESKTOP, PATIENCE_MS, PHONE, Site

PAGE = "topology/"


def box(site: Site, name: str) -> Locator:
    return site.page.locator(f'[data-box="{name}"]')


def links(site: Site) -> dict[str, Any]:
    script = "() => [...queueviz.live.channels.values()].find((ch) => ch.name.startsWith('topology/')).data.links"
    return dict(site.page.evaluate(script))


def test_there_is_a_line_for_every_link_and_none_lies_under_a_box(site: Site) -> None:
    site.visit("cluster", PAGE)
    site.until("document.querySelectorAll('.lines .hit').length >= 20")
    assert site.page.locator(".lines .hit").count() == len(links(site))
    covered = site.page.evaluate("""() => {
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


def test_a_line_leads_to_its_frames_and_a_client_to_its_page(site: Site) -> None:
    site.visit("cluster", PAGE)
    site.until("document.querySelector('.lines a[href*=\"A~broker-a\"]')")
    hrefs = site.page.eval_on_selector_all(".lines a", "(all) => all.map((a) => a.getAttribute('href'))")
    assert f"/s/{site.slug}/wire/?link=A~broker-a" in hrefs
    box(site, "shop").locator("a").click()
    expect(site.page).to_have_url(re.compile("/clients/shop/$"))


def test_arrow_keys_go_from_box_to_box_and_enter_opens_the_panel(site: Site) -> None:
    site.visit("cluster", PAGE)
    box(site, "broker-a").locator(".node").focus()
    for key, arrives in (("ArrowDown", "broker-a.1"), ("ArrowDown", "broker-b"), ("ArrowUp", "broker-a.1")):
        site.page.keyboard.press(key)
        expect(box(site, arrives).locator(".node")).to_be_focused()
    site.page.keyboard.press("ArrowRight")
    assert site.page.evaluate("document.activeElement.closest('[data-box]').dataset.kind") == "client"
    box(site, "ns-1").locator(".node").focus()
    site.page.keyboard.press("Enter")
    heading = site.page.locator("#panel-h")
    expect(heading).to_have_text("ns-1")
    expect(heading).to_be_focused()
    expect(site.page).to_have_url(re.compile(r"\?node=ns-1$"))
    site.page.reload()
    expect(site.page.locator("#panel-h")).to_have_text("ns-1")


def test_a_link_is_cut_and_healed_from_its_panel_and_wears_a_word_meanwhile(site: Site) -> None:
    site.visit("cluster", f"{PAGE}?link=broker-b~ns-2")
    site.page.locator("#do-cut-2").click()
    word = site.page.locator(".linkword")
    expect(word).to_have_text("✂ → cut", timeout=PATIENCE_MS)
    assert "stroke-dasharray" in (site.page.locator(".l.cut").first.get_attribute("style") or ""), "a gap"
    assert links(site)["broker-b~ns-2"]["there_cut"] is True
    box(site, "ns-1").locator(".node").click()
    expect(site.page.locator("#panel-h")).to_have_text("ns-1")
    word.click()
    expect(site.page.locator("#panel-h")).to_have_text("broker-b → ns-2")
    site.page.locator("#do-HealLink").click()
    expect(word).to_have_count(0, timeout=PATIENCE_MS)
    expect(site.page.locator("#do-HealLink")).to_have_count(0, timeout=PATIENCE_MS)


def test_a_refusal_stands_beside_its_button(site: Site) -> None:
    site.visit("cluster", f"{PAGE}?link=broker-b~ns-2")
    site.page.locator("form.way input[name=b]").first.evaluate("(input) => { input.value = 'nobody'; }")
    site.page.locator("#do-cut-1").click()
    refusal = site.page.locator("form.way .refusal")
    expect(refusal).to_contain_text("nobody")
    expect(refusal).to_be_focused()


def test_a_hung_broker_says_so_and_its_ring_runs_on_until_it_is_late(site: Site) -> None:
    site.visit("cluster", f"{PAGE}?node=broker-b")
    site.page.locator("#do-HangBroker").click()
    expect(box(site, "broker-b").locator(".state span")).to_have_text("hung", timeout=PATIENCE_MS)
    resume = site.page.locator("#do-ResumeBroker")
    expect(resume).to_be_visible(timeout=PATIENCE_MS)
    assert site.act(action="SetRate", rate="20") == 204
    ring = site.page.locator('[data-ring="ns-1~broker-b"]')
    expect(ring).to_have_class(re.compile("late"), timeout=PATIENCE_MS)
    assert site.act(action="SetRate", rate="1") == 204
    assert int(ring.locator("text").text_content() or "0") < 90
    assert "silent for" in (ring.locator(".says").text_content() or "")
    resume.click()
    expect(box(site, "broker-b").locator(".state span")).to_have_text("running", timeout=PATIENCE_MS)


def test_a_name_server_keeps_its_place_while_it_is_down(site: Site) -> None:
    site.visit("cluster", f"{PAGE}?node=ns-1")
    before = box(site, "ns-2").bounding_box()
    site.page.locator("#do-StopNameServer").click()
    expect(box(site, "ns-1").locator(".down")).to_be_visible(timeout=PATIENCE_MS)
    expect(box(site, "ns-1").locator(".ring").first).to_be_hidden()
    assert box(site, "ns-2").bounding_box() == before
    site.page.locator("#do-StartNameServer").click(timeout=PATIENCE_MS)
    expect(box(site, "ns-1").locator(".says").first).to_be_visible(timeout=PATIENCE_MS)


def test_a_new_client_gets_a_box_and_focus_stays_where_it_was(site: Site) -> None:
    site.visit("cluster", PAGE)
    box(site, "broker-a").locator(".node").focus()
    assert site.act(action="StartConsumer", actor="guest", group="audit", instance="A",
                    subscriptions='[{"topic": "orders", "expression": "*"}]') == 204
    expect(box(site, "A")).to_contain_text("guest", timeout=PATIENCE_MS)
    expect(box(site, "guest")).to_have_count(0)
    expect(box(site, "broker-a").locator(".node")).to_be_focused()
    assert site.act(action="RemoveActor", actor="guest") == 204
    expect(box(site, "A")).not_to_contain_text("guest", timeout=PATIENCE_MS)


def test_a_dash_runs_only_when_something_was_heard_and_never_for_those_who_want_no_motion(site: Site) -> None:
    site.visit("cluster", PAGE)
    site.until("document.querySelectorAll('.lines .hit').length >= 20")
    site.page.evaluate("""() => {
        globalThis.ran = 0;
        new MutationObserver((all) => all.forEach((one) => one.addedNodes.forEach((node) => {
            if (node.classList?.contains("tick")) globalThis.ran++;
        }))).observe(document.querySelector(".lines"), {childList: true});
    }""")
    assert site.act(action="SetRate", rate="0") == 204
    site.hear_three_beats()
    assert site.page.evaluate("ran") == 0, "the world stands still"
    assert site.act(action="SetRate", rate="20") == 204
    site.until("ran > 0")
    site.page.emulate_media(reduced_motion="reduce")
    before = site.page.evaluate("ran")
    site.hear_three_beats()
    assert site.page.evaluate("ran") == before
    assert site.act(action="SetRate", rate="1") == 204


def test_routes_are_asked_again_when_one_changed(site: Site) -> None:
    site.visit("cluster", PAGE)
    tables = site.page.locator("#routes table")
    expect(tables).to_have_count(2, timeout=PATIENCE_MS)
    assert site.act(action="ChangeTopic", topic="orders", write_queues="5", read_queues="5", scope="broker-b") == 204
    row = tables.nth(1).locator("tr", has_text="broker-b")
    expect(row).to_contain_text("5", timeout=PATIENCE_MS)
    assert site.act(action="ChangeTopic", topic="orders", write_queues="4", read_queues="4", scope="broker-b") == 204


def test_axe_finds_nothing_at_any_size_and_in_any_light(site: Site) -> None:
    site.visit("cluster", PAGE)
    assert site.act(action="CutLink", a="shop", b="broker-b") == 204
    for viewport in (DESKTOP, PHONE):
        site.page.set_viewport_size(viewport)
        for choice in ("node=broker-a.1", "node=ns-1", "link=shop~broker-b"):
            site.open(f"{PAGE}?{choice}")
            site.page.locator("#routes table").first.wait_for()
            assert faults(site.page) == []
        site.page.locator("#twin-toggle").click()
        site.page.locator("#twin tbody tr").first.wait_for()
        assert violations(site.page) == [], ("table", viewport["width"])
        assert site.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), viewport["width"]
    assert site.act(action="HealLink", a="shop", b="broker-b") == 204
