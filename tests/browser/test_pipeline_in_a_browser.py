"""Audit, History and Pipeline in a browser: one curve from the past into the present, runs without a page load."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.axe import faults_at_both_widths
from tests.browser.conftest import PHONE, Site
from tests.web.pipeline_results import leave

LINE = {"group": "order-svc", "topic": "orders"}


@pytest.fixture
def found(site: Site, home: Path, settings: Any) -> Site:
    """A sandbox with what jobs might have found out about it."""
    settings.QUEUEVIZ_HOME = home
    site.visit("orders")
    if not (home / "pipeline" / "delivery_audit" / site.slug).exists():
        site.until("BigInt(queueviz.live.seq) > 60n")
        snapshot = site.snapshot()
        seq, now_ms = int(snapshot["seq"]), int(snapshot["at_ms"]) // 1_000 * 1_000
        _audit(site.slug, seq)
        _history(site.slug, seq, now_ms - 20_000)
    return site


def _audit(slug: str, seq: int) -> None:
    kinds = (
        ("once", None, 1),
        ("duplicate", "retry", 2),
        ("lost", None, 0),
        ("handed_over", None, 1),
        ("unknown", None, 0),
        ("waiting", None, 0),
    )
    messages = [
        {
            **LINE,
            "queue": f"broker-a:{n % 4}",
            "queue_offset": n // 4,
            "message_id": f"ID{n}",
            "keys": f"order-{n}",
            "verdict": verdict,
            "cause": cause,
            "deliveries": count,
            "first_seq": seq - 20,
            "last_seq": seq - 20,
        }
        for n in range(600)
        for verdict, cause, count in [kinds[0 if n % 10 else n // 10 % 6]]
    ]
    summary = [
        {
            **LINE,
            "verdict": verdict,
            "cause": cause,
            "example_seq": seq - 20,
            "messages": sum(row["verdict"] == verdict for row in messages),
        }
        for verdict, cause, _ in kinds
    ]
    breaks = [{**LINE, "queue": "broker-a:0", "key": "order-1", "queue_offset": 1, "after_offset": 9, "seq": seq - 20}]
    leave("delivery_audit", slug, {"messages": messages, "summary": summary, "order_breaks": breaks}, true_to=seq - 5)


def _history(slug: str, seq: int, end_ms: int) -> None:
    seconds = [
        {
            **LINE,
            "queue": f"broker-{broker}:{queue}",
            "from_ms": end_ms - 1_000 * (600 - n),
            "produced": 1,
            "consumed": 1,
            "lag": None if 100 <= n < 140 else n % 50 + queue,
            "lag_ms": 900,
        }
        for n in range(600)
        for broker in "ab"
        for queue in range(4)
    ]
    leave("lag_history", slug, {"seconds": seconds, "tens": [], "fives": []}, true_to=seq - 5)


@pytest.mark.parametrize(
    ("path", "ready"),
    [
        ("audit/?verdict=duplicate", ".auditsays .vmark"),
        ("history/?span=15&queues=all", ".multiples .line"),
        ("pipeline/?job=delivery_audit&table=summary", "#runs"),
    ],
)
def test_axe_finds_nothing_on_the_pipelines_pages(found: Site, path: str, ready: str) -> None:
    found.open(path)
    found.page.locator(ready).first.wait_for()
    assert faults_at_both_widths(found.page) == []


def test_the_present_goes_on_behind_the_past_and_its_lines_are_read_with_the_keyboard(found: Site) -> None:
    page = found.open("history/?span=15")
    assert page.evaluate("queueviz.config.history.at_ms.length") > 500
    seam_ms = page.evaluate("queueviz.config.history.at_ms.at(-1)")
    found.until("document.querySelector('.hchart .seam') !== null")
    before = page.evaluate("document.querySelector('.hchart .line').getAttribute('d').length")
    found.until("(before) => document.querySelector('.hchart .line').getAttribute('d').length > before + 20", before)

    found.until("document.querySelectorAll('.hchart .line').length === 5")  # all, the worst three, and the rest
    assert "5 other queues" in page.locator("#h-legend").inner_text()
    page.locator("#h-chart").focus()
    page.keyboard.press("Home")
    first = page.locator("#h-read").inner_text()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#h-read")).not_to_have_text(first)
    assert " · all queues " in page.locator("#h-read").inner_text()
    page.keyboard.press("Shift+T")
    rows = page.locator("#twin table").first.locator("tbody tr")
    expect(rows.first).to_be_visible()
    assert rows.count() == 60
    page.keyboard.press("Shift+T")
    page.locator("input[name=measure][value=flow]").check(force=True)
    page.wait_for_url("**measure=flow*")
    expect(page.locator("#h-legend li")).to_have_count(2)
    assert "span=15" in page.url

    found.open()  # the Board goes on with what that page has seen, as that one does with what the Board has
    key = f"queueviz:{found.slug}/order-svc/orders"
    kept = page.evaluate("(key) => JSON.parse(sessionStorage.getItem(key))", key)
    assert kept["second"] * 1_000 > seam_ms
    assert any(value is not None for values in kept["series"].values() for value in values)


def test_every_queue_has_a_small_chart_on_the_same_axes_on_request(found: Site) -> None:
    page = found.open("history/?span=15")
    page.locator("input[name=queues][value=all]").check(force=True)
    page.wait_for_url("**queues=all*")
    charts = page.locator("#h-queues figure")
    expect(charts).to_have_count(8)
    expect(page.locator("#h-scale")).to_contain_text("Each chart: 0 to ")
    expect(charts.first.locator("svg")).to_have_attribute("aria-label", re.compile("^a:0: newest .*, highest "))


def test_findings_are_bands_whose_words_go_below_a_narrow_chart(site: Site) -> None:
    site.start("orders")
    member = site.group("order-svc")["members"][0]["actor"]
    assert site.act(action="HangActor", actor=member) == 204
    assert site.act(action="SetRate", rate="20") == 204  # a minute without heartbeats
    page = site.open("history/?span=15")
    words = f"{member}: no heartbeat"
    band = page.locator(".bandword", has_text=words)
    expect(band).to_have_attribute("title", words)
    assert site.act(action="SetRate", rate="0") == 204
    page.set_viewport_size(PHONE)
    expect(page.locator(".bandword").first).to_have_text("①")
    expect(page.locator("#h-bands")).to_contain_text(f"① {words}")
    page.reload()  # now the band comes from the journal
    expect(page.locator("#h-bands")).to_contain_text(f"① {words}")
    page.keyboard.press("Shift+T")
    expect(page.locator("#twin table").nth(1)).to_contain_text(words)


def test_a_run_is_asked_for_and_cancelled_without_loading_the_page(found: Site) -> None:
    page = found.open("pipeline/")
    page.evaluate("document.body.dataset.same = 'yes'")
    offer = page.locator(".offer", has_text="Delivery audit").get_by_role("button")
    offer.click()
    row = page.locator("#runs tbody tr").first
    expect(row.locator(".runstate")).to_have_text("waiting")
    offer.click()
    expect(page.locator("#run-answer .refusal")).to_contain_text("This job is already waiting or in progress.")
    row.get_by_role("button", name="Cancel").click()
    expect(row.locator(".runstate")).to_have_text("cancelled")
    assert page.evaluate("document.body.dataset.same") == "yes"

    found.open("audit/")
    freshness = page.locator("#freshness")
    freshness.locator("button").click()
    expect(freshness.locator(".computing")).to_be_visible()
    expect(freshness).to_contain_text("manage.py pipelineworker")
    expect(page.locator(".verdicts tbody tr")).to_have_count(1)  # the last result
    freshness.locator("button", has_text="Cancel").click()
    expect(freshness).to_contain_text("The last run was cancelled.")
