"""Patterns of topics, the option subscribePattern: a regular expression that matches whole names."""

import re

PATTERN = "subscribePattern"
MOST_CHARACTERS = 1_000


def pattern_of(text: str) -> "re.Pattern[str]":
    """Return the compiled pattern.  Raises ValueError with the position of the mistake."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"Option {PATTERN} has {len(text)} characters; the maximum is {MOST_CHARACTERS}.")
    if not text.strip():
        raise ValueError(f"Option {PATTERN} is empty. Write a regular expression for whole names, such as orders-.*.")
    try:
        return re.compile(text)
    except re.error as error:
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ValueError(f"Option {PATTERN} is not a regular expression: {error.msg}{at} of {text}.") from None
    except (RecursionError, OverflowError) as error:
        raise ValueError(f"Option {PATTERN} is not a regular expression: {error}.") from None
