"""The answer about the lab in progress (question `lab-state`)."""

from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import LabState
from sandbox.queries.questions.answers import answers
from sandbox.queries.rows.labs import LabView
from sandbox.queries.snapshot.lab import read_lab


@answers(LabState)
def state(cluster: Cluster, question: LabState) -> LabView:
    return read_lab(cluster)
