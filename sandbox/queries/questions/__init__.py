"""The answers to typed questions, without side effects: one module per family."""

from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import Question
from sandbox.queries.questions.answers import ANSWERS

ANSWERS.complete(__name__, __path__)


def answer(cluster: Cluster, question: Question) -> dict[str, object]:
    """Return the answer to a question as plain values.  Raises ActionRefused if the subject does not exist."""
    return ANSWERS.by_kind[type(question)](cluster, question)
