"""Labs from the link to the receipt without a mouse: each lab's own script plays it with keys.

Nightly: one lab for each form of an action, among those that take less than a minute.
"""

import pytest
from playwright.sync_api import expect

from sandbox.labs.catalogue import LABS
from tests.browser.axe import faults_at_both_widths
from tests.browser.conftest import Site
from tests.browser.keyboard import Keyboard
from tests.browser.lab_hands import KeyboardHands

CHEAPEST = "start-offset"
OF_EACH_FORM = ("crash-and-stop", "members-and-queues", "two-subscriptions", "reset-by-time")
PLAYED = [CHEAPEST, *(pytest.param(slug, marks=pytest.mark.wide) for slug in OF_EACH_FORM)]


def begin(site: Site, lab: str) -> KeyboardHands:
    """From the list of labs, by the link of its pack and the button of its card."""
    page, keys = site.page, Keyboard(site.page)
    page.goto(f"{site.base_url}/labs/")
    keys.push(page.locator(f"#lab-{lab} form button"))
    page.wait_for_url(f"**/labs/{lab}/")
    site.adopt()
    return KeyboardHands(site)


@pytest.mark.parametrize("slug", PLAYED)
def test_a_lab_is_played_by_keyboard_from_its_link_to_its_score(site: Site, slug: str) -> None:
    hands = begin(site, slug)
    LABS[slug].solve(hands)
    panel = hands.panel
    expect(panel.locator("#lab-done")).to_contain_text("100 of 100")
    expect(panel.locator(".dots .met")).to_have_count(len(LABS[slug].steps))
    asked = sum(step.predict is not None for step in LABS[slug].steps)
    expect(panel.locator("#lab-done")).to_contain_text(f"of {asked} prediction")
    expect(panel.locator("footer")).to_have_count(0)
    if slug == CHEAPEST:
        assert faults_at_both_widths(hands.page, within="#lab") == []  # of a lab that is done
