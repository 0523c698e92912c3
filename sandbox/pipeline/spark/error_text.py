"""Spark's error message about a query or a value, without its condition, state and plan.

Its form is `[NAME] text. SQLSTATE: …`.
"""

import re

LONGEST = 300  # characters of a sentence from Spark

_SAID = re.compile(
    r"\[(?!TASK_WRITE_FAILED)[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)?\] (.+?) "
    r"SQLSTATE: \w+([^\n]*(?:\n== SQL[^\n]*)?)",
    re.DOTALL,
)
_PLACE = re.compile(r"line (\d+),? pos(ition)? (\d+)")  # Spark's `pos` counts from 0, its `position` from 1


def of_spark(text: str, *, of: str = "the query") -> str | None:
    """Return one sentence that begins with the position of the error, or None if the text has no message of Spark.

    Lines and characters count from 1.  `of`: the text in which the position is.
    """
    if not (matches := _SAID.findall(text)):
        return None
    what, rest = matches[-1]
    what = " ".join(what.split())[:LONGEST].rstrip(".")
    if position := _PLACE.search(rest):
        return f"Line {position[1]}, character {int(position[3]) + (not position[2])} of {of}: {what}."
    return f"{what}."
