"""Actions that deliver one stored message again."""

from dataclasses import dataclass
from typing import Annotated

from sandbox.control.actions.action import Action
from sandbox.control.fields import INT64_MAX, Between, Name


@dataclass(frozen=True, kw_only=True)
class ResendMessage(Action):
    """Send a copy as a new message: same topic, body, keys, tags and user properties, next queue.

    A copy of a message in a retry or dead letter topic goes to the original topic.
    """

    verb = "act"
    said = "copy of {topic} {broker}:{queue_id} at {offset} sent"
    topic: Name
    broker: Name
    queue_id: Annotated[int, Between(0, 1_000_000)]
    offset: Annotated[int, Between(0, INT64_MAX)]


@dataclass(frozen=True, kw_only=True)
class ConsumeOnce(Action):
    """Have the listener of one member consume a message of any queue now, without a commit and without a retry.

    `client_id` may be a label.  A client in several groups needs `group`.
    """

    verb = "act"
    said = "{topic} {broker}:{queue_id} at {offset} delivered to {client_id} again"
    topic: Name
    broker: Name
    queue_id: Annotated[int, Between(0, 1_000_000)]
    offset: Annotated[int, Between(0, INT64_MAX)]
    client_id: Name
    group: Name | None = None
