"""A sentence about what was refused: beside its control, and no longer than it is true."""

from playwright.sync_api import Route, expect

from tests.browser.conftest import Site

TOO_FAST = '<div class="refusal" role="alert" tabindex="-1" data-status="429"><span>Too many actions.</span></div>'


def test_what_a_form_said_goes_once_the_form_says_something_else(site: Site) -> None:
    site.visit("orders", "topics/")
    site.page.locator("[data-ask=topic]").first.click()
    dialog = site.page.locator("#ask")
    name = dialog.get_by_role("textbox", name="Topic")
    name.evaluate("(field) => { field.required = false; field.removeAttribute('pattern'); }")  # the server's words
    name.fill("a b")
    dialog.get_by_role("button", name="Create topic").click()
    expect(dialog.get_by_role("alert")).to_be_focused()
    expect(dialog.locator(".refusal")).to_contain_text("illegal characters")
    expect(name).to_have_value("a b")
    name.press("End")
    expect(dialog.locator(".refusal")).to_have_count(1)
    name.press("Backspace")
    expect(dialog.locator(".refusal")).to_have_count(0)


def test_a_refusal_of_the_moment_goes_after_ten_seconds(site: Site) -> None:
    site.visit("orders")

    def refuse(route: Route) -> None:
        route.fulfill(status=429, body=TOO_FAST, content_type="text/html")

    site.page.clock.install()
    site.page.route("**/actions/", refuse)
    site.page.locator(".cons[data-actor=A] [data-act=HangActor]").click()
    said = site.page.locator(".cons[data-actor=A] .refusal")
    expect(said).to_be_focused()
    site.page.clock.run_for(9_000)
    expect(said).to_have_count(1)
    site.page.clock.run_for(1_500)
    expect(said).to_have_count(0)
    site.page.unroute("**/actions/")


def test_a_refusal_goes_when_the_state_it_was_about_has_changed(site: Site) -> None:
    site.start("orders")
    site.page.route("**/actions/", lambda route: route.abort())
    card = site.page.locator(".cons[data-actor=A]")
    card.locator("[data-act=HangActor]").click()
    expect(card.locator(".refusal")).to_contain_text("The server did not answer")
    site.page.unroute("**/actions/")
    assert site.act(action="HangActor", actor="A") == 204
    expect(card.locator(".state .word")).to_have_text("No heartbeat")
    expect(card.locator(".refusal")).to_have_count(0)
