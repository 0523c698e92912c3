"""Part of a run that becomes a lab: the actions of its setup, the later actions, and the times between them.

If labs were done in the run, only their setup is used.  Changes of the clock's rate are omitted, because a script
waits by the sandbox's own clock.
"""

from collections.abc import Iterable
from typing import NamedTuple

from sandbox.control.actions import (
    Action,
    CutConnection,
    EndTransaction,
    ForceUnlock,
    RestartLab,
    StartLab,
    UndoReset,
    fields_of,
    name_of,
    parse_action,
)
from sandbox.control.branch_orders import RunOrder
from sandbox.journal.events.life import HISTORY
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS

BUILDS = frozenset(
    {"CreateTopic", "ChangeTopic", "ChangeGroup", "ChangeBroker", "SetStrategy", "StartProducer", "StartConsumer"}
)
OF_LABS = frozenset({"AnswerStep", "TakeHint"})
OF_TIME = frozenset({"SetRate", "Step"})
OF_ONE_RUN = (CutConnection, EndTransaction, ForceUnlock, UndoReset)  # they have ids of this run, or need another role
OF_A_PROCESS = "@"  # in a client id, beside its process number
STEPS_MAX = 20


class Later(NamedTuple):
    """Action for a step.

    `waited_ms`: time since the previous action or the setup; `at_ms`: of the sandbox's clock.
    """

    waited_ms: int
    at_ms: int
    action: Action


class SavedRun(NamedTuple):
    """Run as the source of a lab.  `left_out`: names of actions that no other run can execute."""

    name: str
    template: str
    preset: str
    changes: dict[str, object]
    setup: tuple[Action, ...]
    later: tuple[Later, ...]
    left_out: tuple[str, ...]


def saved_run(order: RunOrder, *, name: str, template: str, built: Iterable[Action]) -> SavedRun:
    """Extract the part of a run that becomes a lab.

    `template`: an empty one with the run's nodes; `built`: the actions of the run's own template.  Raises
    ActionRefused (422) if the run has no actions of students, too many, or an unknown lab.
    """
    begun, own, later, left_out = list(built), list[Later](), list[Later](), list[str]()
    changes: dict[str, object] = {}
    attempts: dict[str, int] = {}
    before_ms = order.wall_ms
    for came, at_ms in zip(order.came, order.moments, strict=True):
        if came.fields is None:
            before_ms = at_ms if came.name == HISTORY else before_ms
            continue
        if came.name is None or came.name in OF_LABS | OF_TIME:
            continue
        action = parse_action({**came.fields, "action": came.name})
        if isinstance(action, StartLab | RestartLab):
            attempts[action.lab] = attempts.get(action.lab, 0) + 1
            begun, changes = _of_lab(action.lab, order.seed, attempts[action.lab])
            own, later, left_out = [], [], []
        elif _is_of_one_run(action):
            left_out.append(came.name)
            continue
        else:
            builds = not later and came.name in BUILDS
            (own if builds else later).append(Later(max(0, at_ms - before_ms), at_ms, action))
        before_ms = at_ms
    if own and not later:
        later.append(own.pop())
    if not 0 < len(later) <= STEPS_MAX:
        raise _refused(len(later))
    setup = (*begun, *(done.action for done in own))
    return SavedRun(name, template, order.preset, changes, setup, tuple(later), tuple(left_out))


def _of_lab(slug: str, seed: str, attempt: int) -> tuple[list[Action], dict[str, object]]:
    lab = LABS.get(slug)
    if lab is None:
        raise ActionRefused(
            422,
            "Lab {lab} was done here, and this release does not have it.",
            "Save a sandbox in which this lab was not started.",
            lab=slug,
        )
    return list(lab.setup(lab.numbers(seed, attempt))), dict(lab.changes)


def _is_of_one_run(action: Action) -> bool:
    names = (value for value in fields_of(action).values() if isinstance(value, str))
    return isinstance(action, OF_ONE_RUN) or (
        name_of(action) not in ("SendMessages", "StartProducer") and any(OF_A_PROCESS in value for value in names)
    )


def _refused(count: int) -> ActionRefused:
    if count:
        return ActionRefused(
            422,
            "{count} actions are too many for one lab: each action becomes a step.",
            "Save up to an earlier event, with at most {most} actions.",
            count=count,
            most=STEPS_MAX,
        )
    return ActionRefused(
        422,
        "This sandbox has no action yet that students could do in a step.",
        "On the board, do each action once that students should do. Then save.",
    )
