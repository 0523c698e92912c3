"""A class live: a teacher at the grid breaks, freezes and heals what a student at the lab sees happen."""

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.axe import faults_at_both_widths
from tests.browser.conftest import DESKTOP, PHONE, Site, Wire


@pytest.fixture
def grid(site: Site, course: str, lab: Page) -> Page:
    """A grid with the student's tile."""
    site.page.goto(f"{course}live/")
    site.page.locator(".app[data-conn=connected]").wait_for()
    expect(site.page.locator(".tile[data-state=working]")).to_have_count(1)
    return site.page


def answered(grid: Page, text: str) -> None:
    expect(grid.locator("#broadcast-answer")).to_contain_text(text)


def test_a_broadcast_a_freeze_a_healing_and_a_teacher_in_control_reach_the_student(grid: Page, lab: Page) -> None:
    grid.locator("#crash").click()
    answered(grid, "Crash one member: 1 sandbox")
    expect(lab.locator("#hold")).to_contain_text("Your teacher crashed A in every sandbox.")
    expect(grid.locator(".tile .effect")).to_contain_text("A crashed.")
    expect(lab.locator(".cons[data-actor=A]")).to_contain_text("Crashed")
    grid.keyboard.press("Shift+B")
    answered(grid, "Freeze all: 1 sandbox")
    expect(lab.locator("#hold")).to_contain_text("Your teacher stopped time for all students.")
    expect(grid.locator(".tile .word")).to_contain_text("time stopped")
    grid.keyboard.press("Shift+B")
    answered(grid, "Continue: 1 sandbox")
    expect(lab.locator("#hold")).to_contain_text("Your teacher started time again")
    grid.locator("#heal").click()
    answered(grid, "Heal all: 1 sandbox")
    expect(lab.locator(".cons[data-actor=A]")).to_contain_text("Running")

    tile = grid.locator(".tile")
    tile.focus()
    grid.keyboard.press("Enter")
    expect(grid.locator("#student-title")).to_have_text("Otter")
    expect(grid.locator("#student-rows .q").first).to_be_visible()
    expect(grid.locator("#student-members")).to_contain_text("A: Running")
    grid.locator("#take").click()
    expect(lab.locator("#hold")).to_contain_text("Your teacher controls this sandbox.")
    expect(grid.locator("#take")).to_have_text("Return control")
    grid.locator("#take").click()
    expect(lab.locator("#hold")).to_contain_text("Your teacher returned control to you.")
    grid.keyboard.press("Escape")
    expect(tile).to_be_focused()


def test_the_grid_is_clean_holds_sixty_tiles_and_names_no_student_on_the_wall(grid: Page) -> None:
    grid.add_init_script("addEventListener('DOMContentLoaded', () => document.querySelector('.tile').click())")
    grid.reload()  # a click before the first reading is painted
    expect(grid.locator("#student-rows .q").first).to_be_visible()
    assert faults_at_both_widths(grid) == []
    grid.set_viewport_size(DESKTOP)
    grid.keyboard.press("p")
    assert "Otter" not in grid.locator("body").inner_text()
    grid.keyboard.press("p")
    grid.reload()
    expect(grid.locator(".tile[data-state=working]")).to_have_count(1)
    grid.evaluate("""() => {
        const tiles = document.querySelector("#tiles");
        for (let n = 1; n < 60; n++) tiles.append(tiles.firstElementChild.cloneNode(true));
    }""")
    cards = grid.locator(".gridmain > .card, .gridside > .card").all()
    for size in (DESKTOP, PHONE):
        grid.set_viewport_size(size)
        cut_px = [
            card.evaluate("(card) => card.scrollHeight - card.clientHeight") for card in cards if card.is_visible()
        ]
        assert cut_px
        assert not any(cut_px)
        assert grid.evaluate("document.documentElement.scrollWidth <= innerWidth")


def begun_by(pseudonym: str, grid: Page, browser: Browser) -> BrowserContext:
    """A further student, who has begun the lab; the caller closes the browser."""
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    course = grid.url.removesuffix("live/")
    page.goto(f"{course.split('/c/')[0]}/join/?code={grid.locator('.joincode').inner_text()}")
    page.locator("[name=pseudonym]").fill(pseudonym)
    page.locator("main form .primary").click()
    page.wait_for_url(course)
    page.locator(".worklist button").first.click()
    page.locator(".app[data-conn=connected]").wait_for()
    return context


def test_a_broadcast_reaches_the_selected_students_only(grid: Page, lab: Page, browser: Browser) -> None:
    others = [begun_by(name, grid, browser) for name in ("Lynx", "Wren")]
    tiles, preview = grid.locator(".tile"), grid.locator("#preview")
    expect(preview).to_contain_text("Reaches 3 sandboxes.")
    tiles.nth(0).click(modifiers=["Control"])
    expect(grid.locator("#selected")).to_have_text("1 student selected")
    expect(preview).to_contain_text("Reaches 1 sandbox.")
    tiles.nth(2).click(modifiers=["Shift"])
    expect(preview).to_contain_text("Reaches 3 sandboxes.")
    tiles.nth(0).focus()
    grid.keyboard.press("x")
    expect(preview).to_contain_text("Reaches 2 sandboxes.")
    expect(tiles.locator(".tick")).to_have_text(["✓", "✓"])
    expect(tiles.nth(1)).to_have_attribute("aria-label", re.compile("Lynx, selected"))
    expect(grid.locator("#freeze")).to_contain_text("Freeze 2")
    grid.locator("#crash").click()
    answered(grid, "Crash one member: 2 sandboxes")
    expect(tiles.nth(1).locator(".effect")).to_contain_text("crashed")
    expect(tiles.nth(0).locator(".effect")).to_have_count(0)
    assert faults_at_both_widths(grid) == []
    grid.set_viewport_size(DESKTOP)

    tiles.nth(2).focus()
    grid.keyboard.press(" ")
    expect(preview).to_contain_text("Reaches 1 sandbox.")
    grid.keyboard.press("Shift+B")
    answered(grid, "Freeze all: 1 sandbox")
    expect(others[0].pages[0].locator("#hold")).to_contain_text("Your teacher stopped time in your sandbox.")
    expect(lab.locator("#hold")).to_be_hidden()
    expect(grid.locator("#freeze")).to_contain_text("Continue")
    grid.keyboard.press("Escape")
    expect(tiles.locator(".tick")).to_have_count(0)
    expect(grid.locator("#selection")).to_be_hidden()
    expect(preview).to_contain_text("Reaches 3 sandboxes.")

    grid.locator("#twin-toggle").click()
    grid.get_by_label("Select Wren").check()
    expect(preview).to_contain_text("Reaches 1 sandbox.")
    for other in others:
        other.close()


def test_the_teacher_writes_a_note_before_the_first_reading_and_it_is_kept(wire: Wire, grid: Page) -> None:
    wire.cut()
    grid.reload()  # the tiles are the server's until the socket brings a reading
    grid.locator(".tile").click()
    grid.locator("#note").fill("Ask about queue 3")
    wire.mend()
    expect(grid.locator("#student-title")).to_have_text("Otter")
    grid.get_by_role("button", name="Save note").click()
    expect(grid.locator("#student-note .answer")).to_have_text("Note saved.")
    grid.reload()
    grid.locator(".tile").click()
    expect(grid.locator("#note")).to_have_value("Ask about queue 3")
