"""Orders for a branch: another sandbox's run up to an event, its template's run with another seed, or a run as text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sandbox.control.actions import Action


@dataclass(frozen=True, kw_only=True)
class BranchOrder:
    """The run of `parent` up to event `at`; `changes`: seq of an action → what is done instead, None: nothing."""

    parent: str
    at: int
    changes: Mapping[int, Action | None] = field(default_factory=dict)


class Done(NamedTuple):
    """An action at a moment, in ms since the beginning."""

    at_ms: int
    action: Action


@dataclass(frozen=True, kw_only=True)
class RecipeOrder:
    """A run of what `parent` was made of, with another seed and other actions, up to `until_ms`."""

    parent: str
    seed: str
    done: tuple[Done, ...]
    until_ms: int


class Came(NamedTuple):
    """An outside event of a run, at its position in that run.

    An action has its `name` and `fields`; a limit that refused one has no `name`.  Sleep has its reason as `name` and
    None as `fields`.  It lasted until the machine's clock showed `wall_ms`, for `slept_ms` of that clock (None:
    unknown).
    """

    turn: int
    ms: int
    name: str | None
    fields: dict[str, Any] | None
    wall_ms: int = 0
    slept_ms: int | None = None


@dataclass(frozen=True, kw_only=True)
class RunOrder:
    """A run from its seed up to event `until`, which was written at `until_ms` of its clock; 0: up to that time.

    `conditions`: digest of the host's settings that the run depends on.  `moments`: of the sandbox's clock, in ms, at
    each of `came`; none in an order that was read from a text.
    """

    template: str
    preset: str
    seed: str
    wall_ms: int
    memory_bytes: int
    first_port: int
    conditions: str
    came: tuple[Came, ...]
    until: int
    until_ms: int
    moments: tuple[int, ...] = field(default=(), compare=False)


AnyOrder = BranchOrder | RecipeOrder | RunOrder
