"""Conversion of a run to a Python test: its recipe, and assertions on its journal (docs/notebook.md)."""

from collections import Counter
from collections.abc import Iterable
from pprint import pformat
from typing import Any

WIDTH = 100
PROGRAM = """from collections import Counter

from sandbox import Sandbox

RECIPE = "{recipe}"


def test_events_{first}_to_{last}():
    with Sandbox(recipe=RECIPE) as box:
        rows = [row for row in box.events(after={before}) if row["seq"] <= {last}]
    assert Counter(row["type"] for row in rows) == {counts}
    acts = [(row["seq"], row["action"], row["fields"]) for row in rows if row["type"] == "ActionTaken"]
    assert acts == {acts}
    place = ("group", "topic", "broker", "queue_id")
    commits = (row for row in rows if row["type"] == "OffsetCommitted")
    assert {{tuple(map(row.get, place)): row["offset"] for row in commits}} == {committed}
"""

AGAINST_CLAIM = """from sandbox import Sandbox
from sandbox.simulation.claims import CLAIMS

RECIPE = "{recipe}"


def test_{name}_does_not_always_hold():
    with Sandbox(recipe=RECIPE) as box:
        cases = CLAIMS["{claim}"].against(box.events(), box.snapshot()).cases
    assert str(cases[0]) == {sentence}
    assert len(cases) == {count}
"""


def counterexample_program(recipe: str, claim: str, sentence: str, count: int) -> str:
    """Return the text of a Python test for a run that contradicts a claim: its first case, and their number."""
    name = claim.replace("-", "_")
    return AGAINST_CLAIM.format(recipe=recipe, claim=claim, name=name, sentence=_literal(sentence), count=count)


def program_of(recipe: str, rows: Iterable[dict[str, Any]], first: int, last: int) -> str:
    """Return the text of a Python test for the events `first` to `last`.

    `rows`: the journal's rows of that range, with numbers as numbers.
    """
    counts: Counter[str] = Counter()
    acts: list[tuple[int, str, dict[str, object]]] = []
    committed: dict[tuple[object, ...], int] = {}
    for row in rows:
        counts[row["type"]] += 1
        if row["type"] == "ActionTaken":
            acts.append((row["seq"], row["action"], row["fields"]))
        elif row["type"] == "OffsetCommitted":
            committed[row["group"], row["topic"], row["broker"], row["queue_id"]] = row["offset"]
    return PROGRAM.format(
        recipe=recipe,
        first=first,
        last=last,
        before=first - 1,
        counts=_literal(dict(counts)),
        acts=_literal(acts),
        committed=_literal(committed),
    )


def _literal(value: object) -> str:
    """Return a plain value as a Python literal; a longer one on lines of its own."""
    return pformat(value, width=WIDTH).replace("\n", "\n    ")
