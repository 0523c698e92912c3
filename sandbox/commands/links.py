"""Actions on links between nodes: cut, delay, heal."""

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.links import WHOLE
from sandbox.commands.executors import executes
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import CutLink, DelayLink, HealLink
from sandbox.kernel.errors import ActionRefused


@executes(CutLink)
def cut(cluster: Cluster, action: CutLink) -> CarryOut:
    a, b = _ends(cluster, action.a, action.b)
    if all(cluster.links.state(*way).cut for way in _ways(a, b, one_way=action.one_way)):
        raise ActionRefused(409, "The link from {a} to {b} is already cut.", "Heal the link first.", a=a, b=b)
    cluster.links.check_room(a, b)
    return lambda seq, by: cluster.links.cut(a, b, one_way=action.one_way)


@executes(DelayLink)
def slow(cluster: Cluster, action: DelayLink) -> CarryOut:
    a, b = _ends(cluster, action.a, action.b)
    states = [cluster.links.state(*way) for way in _ways(a, b, one_way=action.one_way)]
    if any(state.cut for state in states):
        raise ActionRefused(409, "The link from {a} to {b} is already cut.", "Heal the link first.", a=a, b=b)
    if all(state.delay_ms == action.delay_ms for state in states):
        raise ActionRefused(
            409,
            "The link from {a} to {b} already has a delay of {delay_ms} ms.",
            "Choose another delay.",
            field="delay_ms",
            a=a,
            b=b,
            delay_ms=action.delay_ms,
        )
    cluster.links.check_room(a, b)
    return lambda seq, by: cluster.links.slow(a, b, action.delay_ms, one_way=action.one_way)


@executes(HealLink)
def heal(cluster: Cluster, action: HealLink) -> CarryOut:
    a, b = _ends(cluster, action.a, action.b)
    if all(cluster.links.state(*way) == WHOLE for way in _ways(a, b, one_way=False)):
        raise ActionRefused(409, "The link from {a} to {b} has no fault.", "Choose a cut or slow link.", a=a, b=b)
    return lambda seq, by: cluster.links.heal(a, b)


def _ends(cluster: Cluster, a: str, b: str) -> tuple[str, str]:
    first, other = cluster.node_names.node("a", a), cluster.node_names.node("b", b)
    if not cluster.node_names.talk(first, other):
        raise ActionRefused(
            422,
            "{a} and {b} do not communicate.",
            "Choose a broker and one of its peers, or a name server and one of its clients.",
            field="b",
            a=first,
            b=other,
        )
    return first, other


def _ways(a: str, b: str, *, one_way: bool) -> list[tuple[str, str]]:
    return [(a, b)] if one_way else [(a, b), (b, a)]
