"""Answers as they are typed, and whether they fit."""

import pytest

from sandbox.kernel.errors import ActionRefused
from sandbox.labs.evidence import Evidence
from sandbox.labs.lab import Question, Truth
from sandbox.labs.question_kinds import Choice, EventClick, Kind, Number, Order, choice

COLOURS = choice(red="Red", blue="Blue")
STATIONS = Order((("slot", "Slot"), ("chain", "Chain"), ("log", "Log")))


@pytest.mark.parametrize(
    ("kind", "text", "answer"),
    [
        (Number(), " 12 ", 12.0),
        (Number(), "1 024", 1024.0),
        (Number(), "2,5", 2.5),
        (Number(), "1,024", 1024.0),
        (Number(), "0,125", 0.125),
        (Number(), "0", 0.0),
        (COLOURS, "red ", "red"),
        (STATIONS, "slot, chain,log", ("slot", "chain", "log")),
        (EventClick(), "#18 402", "18402"),
        (EventClick(), "7", "7"),
    ],
)
def test_an_answer_is_read_as_it_was_meant(kind: Kind, text: str, answer: object) -> None:
    assert kind.parse(text) == answer


@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        (Number(), "seven", "'seven' is not a number."),
        (Number(), "-1", "'-1' is not a number."),
        (Number(), "nan", "'nan' is not a number."),
        (Number(), "1e999", "'1e999' is not a number."),
        (Number(), "9" * 40, f"{'9' * 40!r} is not a number."),
        (Number(), "", "'' is not a number."),
        (COLOURS, "green", "'green' is not one of the answers."),
        (STATIONS, "slot, slot, log", "'slot, slot, log' does not list each item exactly once."),
        (EventClick(), "the crash", "'the crash' is not an event."),
        (EventClick(), "²", "'²' is not an event."),
    ],
)
def test_an_answer_that_cannot_be_read_is_refused_with_a_hint(kind: Kind, text: str, sentence: str) -> None:
    with pytest.raises(ActionRefused) as caught:
        kind.parse(text)
    assert (caught.value.status, caught.value.field, str(caught.value)) == (422, "value", sentence)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("kind", "given", "truth", "fits"),
    [
        (Number(), 7.0, 7.0, True),
        (Number(), 7.0, 8.0, False),
        (Number(within=2), 7.0, 9.0, True),
        (Number(within=2), 7.0, 9.5, False),
        (Number(share=0.1), 90.0, 100.0, True),
        (Number(share=0.1), 89.0, 100.0, False),
        (Number(within=5, share=0.1), 4.0, 0.0, True),
        (COLOURS, "red", "red", True),
        (COLOURS, "red", "blue", False),
        (STATIONS, ("slot", "chain", "log"), ("chain", "slot", "log"), False),
        (EventClick(), "18", ("17", "18"), True),
        (EventClick(), "19", ("17", "18"), False),
        (EventClick(), "1", (), False),
    ],
)
def test_an_answer_fits_within_its_tolerance(kind: Kind, given: object, truth: object, fits: bool) -> None:
    assert kind.fits(given, truth) is fits  # type: ignore[arg-type]  # of its own kind


def test_a_wrong_value_is_shown_what_it_rests_on_and_a_wrong_click_is_not_given_the_answer() -> None:
    seen = Question(text="How many?", kind=Number(), right=lambda evidence: Truth(3.0, (7,)), again="Look again.")
    assert seen.judge(Evidence({}), 2.0).rests_on == (7,)
    click = Question(text="Which?", kind=EventClick(), right=lambda evidence: Truth(("7",), (7,)), again="Not this.")
    assert click.judge(Evidence({}), "6").rests_on == ()
    assert click.judge(Evidence({}), "7").rests_on == (7,)


def test_a_choice_has_its_options_in_the_order_in_which_they_are_written() -> None:
    assert Choice((("red", "Red"), ("blue", "Blue"))) == COLOURS
