"""Docstrings begin with what a thing is or does; bindings are nouns of the field, or fewer of them are not."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST = {"What", "Of", "Whether", "How", "Where", "By", "Who", "In", "For", "With", "That"}
VAGUE = {
    "found",
    "given",
    "said",
    "seen",
    "one",
    "place",
    "wanted",
    "who",
    "why",
    "here",
    "there",
    "few",
    "carried",
    "spread",
}
LEFT = 231  # bindings with a vague name: the number only falls
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

TREES = {
    str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8"))
    for top in ("sandbox", "queueviz")
    for path in sorted((ROOT / top).rglob("*.py"))
    if "migrations" not in path.parts
}


def first_words(tree: ast.AST) -> list[str]:
    """Return the docstrings that begin with a word of FIRST and ask nothing."""
    texts = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, DOCUMENTED)]
    return [
        text.splitlines()[0]
        for text in texts
        if (word := re.match(r"\W*(\w+)", text)) and word[1] in FIRST and "?" not in text.split(". ")[0]
    ]


def bindings(tree: ast.AST) -> list[str]:
    """Return the vague names that are bound: variables, parameters, exceptions."""
    names = [
        node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.arg | ast.ExceptHandler)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    ]
    return [name for name in names if name in VAGUE]


def test_no_docstring_begins_with_a_word_that_names_nothing() -> None:
    assert [f"{name}: {text}" for name, tree in TREES.items() for text in first_words(tree)] == []


def test_vague_bindings_become_fewer() -> None:
    counts = Counter({name: len(bindings(tree)) for name, tree in TREES.items()})
    assert counts.total() <= LEFT, f"most are in {counts.most_common(5)}"


def test_a_fragment_a_question_and_a_vague_parameter_are_distinguished() -> None:
    tree = ast.parse(
        'def f(given, rows):\n    """Of rows, the last."""\n    found = rows\n\n\ndef g():\n    """How many?"""\n'
    )
    assert first_words(tree) == ["Of rows, the last."]
    assert sorted(bindings(tree)) == ["found", "given"]
