"""Actions on a sandbox, as typed values.

The htmx form and the JSON API both use `parse_action`; only `commands` executes an action.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sandbox.control import fields
from sandbox.control.actions.action import Action as Action
from sandbox.control.actions.actors import *  # noqa: F403
from sandbox.control.actions.actors import SendMessages
from sandbox.control.actions.faults import *  # noqa: F403
from sandbox.control.actions.labs import *  # noqa: F403
from sandbox.control.actions.messages import *  # noqa: F403
from sandbox.control.actions.offsets import *  # noqa: F403
from sandbox.control.actions.time import *  # noqa: F403
from sandbox.control.actions.topology_changes import *  # noqa: F403
from sandbox.control.actions.transactions import *  # noqa: F403
from sandbox.kernel.errors import ActionRefused

BY_NAME: dict[str, type[Action]] = {kind.__name__: kind for kind in Action.__subclasses__()}


def parse_action(document: Mapping[str, object]) -> Action:
    """Return the action of a document: `{"action": "CrashActor", "actor": "A"}` → `CrashActor(actor="A")`.

    Raises ActionRefused (422) for an unknown action, an unknown or missing field, or an invalid value.
    """
    name = document.get("action")
    kind = BY_NAME.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ActionRefused(
            422,
            "Action {action} does not exist.",
            "Available actions: {known}.",
            field="action",
            action=repr(name)[:60],
            known=", ".join(BY_NAME),
        )
    return fields.build(kind, {key: value for key, value in document.items() if key != "action"})


def name_of(action: Action) -> str:
    return type(action).__name__


def fields_of(action: Action, *, whole: bool = False) -> dict[str, object]:
    """Return the fields of an action for the journal, as JSON values.

    Unless `whole`, a long list is replaced by its length.
    """
    values = asdict(action)
    if isinstance(action, SendMessages) and len(action.rows) > 10 and not whole:
        values["rows"] = len(action.rows)
    left_out = {name for name in action.added if values[name] == getattr(type(action), name)}
    return {name: _plain(value) for name, value in values.items() if name not in left_out}


def _plain(value: Any) -> Any:
    """Convert NamedTuples to objects and tuples to lists, recursively."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
