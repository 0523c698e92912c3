"""Executes typed actions: one module per family.

Every function validates first and changes later: it raises ActionRefused, or returns a function that makes the change,
to be called once the journal has the action.
"""

from collections.abc import Callable
from importlib import import_module
from inspect import isfunction
from pkgutil import iter_modules
from typing import Any

from sandbox.cluster.cluster import Cluster
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import Action

FAMILIES = tuple(import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))

# A function `(cluster: Cluster, action: KIND) -> CarryOut` of a family executes KIND.
EXECUTORS: dict[type[Action], Callable[[Cluster, Any], CarryOut]] = {
    function.__annotations__["action"]: function for family in FAMILIES
    for function in vars(family).values()
    if isfunction(function) and [*function.__annotations__] == ["cluster", "action", "return"]
    and function.__annotations__["return"] == CarryOut
}  # fmt: skip


def prepare(cluster: Cluster, action: Action) -> CarryOut:
    """Raises ActionRefused; then nothing has changed."""
    return EXECUTORS[type(action)](cluster, action)
