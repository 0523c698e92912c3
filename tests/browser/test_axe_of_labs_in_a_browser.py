"""The panel of a lab in each of its phases, and the forms that labs need: no violation that axe can find."""

from collections.abc import Callable
from functools import partial

import pytest
from playwright.sync_api import expect

from sandbox.labs.catalogue import LABS
from tests.browser.axe import faults_at_both_widths
from tests.browser.conftest import Site
from tests.browser.lab_hands import KeyboardHands
from tests.browser.test_lab_by_keyboard_in_a_browser import CHEAPEST, begin

LAB = "members-and-queues"


def in_phase(phase: str, site: Site) -> None:
    """Of the first step, by actions beside the page, which follows."""
    hands = begin(site, LAB)
    panel, n = hands.panel, hands.numbers

    def answer(part: str, value: object) -> None:
        assert site.act(action="AnswerStep", lab=LAB, step="1", part=part, value=str(value)) == 204

    if phase == "predict":
        return
    answer("predict", n["idle"])
    expect(panel.locator(".seal")).to_be_visible()
    if phase == "do":
        return
    assert site.act(action="StartConsumer", group=n["group"], copies=str(n["members"] - n["at_first"])) == 204
    assert site.act(action="SetRate", rate="20") == 204
    panel.locator(".steps[data-phase=say]").wait_for()
    if phase == "say":
        answer("say", 0)
        expect(panel.locator(".said.wrong")).to_be_visible()
    else:
        answer("say", n["idle"])
        panel.locator(".steps[data-phase=why]").wait_for()


def finished(site: Site) -> None:
    LABS[CHEAPEST].solve(begin(site, CHEAPEST))


def changing(site: Site) -> None:
    """The dialog of a member; that of a producer has one of its fields."""
    hands = KeyboardHands(site)
    site.start("orders")
    hands.keys.push(hands.card("A").locator("[data-act=change]"))
    hands.dialog()


STATES = {**{phase: partial(in_phase, phase) for phase in ("predict", "do", "say", "why")},
          "finished": finished, "changing": changing}  # fmt: skip
EACH = [pytest.param(state, id=name, marks=[] if name == "say" else [pytest.mark.nightly])
        for name, state in STATES.items()]  # fmt: skip


@pytest.mark.parametrize("state", EACH)
def test_axe_finds_nothing_in_a_lab(site: Site, state: Callable[[Site], None]) -> None:
    state(site)
    assert faults_at_both_widths(site.page) == []
