"""Executes typed actions: one module per family.

Every function validates first and changes later: it raises ActionRefused, or returns a function that makes the change,
to be called once the journal has the action.
"""

from collections.abc import Callable
from typing import Any

from sandbox.cluster.cluster import Cluster
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import Action
from sandbox.control.handlers import handlers

# A public function `(cluster: Cluster, action: KIND) -> CarryOut` of a family executes KIND.
EXECUTORS: dict[type[Action], Callable[[Cluster, Any], CarryOut]] = handlers(__name__, __path__, Action, CarryOut)


def prepare(cluster: Cluster, action: Action) -> CarryOut:
    """Raises ActionRefused; then nothing has changed."""
    return EXECUTORS[type(action)](cluster, action)
