"""Articles and code: found while one types, in both themes and at 390 px; and the marks beside numbers."""

import re

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.axe import faults, violations
from tests.browser.conftest import DESKTOP, PHONE, Site


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_axe_finds_nothing_in_the_ledger(site: Site, viewport: ViewportSize, language: str) -> None:
    site.page.set_viewport_size(viewport)
    site.page.context.add_cookies([{"name": "django_language", "value": language, "url": site.base_url}])
    site.page.goto(f"{site.base_url}/fidelity/?q=lock")
    assert faults(site.page) == []
    site.page.goto(f"{site.base_url}/fidelity/")
    assert site.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_rows_are_found_while_one_types(site: Site) -> None:
    site.page.goto(f"{site.base_url}/fidelity/")
    expect(site.page.locator("#ledger-count")).to_have_text("221 of 221 rows")
    site.page.keyboard.press("/")
    site.page.keyboard.type("smallest unfinished")
    expect(site.page.locator('[id="0.27"]')).to_be_visible()
    expect(site.page.locator('[id="0.28"]')).to_have_count(0)
    expect(site.page).to_have_url(re.compile(r"q=smallest\+unfinished|q=smallest%20unfinished"))
    site.page.get_by_label("only where they differ").check()
    expect(site.page.locator('[id="0.27"]')).to_be_visible()
    site.page.reload()
    expect(site.page.locator("#ledger-q")).to_have_value("smallest unfinished")


def test_the_ledger_needs_no_script(site: Site) -> None:
    browser = site.page.context.browser
    assert browser is not None
    with browser.new_context(java_script_enabled=False) as quiet:
        page = quiet.new_page()
        page.goto(f"{site.base_url}/fidelity/")
        page.get_by_label("Search").fill("D22")
        page.get_by_role("button", name="Show").click()
        expect(page.locator('[id="2.10"]')).to_be_visible()
        expect(page.locator('[id="2.11"]')).to_have_count(0)


def test_a_mark_opens_with_the_keyboard_and_leads_to_its_row(site: Site) -> None:
    site.visit("payments", "locks/")
    mark = site.page.locator(".lives .differs")
    mark.locator("summary").focus()
    site.page.keyboard.press("Enter")
    expect(mark.locator(".said")).to_contain_text("the TTL (60 s) is the broker's")
    mark.get_by_role("link", name="D42").click()
    expect(site.page).to_have_url(re.compile(r"/fidelity/#D42$"))
    expect(site.page.locator('[id="D42"]')).to_be_in_viewport()


@pytest.mark.parametrize(("template", "path"), [("payments", "locks/"), ("index", "index/"), ("orders", "settings/"),
                                                ("orders", "topics/"), ("orders", "reset/")])  # fmt: skip
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_open_marks_stay_inside_their_page(site: Site, template: str, path: str, viewport: ViewportSize) -> None:
    site.page.set_viewport_size(viewport)
    site.page.emulate_media(reduced_motion="reduce")
    site.visit(template, path)
    site.page.locator(".differs").first.wait_for()
    opened = site.page.evaluate("""() => {
        const marks = [...document.querySelectorAll(".differs")];
        for (const mark of marks) mark.open = true;
        return marks.length;
    }""")
    assert opened > 0
    hidden = site.page.evaluate("""() => [...document.querySelectorAll(".differs .said")]
        .filter((said) => said.getBoundingClientRect().width < 60 || said.scrollWidth > said.clientWidth + 1)
        .map((said) => said.textContent)""")
    assert hidden == []
    wide = site.page.evaluate("""() => document.documentElement.scrollWidth <= innerWidth ? [] :
        [...document.querySelectorAll("main *")].filter((node) => node.getBoundingClientRect().right > innerWidth + 1)
        .map((node) => node.tagName + "." + node.className)""")
    assert wide == []
    assert violations(site.page) == []


def test_the_help_s_marks_have_their_styles_on_the_board_too(site: Site) -> None:
    site.visit("orders")
    site.page.keyboard.press("?")
    mark = site.page.locator("#ask .differs").first
    mark.locator("summary").click()
    expect(mark.locator(".said")).to_have_css("border-inline-start-width", "3px")


def test_shots_of_the_ledger(site: Site, request: pytest.FixtureRequest) -> None:
    where = request.config.getoption("--shots")
    if where is None:
        pytest.skip("no --shots")
    for viewport, size in ((DESKTOP, ""), (PHONE, "-phone")):
        site.page.set_viewport_size(viewport)
        site.page.goto(f"{site.base_url}/fidelity/#0.27")
        for theme in ("light", "dark"):
            site.page.evaluate("(theme) => document.documentElement.dataset.theme = theme", theme)
            site.page.screenshot(path=f"{where}/fidelity{size}-{theme}.png")
