"""The lock of a crashed member stays for 60 s; the page shows it run out."""

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, Site


def test_a_crashed_holder_keeps_its_locks_for_sixty_seconds(site: Site) -> None:
    site.start("payments")
    site.open("locks/")
    held = site.page.locator("#lock-rows .ring.lock")
    expect(held).to_have_count(8, timeout=PATIENCE_MS)
    assert site.act(action="CrashActor", actor="B") == 204
    stale = site.page.locator("#lock-rows .ring.stale")
    expect(stale).to_have_count(3, timeout=PATIENCE_MS)
    left = int(stale.first.locator("text").text_content() or 0)
    assert 30 <= left <= 60
    site.until("(left) => Number(document.querySelector('#lock-rows .ring.stale text').textContent) < left", left)
    expect(site.page.locator("#attempts .denied").first).to_contain_text("B holds it for", timeout=PATIENCE_MS)
    expect(site.page.locator("#lock-rows .wants").first).to_be_visible()
    assert site.act(action="SetRate", rate="20") == 204
    expect(stale).to_have_count(0, timeout=PATIENCE_MS)
    expect(held).to_have_count(8)


def test_a_clean_stop_gives_the_locks_back_at_once(site: Site) -> None:
    site.start("payments")
    site.open("locks/")
    expect(site.page.locator("#lock-rows .ring.lock")).to_have_count(8, timeout=PATIENCE_MS)
    assert site.act(action="StopActor", actor="B") == 204
    expect(site.page.locator(".cons[data-actor=B] .state")).to_have_text("Stopped")
    site.until("document.querySelectorAll('#lock-rows .ring.lock:not(.stale)').length === 8")


def test_a_board_without_orderly_consumers_says_so(site: Site) -> None:
    site.visit("orders", "locks/")
    expect(site.page.get_by_text("Only orderly consumers lock queues")).to_be_visible()
