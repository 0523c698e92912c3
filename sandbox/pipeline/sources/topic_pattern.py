"""Patterns of topics, the option subscribePattern: a regular expression that matches whole names."""

import re

from sandbox.message.topic_names import OF_GROUPS, is_system

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


def matches(pattern: "re.Pattern[str]", topic: str) -> bool:
    """Return True if the pattern matches the whole name.

    Topics of groups (retries, dead letters) match only if the pattern begins with %; system topics never match.
    """
    of_group = topic.startswith(OF_GROUPS) and not pattern.pattern.startswith("%")
    return not of_group and not is_system(topic) and pattern.fullmatch(topic) is not None
