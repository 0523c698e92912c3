"""Actions of unauthenticated visitors on the demo: a few buttons, rate-limited, each undone after a while."""

import logging
import threading

from queueviz import engine
from queueviz.access.policy import Forbidden, counted_as
from queueviz.access.rate_limits import Rate
from queueviz.access.visitor import Visitor
from queueviz.sandboxes.ownership import DEMO_SLUG
from sandbox.control.actions import Action, ChangeActor, CrashActor, RestartActor, SendMessages
from sandbox.control.rights import Actor
from sandbox.kernel.errors import SandboxError

log = logging.getLogger(__name__)

PRESSES = Rate(0.5, 3, what="button presses")  # three at once, then one in two seconds
MOST_MESSAGES = 50
SLOW_WORK_MS = (2_000, 4_000)
USUAL_WORK_MS = {"concurrent": (100, 800), "orderly": (50, 400)}  # as the flights template starts its members
CRASHED_FOR_S = 20.0
SLOW_FOR_S = 30.0
HOST = Actor(role="owner", name="host")

_healing: set[Action] = set()  # what a timer waits to do: of each one, however often it is pressed


def admit(visitor: Visitor, action: Action) -> Action:
    """Return the action as the demo allows it: send, slow, crash or restart, in fixed sizes.

    Raises `Forbidden`, or ActionRefused (429).
    """
    if isinstance(action, SendMessages):
        allowed: Action = SendMessages(topic=action.topic, count=min(action.count or MOST_MESSAGES, MOST_MESSAGES))
    elif isinstance(action, ChangeActor):
        allowed = ChangeActor(actor=action.actor, work_ms=SLOW_WORK_MS)
    elif isinstance(action, CrashActor | RestartActor):
        allowed = action
    else:
        raise Forbidden("This sandbox is shared by all visitors. Start your own sandbox: there you can do anything.")
    PRESSES.demand(counted_as(visitor))
    return allowed


def heal_later(action: Action) -> None:
    """Schedule the action that undoes this one.  Called after the engine has executed the action."""
    if isinstance(action, CrashActor):
        _later(CRASHED_FOR_S, RestartActor(actor=action.actor))
    elif isinstance(action, ChangeActor):
        _later(SLOW_FOR_S, ChangeActor(actor=action.actor, work_ms=USUAL_WORK_MS[_listener_of(action.actor)]))


def _listener_of(actor: str) -> str:
    """Return the listener of a member's group.

    A member without a group gets `concurrent`; its action is refused anyway.
    """
    groups = engine.answer(engine.port().snapshot(DEMO_SLUG))["groups"]
    listeners = (group["listener"] for group in groups for member in group["members"] if member["actor"] == actor)
    return next(listeners, None) or "concurrent"


def _later(after_s: float, action: Action) -> None:
    if action in _healing:
        return
    _healing.add(action)
    timer = threading.Timer(after_s, _heal, args=(action,))
    timer.daemon = True
    timer.start()


def _heal(action: Action) -> None:
    _healing.discard(action)
    if not engine.is_running():
        return
    try:
        engine.answer(engine.port().act(DEMO_SLUG, action, HOST))
    except SandboxError as refused:  # pressed twice: it runs already
        log.debug("demo not mended: %s", refused)
