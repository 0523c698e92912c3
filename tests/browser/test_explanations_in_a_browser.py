"""Explanations of a board: of its legend and figures, of a zone of a strip, of the message under the cursor."""

from playwright.sync_api import Browser, expect

from tests.browser.conftest import PHONE, Site


def test_legend_and_figures_are_explained_on_focus_on_hover_and_on_touch(site: Site, browser: Browser) -> None:
    page = site.visit("orders")
    things = page.locator("[data-why]")
    explanation = page.locator(".peek.said")
    assert things.count() == 19, "ten of the legend, six figures, three columns"
    assert page.locator("[id^=why-]").count() == 0, "no part of the first view"
    page.keyboard.press("Tab")
    for thing in things.all():
        words = page.locator(f"#{thing.get_attribute('aria-describedby')}").text_content() or ""
        assert len(words) > 40
    lag = page.get_by_role("button", name="Lag", exact=True)
    lag.focus()
    expect(explanation).to_contain_text("brokerOffset − consumerOffset")
    page.keyboard.press("Escape")
    expect(explanation).to_be_hidden()
    page.locator("#k-again").hover()
    expect(explanation).to_contain_text("reconsumeTimes")
    page.locator("h1, .topbar").first.hover(force=True)
    expect(explanation).to_be_hidden()
    with browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True) as touch:
        phone = touch.new_page()
        phone.goto(page.url)
        phone.get_by_role("button", name="next pull").tap()
        expect(phone.locator(".peek.said")).to_contain_text("PullRequest.nextOffset")
        phone.locator("#k-lag").tap()
        expect(phone.locator(".peek.said")).to_contain_text("brokerOffset")
        phone.locator(".cons").first.tap(position={"x": 4, "y": 4})  # no button, which may be disabled
        expect(phone.locator(".peek.said")).to_be_hidden()


def test_the_cursor_asks_for_the_message_and_a_click_explains_its_zone(site: Site) -> None:
    site.visit("orders")
    site.until("Number(document.querySelector('.q .t-committed')?.textContent) > 6")
    strip = site.page.locator(".q[data-queue='broker-a:0'] qv-strip")
    box = strip.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] - 130, box["y"] + box["height"] / 2
    peek = site.page.locator(".peek:not(.said)")
    site.page.mouse.move(x - 3, y)
    site.until("document.querySelector('.peek:not(.said)')")
    site.page.mouse.move(x, y)
    expect(peek.locator(".msg")).to_contain_text("order-")
    expect(peek).to_contain_text("consumed and committed")
    expect(peek.locator(".more")).to_be_hidden()
    site.page.mouse.click(x, y)
    expect(peek.locator("code:visible")).to_have_text("ConsumerOffsetManager.offsetTable")
    site.page.keyboard.press("Escape")
    expect(peek).to_be_hidden()
    strip.hover()
    site.until("""(() => {
        const strip = document.querySelector("#rows qv-strip");
        const pin = strip.querySelector(".pin").getBoundingClientRect();
        const at = {clientX: pin.x + pin.width / 2, clientY: pin.y + pin.height / 2, bubbles: true};
        strip.dispatchEvent(new PointerEvent("pointermove", at));
        const shown = document.querySelector(".peek:not(.said):not([hidden]) .more:not([hidden]) > :not([hidden])");
        return shown?.textContent.includes("consumerOffset.json");
    })()""")
