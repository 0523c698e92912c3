"""Deliver one stored message again."""

from dataclasses import dataclass
from typing import Annotated

from sandbox.control.actions.action import Action
from sandbox.control.fields import INT64_MAX, Between, Name


@dataclass(frozen=True, kw_only=True)
class ResendMessage(Action):
    """Send a copy as a new message: same topic, body, keys, tags and user properties, to the next queue.

    A message of a retry or dead letter topic goes to the topic it came from.
    """

    verb = "act"
    said = "copy of {topic} {broker}:{queue_id} at {offset} sent"
    topic: Name
    broker: Name
    queue_id: Annotated[int, Between(0, 1_000_000)]
    offset: Annotated[int, Between(0, INT64_MAX)]


@dataclass(frozen=True, kw_only=True)
class ConsumeOnce(Action):
    """Have one member's listener consume it now, from any queue; no offset is committed, no retry follows.

    `client_id` may be a label; `group` is needed where the client is in several.
    """

    verb = "act"
    said = "{topic} {broker}:{queue_id} at {offset} delivered to {client_id} again"
    topic: Name
    broker: Name
    queue_id: Annotated[int, Between(0, 1_000_000)]
    offset: Annotated[int, Between(0, INT64_MAX)]
    client_id: Name
    group: Name | None = None
