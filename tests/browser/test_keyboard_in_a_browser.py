"""A whole visit without a mouse, and a list of keys that names what works and nothing else."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE_MS, Site


def tab_to(page: Page, selector: str, most: int = 80) -> None:
    """Press Tab until what is wanted has the focus."""
    for _ in range(most):
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached with Tab")


def test_a_crash_is_followed_to_the_locks_and_reset_without_a_mouse(site: Site) -> None:
    site.start("payments")
    page, keys = site.page, site.page.keyboard
    committed = "[...document.querySelectorAll('.q .t-committed')].filter((label) => Number(label.textContent) > 0)"
    site.until(f"{committed}.length === 8")
    keys.press("ArrowRight")
    chosen = page.locator(".cons[aria-current=true]").get_attribute("data-actor")
    keys.press("x")
    page.locator("#ask[open]").wait_for()
    tab_to(page, "#ask .btn.bad")
    keys.press("Enter")
    expect(page.locator(f".cons[data-actor={chosen}] .state")).to_have_text("Crashed")
    expect(page.locator("#ask[open]")).to_have_count(0)  # its answer may come later than what it did is drawn
    page.evaluate("document.activeElement.blur()")
    keys.press("4")
    page.wait_for_url("**/locks/**")
    site.wait_connected()
    stale = page.locator("#lock-rows .ring.stale").first
    expect(stale).to_be_visible(timeout=PATIENCE_MS)
    keys.press("1")
    page.wait_for_url(f"**/s/{site.slug}/")
    site.wait_connected()
    keys.press("r")
    page.locator("#resetdlg .rs-tbl").wait_for()
    tab_to(page, "#rs-form [name=target]")
    keys.press("ArrowRight")  # from a point in time to the earliest
    site.until("JSON.parse(document.querySelector('#rs-data')?.textContent ?? '{}').target === 'earliest'")
    expect(page.locator("#rs-go")).to_be_enabled()
    tab_to(page, "#rs-go")
    keys.press("Enter")
    expect(page.locator(".rs-clients > li [data-step=told].done").first).to_be_visible(timeout=PATIENCE_MS)
    keys.press("Escape")
    expect(page.locator("#resetdlg")).to_be_hidden()


WORKS = {
    "Shift+Space": "document.querySelector('#livepill').textContent.includes('Time stopped')",
    "Space": "document.querySelector('#livepill').textContent.includes('Frozen')",
    "l": "!document.querySelector('#livepill').textContent.includes('Frozen')",
    "ArrowDown": "document.activeElement.matches('.q')",
    "ArrowRight": "document.querySelector('.cons[aria-current=true]')",
    "x": "document.querySelector('#ask[open] .btn.bad')",
    "f": "document.querySelector('#ask[open]')?.textContent.includes('Kill')",
    "r": "document.querySelector('#resetdlg[open]')",
    "p": "document.documentElement.hasAttribute('data-projector')",
    "t": "document.documentElement.dataset.theme === 'dark'",
    "Shift+T": "document.querySelector('#twin:not([hidden])')",
    "?": "document.querySelector('#ask[open] .keys')",
}
DEAD = {"locks/": {"a", "x", "ArrowDown", "Enter"}, "topics/": {"Shift+T", "ArrowRight"}}


def test_every_key_of_the_list_works_and_the_list_leaves_out_those_without_effect(site: Site) -> None:
    site.visit("orders")
    site.until("[...document.querySelectorAll('.own.reads')].length === 8")
    for key, effect in WORKS.items():
        site.page.evaluate("document.activeElement.blur()")
        site.page.keyboard.press(key)
        site.until(effect)
        if key in ("x", "f", "r", "?"):
            site.page.keyboard.press("Escape")
            site.until("!document.querySelector('dialog[open]')")
        elif key in ("Shift+Space", "t", "p", "Shift+T"):
            site.page.keyboard.press(key)
            site.until(f"!({effect})")
    site.page.evaluate("document.activeElement.blur()")  # the list's own check box may still have the focus
    site.page.keyboard.press("?")
    listed = listing(site)
    assert {"a", "Enter", ".", "1", "Escape", " "} <= listed
    assert {"Space" if key == " " else key for key in listed} >= set(WORKS)
    for path, dead in DEAD.items():
        site.open(path)
        site.page.keyboard.press("?")
        listed = listing(site)
        assert "?" in listed
        assert not listed & dead, path


def listing(site: Site) -> set[str]:
    site.page.locator("#ask[open] .keys").wait_for()
    shown = "[...document.querySelectorAll('[data-keys]:not([hidden])')].map((line) => line.dataset.keys)"
    return set(site.page.evaluate(shown))
