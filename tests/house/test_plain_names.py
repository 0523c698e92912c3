"""Docstrings begin with what a thing is or does; bindings are nouns of the field, or fewer of them are not."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Mapping
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
LEFT = 220  # bindings with a vague name, but keys of rows: the number only falls
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


def row_types(trees: Mapping[str, ast.AST]) -> dict[str, set[str]]:
    """Return the names of the rows by file: TypedDicts, and the classes that extend one of the file or an import."""
    rows: dict[str, set[str]] = {path: {"TypedDict"} for path in trees}
    before = -1
    while before != (before := sum(map(len, rows.values()))):
        for path, tree in trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom):
                    source = f"{(node.module or '').replace('.', '/')}.py"
                    rows[path] |= {
                        alias.asname or alias.name for alias in node.names if alias.name in rows.get(source, ())
                    }
                elif isinstance(node, ast.ClassDef) and {ast.unparse(base) for base in node.bases} & rows[path]:
                    rows[path].add(node.name)
    return rows


def bindings(tree: ast.AST, rows: Collection[str] = ()) -> list[str]:
    """Return the vague names that are bound: variables, parameters, exceptions, but no keys of rows.

    Templates, scripts and recordings name those keys, too.  `rows`: the classes that are rows.
    """
    keys = {
        id(field.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name in rows
        for field in node.body
        if isinstance(field, ast.AnnAssign)
    }
    names = [
        node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.arg | ast.ExceptHandler)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in keys)
    ]
    return [name for name in names if name in VAGUE]


def test_no_docstring_begins_with_a_word_that_names_nothing() -> None:
    assert [f"{name}: {text}" for name, tree in TREES.items() for text in first_words(tree)] == []


def test_vague_bindings_become_fewer() -> None:
    rows = row_types(TREES)
    counts = Counter({name: len(bindings(tree, rows[name])) for name, tree in TREES.items()})
    assert counts.total() <= LEFT, f"most are in {counts.most_common(5)}"


def test_a_fragment_a_question_and_a_vague_parameter_are_distinguished() -> None:
    tree = ast.parse(
        'def f(given, rows):\n    """Of rows, the last."""\n    found = rows\n\n\ndef g():\n    """How many?"""\n'
    )
    assert first_words(tree) == ["Of rows, the last."]
    assert sorted(bindings(tree)) == ["found", "given"]


def test_the_key_of_a_row_is_no_binding() -> None:
    trees = {
        "rows.py": ast.parse("class Row(TypedDict):\n    who: str\n"),
        "lines.py": ast.parse(
            "from rows import Row\n\n\nclass Line(Row):\n    why: str\n\n\nclass Pair(NamedTuple):\n    who: str\n"
        ),
    }
    rows = row_types(trees)
    assert [bindings(tree, rows[path]) for path, tree in trees.items()] == [[], ["who"]]
