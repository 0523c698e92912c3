"""A class live: a teacher at the grid breaks, freezes and heals what a student at the lab sees happen."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import faults_at_both_widths
from tests.browser.conftest import DESKTOP, PHONE, Site


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
