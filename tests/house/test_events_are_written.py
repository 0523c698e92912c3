"""Every event someone may wait for is written somewhere."""

import ast
from pathlib import Path

from sandbox.journal.events import BY_NAME

ROOT = Path(__file__).parents[2]

NOT_YET: dict[str, str] = {}


def written() -> set[str]:
    """Names of events that are built by calling them, anywhere but where they are declared."""
    names: set[str] = set()
    for path in (ROOT / "sandbox").rglob("*.py"):
        if "events" in path.relative_to(ROOT).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                names.add(node.func.id)
    return names & set(BY_NAME)


def test_every_event_is_written_or_says_why_not() -> None:
    assert set(BY_NAME) - written() == set(NOT_YET)
