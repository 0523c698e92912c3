"""Typed questions, answered without effect: one module per family."""

from collections.abc import Callable
from typing import Any

from sandbox.cluster.cluster import Cluster
from sandbox.control import questions
from sandbox.control.questions import Question
from sandbox.queries.questions import cluster, crash, frames, index, messages, rebalance, resets, search, transactions
from sandbox.queries.recent_lag import RecentLag

_BY_KIND: dict[type, Callable[[Any, Any], dict[str, Any]]] = {
    questions.PlanReset: resets.plan,
    questions.PlanRebalance: rebalance.plan,
    questions.PlanCrash: crash.plan,
    questions.RecentLag: lambda cluster, question: cluster.companion(RecentLag).of(question.group, question.topic),
    questions.WalkIndex: index.walk,
    questions.ReadRecord: messages.read_record,
    questions.ReadEntry: messages.read_entry,
    questions.Locate: messages.locate,
    questions.FindMessages: search.find,
    questions.Route: cluster.route,
    questions.OffsetFile: cluster.offset_file,
    questions.StartOffset: cluster.start_offset,
    questions.Frames: frames.frames,
    questions.Transactions: transactions.find,
}


def answer(cluster: Cluster, question: Question) -> dict[str, Any]:
    """Plain values.  Raises ActionRefused when what is asked about is not there."""
    return _BY_KIND[type(question)](cluster, question)
