"""Typed questions, answered without effect: one module per family."""

from collections.abc import Callable
from importlib import import_module
from inspect import isfunction
from pkgutil import iter_modules
from typing import Any

from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import Question

FAMILIES = tuple(import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))

# A function `(cluster: Cluster, question: KIND) -> …` of a family answers KIND.
ANSWERS: dict[type[Question], Callable[[Cluster, Any], dict[str, Any]]] = {
    function.__annotations__["question"]: function for family in FAMILIES for function in vars(family).values()
    if isfunction(function) and [*function.__annotations__] == ["cluster", "question", "return"]
    and not function.__name__.startswith("_")}


def answer(cluster: Cluster, question: Question) -> dict[str, Any]:
    """Plain values.  Raises ActionRefused when what is asked about is not there."""
    return ANSWERS[type(question)](cluster, question)
