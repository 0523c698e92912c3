"""Whole numbers as addresses and forms name them."""

from sandbox.kernel.errors import ActionRefused

MOST_DIGITS = 18  # as many as every 64-bit number has room for


def whole(text: str, *, digits: int = MOST_DIGITS) -> int | None:
    """Return the number of ASCII digits alone; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def event_number(text: str, *, field: str | None = None) -> int:
    """Raises ActionRefused (422)."""
    number = whole(text)
    if number is None:
        raise ActionRefused(422, "An event must be a number.", "Open the Journal and choose an event.", field=field)
    return number
