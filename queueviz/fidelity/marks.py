"""A reader of the marks `@pytest.mark.seed("0.27", …)` in the source of tests, which are not executed.

A mark is recognized on a function, a class, in `pytestmark`, in `pytest.param(marks=…)`, and through a module's own
constant that holds it.  A mark written in another way would be missed, so it is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

MARKER = "seed"


class Mark(NamedTuple):
    row: str
    test: str  # tests/seed/test_offsets_basics.py::test_…, with its class where it has one


class MarkUnread(ValueError):
    """The error of a mark that cannot be read from the source.

    The mark has no row, a computed one, or an unusual position.
    """


def scan(directory: Path, root: Path) -> list[Mark]:
    """Return all marks below `directory`, by file, then in the order of the source.

    Test ids are relative to `root`.
    """
    marks = []
    for path in sorted(directory.rglob("test_*.py")):
        text = path.read_text("utf-8")
        if MARKER in text:
            marks += _Source(path.relative_to(root).as_posix(), ast.parse(text)).marks()
    return marks


def by_row(marks: Iterable[Mark]) -> dict[str, list[str]]:
    """Return the tests by row, each once."""
    tests: dict[str, list[str]] = {}
    for row, test in marks:
        if test not in tests.setdefault(row, []):
            tests[row].append(test)
    return tests


class _Source:
    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name = name
        self.tree = tree
        self.read: set[ast.Call] = set()
        self.constants = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def marks(self) -> list[Mark]:
        marks = list(self._of(self.tree.body, self.name, self._pytestmark(self.tree.body)))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and _is_mark(node) and node not in self.read:
                raise MarkUnread(f"{self.name}:{node.lineno}: this mark belongs to no test that can be read from here")
        return marks

    def _of(self, body: list[ast.stmt], prefix: str, outer: list[str]) -> Iterator[Mark]:
        for node in body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                own = self._rows(node.decorator_list) + self._pytestmark(node.body)
                yield from self._of(node.body, f"{prefix}::{node.name}", outer + own)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
                for row in outer + self._rows(node.decorator_list):
                    yield Mark(row, f"{prefix}::{node.name}")

    def _pytestmark(self, body: list[ast.stmt]) -> list[str]:
        assigned = [
            node.value
            for node in body
            if isinstance(node, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)
        ]
        return self._rows(assigned)

    def _rows(self, expressions: Iterable[ast.expr]) -> list[str]:
        """Return the rows of the marks in decorators, lists of marks, and parameters."""
        rows: list[str] = []
        for expression in expressions:
            if isinstance(expression, ast.Name) and expression.id in self.constants:
                expression = self.constants[expression.id]
            for node in ast.walk(expression):
                if isinstance(node, ast.Call) and _is_mark(node):
                    self.read.add(node)
                    rows += self._arguments(node)
                elif isinstance(node, ast.Name) and node.id in self.constants and node is not expression:
                    rows += self._rows([self.constants[node.id]]) if _holds_mark(self.constants[node.id]) else []
        return rows

    def _arguments(self, call: ast.Call) -> list[str]:
        where = f"{self.name}:{call.lineno}"
        if not call.args or call.keywords:
            raise MarkUnread(f'{where}: name the rows this test shows, as in seed("0.27")')
        rows = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if len(rows) != len(call.args):
            raise MarkUnread(f"{where}: write the rows as plain texts, so that they can be read without running")
        return rows


def _is_mark(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == MARKER
        and (isinstance(call.func.value, ast.Attribute) and call.func.value.attr == "mark")
    )


def _holds_mark(expression: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and _is_mark(node) for node in ast.walk(expression))
