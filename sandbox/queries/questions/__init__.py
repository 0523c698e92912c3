"""Typed questions, answered without effect: one module per family."""

from typing import Any

from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import Question
from sandbox.queries.questions.answers import ANSWERS

ANSWERS.complete(__name__, __path__)


def answer(cluster: Cluster, question: Question) -> dict[str, Any]:
    """Return plain values.  Raises ActionRefused: the subject of the question does not exist."""
    return ANSWERS.by_kind[type(question)](cluster, question)
