"""A script or a form that a press asks for while the server is away: said, no error, and there with the next press."""

from playwright.sync_api import Route, expect

from tests.browser.conftest import Site


def away(route: Route) -> None:
    route.abort("connectionrefused")


def test_the_reset_dialog_comes_with_the_next_press(site: Site) -> None:
    page = site.visit("orders")
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    press, dialog = page.locator("[data-reset]:visible").first, page.locator("#resetdlg")
    for part in ("**/reset_dialog*.js", "**/reset*.js", "**/part/reset-dialog/**"):
        page.route(part, away)
        press.click()
        expect(page.locator("#toasts")).to_contain_text("The server did not answer. Try again.")
        expect(dialog).to_be_hidden()
        page.evaluate("document.querySelector('#toasts').replaceChildren()")
        page.unroute(part)
    press.click()
    expect(dialog.locator("#rs-form")).to_be_visible()
    assert errors == []
