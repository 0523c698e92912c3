"""Typed questions, answered without effect: one module per family."""

from collections.abc import Callable
from typing import Any

from sandbox.cluster.cluster import Cluster
from sandbox.control.handlers import handlers
from sandbox.control.questions import Question

# A public function `(cluster: Cluster, question: KIND) -> …` of a family answers KIND.
ANSWERS: dict[type[Question], Callable[[Cluster, Any], dict[str, Any]]] = handlers(__name__, __path__, Question)


def answer(cluster: Cluster, question: Question) -> dict[str, Any]:
    """Plain values.  Raises ActionRefused when what is asked about is not there."""
    return ANSWERS[type(question)](cluster, question)
