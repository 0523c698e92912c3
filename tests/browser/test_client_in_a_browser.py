"""The page of one client: reached from its card, counting down by itself, naming what it waits for."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, Site


@pytest.mark.seed("1.19", "4.8")
def test_the_page_of_a_member_counts_down_as_the_server_painted_it(site: Site) -> None:
    """The server and the browser write the same; what moves with time is left out."""
    page = site.visit("payments")
    page.locator(".cons[data-actor=A] .who").click()
    page.wait_for_url("**/clients/A/")
    site.wait_connected()
    rows = page.locator("#timers tbody tr")
    expect(rows).to_have_count(8)
    expect(rows.filter(has_text="adjust thread pool")).to_contain_text("runs, does nothing")
    expect(rows.filter(has_text="fetch name server addresses")).to_contain_text("off: addresses are configured")
    live = page.evaluate("""() => Object.fromEntries([...document.querySelectorAll('[data-list=timers] [data-key]')]
        .flatMap((row) => ['first_ms', 'period_ms', 'how'].map((name) =>
            [`${row.dataset.key} ${name}`, row.querySelector(`[data-f=${name}]`).textContent])))""")
    assert len(live) == 8 * 3
    body = page.request.get(page.url).text().split('data-list="timers"')[1].split("</tbody>")[0]
    for key, row in re.findall(r'<tr data-key="([^"]+)">(.*?)</tr>', body):
        for name, text in re.findall(r'data-f="(first_ms|period_ms|how)"[^>]*>([^<]*)<', row):
            assert live[f"{key} {name}"] == text
    due = "[data-key='adjust pool'] [data-f=due_ms]"
    first = float((page.locator(due).text_content() or "").split()[0])  # the last seconds have tenths
    site.until("([due, first]) => parseFloat(document.querySelector(due).textContent) < first", [due, first])


@pytest.mark.seed("4.34")
def test_after_a_crash_the_wait_for_the_lock_is_named_and_runs_out(site: Site) -> None:
    site.visit("payments", "clients/A/")
    assert site.act(action="CrashActor", actor="B") == 204
    wait = site.page.locator("#waits tbody tr").first
    expect(wait).to_contain_text("the queue lock of B, crashed", timeout=PATIENCE_MS)
    left = int((wait.locator("[data-f=until_ms]").text_content() or "").split()[0])
    assert 0 <= left <= 60
    site.until("(left) => parseInt(document.querySelector('#waits [data-f=until_ms]').textContent) < left", left)
    site.open("clients/B/")
    expect(site.page.locator("#state")).to_have_text("Crashed")
    expect(site.page.locator("#gone")).to_be_visible()
    expect(site.page.locator("#timers")).to_be_hidden()
    expect(site.page.locator("#phases .steps li")).to_have_count(10)
    assert site.act(action="RestartActor", actor="B") == 204
    expect(site.page.locator("#state")).to_have_text("Running", timeout=PATIENCE_MS)
    expect(site.page.locator("#gone")).to_be_hidden()
    expect(site.page.locator("#timers tbody tr")).to_have_count(8)
