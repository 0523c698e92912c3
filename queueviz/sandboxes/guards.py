"""The guards of a visitor's action, in their order: each refuses, or returns the action that may go on.

An action that every guard lets pass goes to the engine, which has guards of its own (`sandbox.hosting.guards`).
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
    """Let pass what the visitor's role may carry out.  Raises `Forbidden`.  The demo has rules of its own."""
    if not visit.sandbox.of_host and not visit.may_carry_out(action):
        raise cluster_resets.refuse(visitor, visit, action) if visit.is_attached else policy.forbidden(visitor, visit)
    return action


def demo_size(visitor: Visitor, visit: policy.Visit, action: Action) -> Action:
    """Return the action in the size that the demo allows.  Raises `Forbidden`, or ActionRefused (429)."""
    return demo.admit(visitor, action) if visit.sandbox.of_host else action


def deadline(visitor: Visitor, visit: policy.Visit, action: Action) -> Action:
    """Let pass a student's action before the course's date.  Raises ActionRefused (409)."""
    if visit.role == "student":
        deadlines.check(policy.ours(visit), action)
    return action


def pace(visitor: Visitor, visit: policy.Visit, action: Action) -> Action:
    """Let pass a student's answer to a step that the teacher has opened.  Raises ActionRefused (409)."""
    pacing.demand(visit.sandbox, visit.role, action)
    return action


GUARDS: tuple[Guard, ...] = (right, demo_size, deadline, pace)


def admit(visitor: Visitor, visit: policy.Visit, action: Action) -> Action:
    """Return the action as all guards let it pass.  Raises what the first of them raises that does not."""
    for guard in GUARDS:
        action = guard(visitor, visit, action)
    return action
