"""Execution of typed actions, one module per family.

Every function validates first and changes later.  It raises ActionRefused, or returns a function that makes the
change, to be called once the journal has the action.
"""

from sandbox.cluster.cluster import Cluster
from sandbox.commands.executors import EXECUTORS
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import Action

EXECUTORS.complete(__name__, __path__)


def prepare(cluster: Cluster, action: Action) -> CarryOut:
    """Validate an action and return the function that executes it.  Raises ActionRefused; then nothing has changed."""
    return EXECUTORS.by_kind[type(action)](cluster, action)
