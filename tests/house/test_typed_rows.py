"""Rows have types: a renamed key of a row is an error of mypy wherever Python reads it."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNTYPED = re.compile(r"\b(?:dict|Mapping)\[\w+(?: \| None)?, Any\]")
LEFT = {"queueviz": 6, "sandbox": 117}  # annotations of untyped rows: the numbers only fall
ROWS = "sandbox.queries.rows."


def untyped(text: str) -> list[str]:
    """Return the annotations of rows whose values can be anything, those behind an alias once."""
    return UNTYPED.findall(text)


def shapes_read(tree: ast.AST) -> list[str]:
    """Return the names of the types with which a board reads its channels (`data_of`)."""
    return [
        ast.unparse(node.args[2])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "data_of"
    ]


def rows_imported(tree: ast.AST) -> set[str]:
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(ROWS)
        for alias in node.names
    }


def test_untyped_rows_become_fewer() -> None:
    for top, left in LEFT.items():
        counts = Counter(
            {
                str(path.relative_to(ROOT)): len(untyped(path.read_text("utf-8")))
                for path in sorted((ROOT / top).rglob("*.py"))
            }
        )
        assert counts.total() <= left, f"{top} has {counts.total()}, most in {counts.most_common(5)}"


def test_every_board_reads_its_channels_as_typed_rows() -> None:
    untyped_reads = []
    for path in sorted((ROOT / "queueviz" / "boards").glob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        untyped_reads += [f"{path.name}: {shape}" for shape in shapes_read(tree) if shape not in rows_imported(tree)]
    assert untyped_reads == []


def test_an_alias_and_a_row_in_a_row_are_counted() -> None:
    assert len(untyped("Row = dict[str, Any]\ndef f(rows: list[Mapping[str, Any]]) -> dict[str, object]: ...")) == 2
    assert shapes_read(ast.parse("data_of(readings, name, dict)")) == ["dict"]
