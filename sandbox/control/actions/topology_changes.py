"""Actions on topics, groups, settings and files."""

from dataclasses import dataclass
from typing import Annotated, Any

from sandbox.control.actions.action import Action
from sandbox.control.fields import Between, Name

Queues = Annotated[int, Between(0, 64)]
Permission = Annotated[int, Between(0, 7)]


@dataclass(frozen=True, kw_only=True)
class CreateTopic(Action):
    verb = "shape"
    said = "topic {topic} created"
    topic: Name
    write_queues: Queues = 8
    read_queues: Queues = 8
    permission: Permission = 6
    scope: Name = "cluster"  # or a broker's name


@dataclass(frozen=True, kw_only=True)
class ChangeTopic(Action):
    verb = "shape"
    said = "topic {topic} changed"
    topic: Name
    write_queues: Queues | None = None
    read_queues: Queues | None = None
    permission: Permission | None = None
    scope: Name = "cluster"


@dataclass(frozen=True, kw_only=True)
class DeleteTopic(Action):
    verb = "shape"
    said = "topic {topic} deleted"
    topic: Name


@dataclass(frozen=True, kw_only=True)
class ChangeGroup(Action):
    verb = "shape"
    said = "settings of {group} changed"
    group: Name
    changes: dict[str, object]


@dataclass(frozen=True, kw_only=True)
class ChangeBroker(Action):
    verb = "shape"
    said = "settings of {broker} changed"
    broker: Name
    changes: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AgeFiles(Action):
    """Set the times of the files back by `hours`, so that retention treats them as old."""

    verb = "shape"
    said = "files of {broker} aged by {hours} h"
    broker: Name
    hours: Annotated[float, Between(0, 100_000)]


@dataclass(frozen=True, kw_only=True)
class CleanFiles(Action):
    """Delete expired files of a broker now."""

    verb = "shape"
    said = "old files of {broker} deleted"
    broker: Name
