"""An open page over a restart of its server: it goes on by itself, or says that the sandbox is asleep."""

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE_MS, Site
from tests.server.server import Server

MOVED = "(max) => Number(document.querySelector('.q .t-max').textContent.replace(/\\D/g, '')) > max"


def newest(page: Page) -> int:
    """The next free offset of the first queue, as the page shows it."""
    return int(page.evaluate("document.querySelector('.q .t-max').textContent.replace(/\\D/g, '')"))


def goes_on(page: Page, after: int) -> None:
    page.wait_for_function(MOVED, arg=after, timeout=PATIENCE_MS)
    expect(page.locator("#conn")).to_contain_text("Connected")
    expect(page.locator("#livepill")).to_contain_text("LIVE")
    expect(page.locator("#notice .banner:not(.tip):visible")).to_have_count(0)


def test_an_open_page_goes_on_after_a_stop_and_a_kill_of_the_server_and_one_without_rights_says_asleep(
    page: Page, own_server: Server, browser: Browser
) -> None:
    site = Site(page, own_server.url, {})
    site.start("orders")
    seen = newest(page)
    own_server.stop()
    expect(page.locator("#conn")).to_contain_text("Offline")
    expect(page.locator("#livepill")).to_contain_text("Not live")
    own_server.start()
    goes_on(page, seen)

    with browser.new_context() as visitors:
        watching = visitors.new_page()
        watching.goto(page.url)
        expect(watching.locator("#conn")).to_contain_text("Connected")
        for control in ("#add", ".cons [data-act=CrashActor]"):
            expect(watching.locator(control).first).to_be_disabled()
        address = page.url
        page.goto("about:blank")
        seen = newest(watching)
        own_server.kill()
        own_server.start()
        expect(watching.locator("#conn")).to_contain_text("Asleep", timeout=PATIENCE_MS)
        expect(watching.locator("#livepill")).to_contain_text("Asleep")
        expect(watching.locator("#notice .banner:visible")).to_contain_text("This sandbox is asleep")
        expect(watching.locator("#notice .banner:visible button")).to_have_count(0)
        page.goto(address)  # its owner wakes it
        goes_on(watching, seen)


def test_a_page_whose_sandbox_was_put_to_sleep_offers_to_wake_it(site: Site, browser: Browser) -> None:
    site.visit("orders")
    other = site.page.context.new_page()
    headers = site.page.evaluate("JSON.parse(document.body.getAttribute('hx-headers'))")
    answer = other.request.post(f"{site.base_url}/s/{site.slug}/keep/sleep/", headers=headers, max_redirects=0)
    assert answer.status == 302, answer.text()
    expect(site.page.locator("#conn")).to_contain_text("Asleep")
    site.page.locator("#notice").get_by_role("button", name="Wake").click()
    expect(site.page.locator("#conn")).to_contain_text("Connected")
    expect(site.page.locator("#notice .banner:visible")).to_have_count(0)
    other.close()
