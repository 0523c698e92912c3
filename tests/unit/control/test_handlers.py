"""Each action has one function that carries it out, each question one that answers: otherwise nothing starts."""

import sys
from pathlib import Path

import pytest

from sandbox.commands import EXECUTORS
from sandbox.control.actions import BY_NAME as ACTIONS
from sandbox.control.handlers import handlers
from sandbox.control.questions import BY_NAME as QUESTIONS
from sandbox.queries.questions import ANSWERS


def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *functions: str) -> dict[str, str]:
    """Names of functions by kind, of a package whose kinds are Open and Close."""
    package = tmp_path / "made_handlers"
    package.mkdir()
    (package / "__init__.py").write_text("class Kind: ...\nclass Open(Kind): ...\nclass Close(Kind): ...\n")
    (package / "doors.py").write_text("from made_handlers import *\n" + "\n".join(functions))
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("made_handlers")]:
        monkeypatch.delitem(sys.modules, name)
    kinds = __import__("made_handlers")
    try:
        made = handlers("made_handlers", [str(package)], kinds.Kind, int)
        return {kind.__name__: function.__name__ for kind, function in made.items()}
    finally:
        for name in [name for name in sys.modules if name.startswith("made_handlers")]:
            del sys.modules[name]


OPENS = "def opens(cluster: str, action: Open) -> int: ..."


def test_every_action_and_every_question_has_its_function() -> None:
    assert set(EXECUTORS) == set(ACTIONS.values())
    assert set(ANSWERS) == set(QUESTIONS.values())


def test_a_function_is_found_by_the_kind_it_takes_whatever_the_parameter_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closes = "def closes(cluster: str, wish: Close) -> int: ..."
    beside = "def _own(cluster: str, action: Open) -> int: ...\ndef says(cluster: str, action: Open) -> str: ..."
    assert found(tmp_path, monkeypatch, OPENS, closes, beside) == {"Open": "opens", "Close": "closes"}


def test_a_kind_without_a_function_is_named_at_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="no public function of made_handlers takes Close"):
        found(tmp_path, monkeypatch, OPENS)


def test_two_functions_of_one_kind_are_named_at_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="Open is taken by opens and again"):
        found(tmp_path, monkeypatch, OPENS, "def again(cluster: str, action: Open) -> int: ...")
