"""Articles and code: rows found while one types, and the marks beside numbers that lead to them."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import Site


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


def test_a_mark_opens_with_the_keyboard_and_leads_to_its_row(site: Site) -> None:
    site.visit("payments", "locks/")
    mark = site.page.locator(".lives .differs")
    mark.locator("summary").focus()
    site.page.keyboard.press("Enter")
    expect(mark.locator(".said")).to_contain_text("the TTL (60 s) is the broker's")
    mark.get_by_role("link", name="D42").click()
    expect(site.page).to_have_url(re.compile(r"/fidelity/#D42$"))
    expect(site.page.locator('[id="D42"]')).to_be_in_viewport()
