"""Parsers of whole numbers in addresses and forms."""

from sandbox.kernel.errors import ActionRefused

MOST_DIGITS = 18  # as many as every 64-bit number has room for


def whole(text: str, *, digits: int = MOST_DIGITS) -> int | None:
    """Return the number that `text` writes with ASCII digits only, at most `digits` of them.

    None for any other text.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def event_number(text: str, *, field: str | None = None) -> int:
    """Return the event number in `text`.  Raises ActionRefused (422) if `text` is not a number."""
    number = whole(text)
    if number is None:
        raise ActionRefused(422, "An event must be a number.", "Open the Journal and choose an event.", field=field)
    return number
