"""Kinds of questions: parsing of answers, and their comparison with the truth.

An answer that cannot be parsed is refused with a sentence (ActionRefused 422); nothing is written then.
"""

import re
from typing import NamedTuple

from sandbox.kernel.errors import ActionRefused

Answer = float | str | tuple[str, ...]

DIGITS_MAX = 18
GROUPED = re.compile(r"[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?")


class Number(NamedTuple):
    """Question for a number.  `within`: allowed error in its unit; `share`: or as a share of the truth."""

    unit: str = ""
    within: float = 0.0
    share: float = 0.0

    def parse(self, text: str) -> Answer:
        """Parse a number with or without groups (by blanks or commas), with a decimal point or comma."""
        plain = "".join(text.split())
        plain = plain.replace(",", "" if GROUPED.fullmatch(plain) else ".")
        try:
            if len(plain) > DIGITS_MAX:
                raise ValueError
            number = float(plain)
            if number != number or number < 0 or number == float("inf"):
                raise ValueError
        except ValueError:
            raise ActionRefused(
                422, "{given} is not a number.", "Enter digits only, such as 12.", field="value", given=_shown(text)
            ) from None
        return number

    def fits(self, answer: Answer, truth: Answer) -> bool:
        assert isinstance(answer, float)
        assert isinstance(truth, float | int)
        return abs(answer - truth) <= self.tolerance(truth)

    def tolerance(self, truth: float) -> float:
        """Return the difference up to which an answer is right, in the question's unit."""
        return max(self.within, abs(truth) * self.share)


class Choice(NamedTuple):
    """Question with options, `options`: value → text."""

    options: tuple[tuple[str, str], ...]

    def parse(self, text: str) -> Answer:
        known = [value for value, _ in self.options]
        if text.strip() not in known:
            raise ActionRefused(
                422,
                "{given} is not one of the answers.",
                "Choose one of: {known}.",
                field="value",
                given=_shown(text),
                known=", ".join(known),
            )
        return text.strip()

    def fits(self, answer: Answer, truth: Answer) -> bool:
        return answer == truth


def choice(**options: str) -> Choice:
    """Make a choice of values and their texts: `choice(memory=_("in the page cache"), disk=_("on its disk"))`."""
    return Choice(tuple(options.items()))


class Order(NamedTuple):
    """Question for an order of `items`, value → text.  An answer names each item once, separated by commas."""

    items: tuple[tuple[str, str], ...]

    def parse(self, text: str) -> Answer:
        parts = tuple(part.strip() for part in text.split(","))
        known = [value for value, _ in self.items]
        if sorted(parts) != sorted(known):
            raise ActionRefused(
                422,
                "{given} does not list each item exactly once.",
                "Put in order: {known}.",
                field="value",
                given=_shown(text),
                known=", ".join(known),
            )
        return parts

    def fits(self, answer: Answer, truth: Answer) -> bool:
        return answer == truth


class EventClick(NamedTuple):
    """Question for a row of the journal; the answer is its number.  The truth is a tuple of all right numbers."""

    def parse(self, text: str) -> Answer:
        plain = "".join(text.split()).lstrip("#")
        if not plain.isascii() or not plain.isdigit() or len(plain) > DIGITS_MAX:
            raise ActionRefused(
                422,
                "{given} is not an event.",
                "Click a row of the journal, or enter its number.",
                field="value",
                given=_shown(text),
            )
        return plain

    def fits(self, answer: Answer, truth: Answer) -> bool:
        return isinstance(truth, tuple) and answer in truth


Kind = Number | Choice | Order | EventClick


def _shown(text: str) -> str:
    return repr(text)[:60]
