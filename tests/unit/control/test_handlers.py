"""Each action has one function that carries it out, each question one that answers: otherwise nothing starts."""

import pytest

from sandbox.commands.executors import EXECUTORS
from sandbox.control.actions import BY_NAME as ACTIONS
from sandbox.control.handlers import Handlers
from sandbox.control.questions import BY_NAME as QUESTIONS
from sandbox.queries.questions.answers import ANSWERS


class Request: ...


class Open(Request): ...


class Close(Request): ...


def opens(cluster: str, request: Open) -> int:
    return len(cluster)


def test_every_action_and_every_question_has_its_function() -> None:
    assert set(EXECUTORS.by_kind) == set(ACTIONS.values())
    assert set(ANSWERS.by_kind) == set(QUESTIONS.values())


def test_a_kind_without_a_function_is_named_at_import() -> None:
    handlers: Handlers[Request, int] = Handlers(Request)
    assert handlers.takes(Open)(opens) is opens
    with pytest.raises(TypeError, match="no function of house takes Close"):
        handlers.complete("house", [])


def test_two_functions_of_one_kind_are_named_at_import() -> None:
    handlers: Handlers[Request, int] = Handlers(Request)
    handlers.takes(Open)(opens)
    with pytest.raises(TypeError, match="Open is taken by opens and opens"):
        handlers.takes(Open)(opens)
