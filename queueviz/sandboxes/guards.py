"""The guards of a visitor's action, in their order: each raises a refusal, or returns the action to execute.

An action that passes every guard goes to the engine, which has guards of its own (`sandbox.hosting.guards`).
"""

from collections.abc import Callable

from queueviz.access import policy
from queueviz.access.visitor import Visitor
from queueviz.clusters import cluster_resets
from queueviz.courses import deadlines, pacing
from queueviz.sandboxes import demo
from sandbox.control.actions import Action

Guard = Callable[[Visitor, policy.Visit, Action], Action]


def right(visitor: Visitor, visit: policy.Visit, action: Action) -> Action:
    """Return the action if the visitor's role allows it.  Raises `Forbidden`.  The demo has rules of its own."""
    if not visit.sandbox.of_host and not visit.may_carry_out(action):
        raise cluster_resets.refuse(visitor, visit, action) if visit.is_attached else policy.forbidden(visitor, visit)
    return action


def demo_size(visitor: Visitor, visit: policy.Visit, action: Action) -> Action:
    """Return the action in the size that the demo allows.  Raises `Forbidden`, or ActionRefused (429)."""
    return demo.admit(visitor, action) if visit.sandbox.of_host else action


def deadline(visitor: Visitor, visit: policy.Visit, action: Action) -> Action:
    """Return the action, if it is not a student's after the course's date.  Raises ActionRefused (409)."""
    if visit.role == "student":
        deadlines.check(policy.ours(visit), action)
    return action


def pace(visitor: Visitor, visit: policy.Visit, action: Action) -> Action:
    """Return the action, if it is not a student's answer to a step that is still closed.

    Raises ActionRefused (409).
    """
    pacing.demand(visit.sandbox, visit.role, action)
    return action


GUARDS: tuple[Guard, ...] = (right, demo_size, deadline, pace)


def admit(visitor: Visitor, visit: policy.Visit, action: Action) -> Action:
    """Return the action after all guards.  Raises the refusal of the first guard that refuses it."""
    for guard in GUARDS:
        action = guard(visitor, visit, action)
    return action
