"""Links between nodes: cut, slowed, healed."""

from typing import TYPE_CHECKING

from sandbox.cluster.links import WHOLE
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import CutLink, DelayLink, HealLink
from sandbox.kernel.errors import ActionRefused

if TYPE_CHECKING:
    from sandbox.hosting.sandbox import Sandbox


def cut(sandbox: "Sandbox", action: CutLink) -> CarryOut:
    a, b = _ends(sandbox, action.a, action.b)
    if all(sandbox.links.state(*way).cut for way in _ways(a, b, one_way=action.one_way)):
        raise ActionRefused(409, "The link from {a} to {b} is cut already.", "Heal it first.", a=a, b=b)
    sandbox.links.check_room(a, b)
    return lambda seq, by: sandbox.links.cut(a, b, one_way=action.one_way)


def slow(sandbox: "Sandbox", action: DelayLink) -> CarryOut:
    a, b = _ends(sandbox, action.a, action.b)
    states = [sandbox.links.state(*way) for way in _ways(a, b, one_way=action.one_way)]
    if any(state.cut for state in states):
        raise ActionRefused(409, "The link from {a} to {b} is cut already.", "Heal it first.", a=a, b=b)
    if all(state.delay_ms == action.delay_ms for state in states):
        raise ActionRefused(409, "The link from {a} to {b} takes {delay_ms} ms already.", "Choose another delay.",
                            field="delay_ms", a=a, b=b, delay_ms=action.delay_ms)
    sandbox.links.check_room(a, b)
    return lambda seq, by: sandbox.links.slow(a, b, action.delay_ms, one_way=action.one_way)


def heal(sandbox: "Sandbox", action: HealLink) -> CarryOut:
    a, b = _ends(sandbox, action.a, action.b)
    if all(sandbox.links.state(*way) == WHOLE for way in _ways(a, b, one_way=False)):
        raise ActionRefused(409, "Nothing is wrong with the link from {a} to {b}.", "Choose one that is cut or slow.",
                            a=a, b=b)
    return lambda seq, by: sandbox.links.heal(a, b)


def _ends(sandbox: "Sandbox", a: str, b: str) -> tuple[str, str]:
    one, other = sandbox.whereabouts.node("a", a), sandbox.whereabouts.node("b", b)
    if not sandbox.whereabouts.talk(one, other):
        raise ActionRefused(422, "{a} and {b} do not talk to each other.",
                            "Choose a broker and who talks to it, or a name server and who asks it.", field="b", a=one,
                            b=other)
    return one, other


def _ways(a: str, b: str, *, one_way: bool) -> list[tuple[str, str]]:
    return [(a, b)] if one_way else [(a, b), (b, a)]
