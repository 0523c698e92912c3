"""The lag of the last minutes (question `recent-lag`)."""

from sandbox.cluster.cluster import Cluster
from sandbox.control import questions
from sandbox.queries.questions.answers import answers
from sandbox.queries.recent_lag import RecentLag


@answers(questions.RecentLag)
def recent_lag(cluster: Cluster, question: questions.RecentLag) -> dict[str, object]:
    return cluster.companion(RecentLag).of(question.group, question.topic)
