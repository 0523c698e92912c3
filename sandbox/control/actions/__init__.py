"""All actions on a sandbox, as typed values.

The htmx form and the JSON API both use `parse_action`; only `commands` executes an action.  `verb` of the class is the
right it needs (`control.rights`).
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

from sandbox.control import fields
from sandbox.control.actions.actors import (
    ChangeActor,
    CrashActor,
    HangActor,
    RemoveActor,
    RestartActor,
    ResumeActor,
    RowToSend,
    SendMessages,
    SetStrategy,
    StartConsumer,
    StartProducer,
    StopActor,
    Subscription,
)
from sandbox.control.actions.faults import (
    CutConnection,
    CutLink,
    DelayLink,
    FillDisk,
    ForceUnlock,
    FreeDisk,
    HangBroker,
    HealLink,
    KillBroker,
    PowerCut,
    PromoteSlave,
    ResumeBroker,
    SkewClock,
    StartBroker,
    StartNameServer,
    StopBroker,
    StopNameServer,
)
from sandbox.control.actions.messages import ConsumeOnce, ResendMessage
from sandbox.control.actions.offsets import ExpectedQueue, ResetOffsets, UndoReset
from sandbox.control.actions.shape import (
    AgeFiles,
    ChangeBroker,
    ChangeGroup,
    ChangeTopic,
    CleanFiles,
    CreateTopic,
    DeleteTopic,
)
from sandbox.control.actions.time import SetRate, Step
from sandbox.control.actions.transactions import EndTransaction
from sandbox.kernel.errors import ActionRefused

Action = (
    StartProducer | StartConsumer | ChangeActor | StopActor | CrashActor | RestartActor | RemoveActor | HangActor
    | ResumeActor | SendMessages | ResendMessage | ConsumeOnce | SetStrategy | EndTransaction
    | ResetOffsets | UndoReset
    | CreateTopic | ChangeTopic | DeleteTopic | ChangeGroup | ChangeBroker | AgeFiles | CleanFiles
    | StartBroker | StopBroker | KillBroker | HangBroker | ResumeBroker | PowerCut | PromoteSlave | SkewClock
    | FillDisk | FreeDisk | StartNameServer | StopNameServer | CutLink | HealLink | DelayLink | CutConnection
    | ForceUnlock | SetRate | Step
)  # fmt: skip

BY_NAME: dict[str, type[Action]] = {kind.__name__: kind for kind in get_args(Action)}


def parse_action(given: Mapping[str, Any]) -> Action:
    """`{"action": "CrashActor", "actor": "A"}` → `CrashActor(actor="A")`.

    Raises ActionRefused(422): unknown action, unknown field, missing field, bad value.
    """
    name = given.get("action")
    kind = BY_NAME.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ActionRefused(422, "There is no action {action}.", "Actions are: {known}.", field="action",
                            action=repr(name)[:60], known=", ".join(BY_NAME))
    return fields.build(kind, {key: value for key, value in given.items() if key != "action"})


def name_of(action: Action) -> str:
    return type(action).__name__


def fields_of(action: Action) -> dict[str, Any]:
    """The journal's fields of an action: every field, as JSON values; long lists only by their length."""
    values = asdict(action)
    if isinstance(action, SendMessages) and len(action.rows) > 10:
        values["rows"] = len(action.rows)
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    """A NamedTuple becomes an object."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


__all__ = [
    "BY_NAME",
    "Action",
    "AgeFiles",
    "ChangeActor",
    "ChangeBroker",
    "ChangeGroup",
    "ChangeTopic",
    "CleanFiles",
    "ConsumeOnce",
    "CrashActor",
    "CreateTopic",
    "CutConnection",
    "CutLink",
    "DelayLink",
    "DeleteTopic",
    "EndTransaction",
    "ExpectedQueue",
    "FillDisk",
    "ForceUnlock",
    "FreeDisk",
    "HangActor",
    "HangBroker",
    "HealLink",
    "KillBroker",
    "PowerCut",
    "PromoteSlave",
    "RemoveActor",
    "ResendMessage",
    "ResetOffsets",
    "RestartActor",
    "ResumeActor",
    "ResumeBroker",
    "RowToSend",
    "SendMessages",
    "SetRate",
    "SetStrategy",
    "SkewClock",
    "StartBroker",
    "StartConsumer",
    "StartNameServer",
    "StartProducer",
    "Step",
    "StopActor",
    "StopBroker",
    "StopNameServer",
    "Subscription",
    "UndoReset",
    "fields_of",
    "name_of",
    "parse_action",
]
