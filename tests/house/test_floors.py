"""Imports go down, never up, never sideways (docs/architecture.md)."""

import ast
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parents[2]

# What the web floor may know of the engine.
DOORS = ("sandbox.hosting", "sandbox.control", "sandbox.journal.events", "sandbox.kernel")


def imported(path: Path) -> set[str]:
    """Every module a file imports, with what it takes from packages: `sandbox.journal.events`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_every_floor_rests_on_lower_ones_only(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert outcome == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_the_web_enters_the_engine_by_its_doors() -> None:
    trespassers = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "queueviz").rglob("*.py"))
        for name in imported(path)
        if name.split(".")[0] == "sandbox" and not any(f"{name}.".startswith(f"{door}.") for door in DOORS)
        and path.parent.name != "commands"  # an operator's tool may look at a store directly
    }
    assert not trespassers
