"""The lock of a crashed member stays for 60 s; the page shows it run out."""

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, Site

APART = """async () => {
    const apart = [];
    for (let n = 0; n < 90; n++) {
        await new Promise(requestAnimationFrame);
        const rings = [...document.querySelectorAll('#lock-rows .ring.stale text')];
        const ring = Math.max(...rings.map((text) => Number(text.textContent)));  // granted in turn, not all at once
        const card = document.querySelector('.cons[data-actor=B] .say').textContent;
        if (!card.includes(`expire in ${ring} s`)) apart.push([ring, card]);
    }
    return apart;
}"""  # seconds left in the last ring to run out, and on the card of who holds the locks


def test_a_crashed_holder_keeps_its_locks_for_sixty_seconds(site: Site) -> None:
    site.start("payments")
    site.open("locks/")
    held = site.page.locator("#lock-rows .ring.lock")
    expect(held).to_have_count(8, timeout=PATIENCE_MS)
    expect(site.page.locator("#attempts b", has_text="%RETRY%payment-fifo q0").first).to_be_visible()
    assert site.act(action="CrashActor", actor="B") == 204
    stale = site.page.locator("#lock-rows .ring.stale")
    expect(stale).to_have_count(3, timeout=PATIENCE_MS)
    left = int(stale.first.locator("text").text_content() or 0)
    assert 0 <= left <= 60
    assert site.page.evaluate(APART) == []
    site.until("(left) => Number(document.querySelector('#lock-rows .ring.stale text').textContent) < left", left)
    expect(site.page.locator("#attempts .denied").first).to_contain_text("B holds the lock for", timeout=PATIENCE_MS)
    expect(site.page.locator("#lock-rows .wants").first).to_be_visible()
    assert site.act(action="SetRate", rate="20") == 204
    expect(stale).to_have_count(0, timeout=PATIENCE_MS)
    expect(held).to_have_count(8)


def test_a_master_that_dies_and_returns_is_marked_on_open_pages_and_unmarked(site: Site) -> None:
    site.start("cluster")
    for path, marks in (("?group=invoice-fifo", "#rows .downmark"), ("locks/?group=invoice-fifo", "#lock-rows .lost")):
        site.open(path)
        shown = site.page.locator(f"{marks}:visible")
        expect(site.page.locator("#rows .q, #lock-rows tr")).to_have_count(8, timeout=PATIENCE_MS)
        expect(shown).to_have_count(0)
        assert site.act(action="KillBroker", broker="broker-b") == 204
        expect(shown).to_have_count(4, timeout=PATIENCE_MS)
        expect(shown.first).to_contain_text("master down")
        expect(site.page.get_by_text("4 of 8 queues known").first).to_be_visible()
        assert site.act(action="StartBroker", broker="broker-b") == 204
        expect(shown).to_have_count(0, timeout=PATIENCE_MS)
        expect(site.page.get_by_text("of 8 queues known now")).to_be_hidden()
