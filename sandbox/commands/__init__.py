"""Executes typed actions: one module per family.

Every function validates first and changes later: it raises ActionRefused, or returns a function that makes the change,
to be called once the journal has the action.
"""

import inspect
from collections.abc import Callable
from typing import Any

from sandbox.cluster.cluster import Cluster
from sandbox.commands import (
    divide,
    faults,
    links,
    members,
    messages,
    offsets,
    redeliver,
    time,
    topology_changes,
    transactions,
    wire_clients,
)
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import Action

FAMILIES = (divide, faults, links, members, messages, offsets, redeliver, time, topology_changes, transactions,
            wire_clients)

# A function `(cluster: Cluster, action: KIND) -> CarryOut` of a family executes KIND.
EXECUTORS: dict[type[Action], Callable[[Cluster, Any], CarryOut]] = {
    function.__annotations__["action"]: function for family in FAMILIES
    for function in vars(family).values()
    if inspect.isfunction(function) and [*function.__annotations__] == ["cluster", "action", "return"]
    and function.__annotations__["return"] == CarryOut
}  # fmt: skip


def prepare(cluster: Cluster, action: Action) -> CarryOut:
    """Raises ActionRefused; then nothing has changed."""
    return EXECUTORS[type(action)](cluster, action)
