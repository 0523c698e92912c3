"""Topics, groups, settings, files."""

from dataclasses import dataclass
from typing import Annotated, Any

from sandbox.control.fields import Between, Name

Queues = Annotated[int, Between(0, 64)]
Permission = Annotated[int, Between(0, 7)]


@dataclass(frozen=True, kw_only=True)
class CreateTopic:
    verb = "shape"
    topic: Name
    write_queues: Queues = 8
    read_queues: Queues = 8
    permission: Permission = 6
    scope: Name = "cluster"  # or a broker's name


@dataclass(frozen=True, kw_only=True)
class ChangeTopic:
    verb = "shape"
    topic: Name
    write_queues: Queues | None = None
    read_queues: Queues | None = None
    permission: Permission | None = None
    scope: Name = "cluster"


@dataclass(frozen=True, kw_only=True)
class DeleteTopic:
    verb = "shape"
    topic: Name


@dataclass(frozen=True, kw_only=True)
class ChangeGroup:
    verb = "shape"
    group: Name
    changes: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ChangeBroker:
    verb = "shape"
    broker: Name
    changes: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AgeFiles:
    """Set the files' times back, so that retention treats them as old."""

    verb = "shape"
    broker: Name
    hours: Annotated[float, Between(0, 100_000)]


@dataclass(frozen=True, kw_only=True)
class CleanFiles:
    """Run the file deletion now."""

    verb = "shape"
    broker: Name
