"""Orders for a branch: a run up to an event, its template's run with another seed, or a run given as text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.control.actions import Action

BY = "owner"  # who acts in a run of which that is not recorded


@dataclass(frozen=True, kw_only=True)
class BranchOrder:
    """Order for the run of `parent` up to event `at`.

    `changes`: seq of an action → the action to execute instead, None for none.
    """

    parent: str
    at: int
    changes: Mapping[int, Action | None] = field(default_factory=dict)


class Done(NamedTuple):
    """Action with its time in ms since the beginning."""

    at_ms: int
    action: Action


@dataclass(frozen=True, kw_only=True)
class RecipeOrder:
    """Order for a run of `parent`'s template with another seed and other actions, up to `until_ms`."""

    parent: str
    seed: str
    done: tuple[Done, ...]
    until_ms: int


class Came(NamedTuple):
    """Outside event of a run, at its position in that run.

    An action has its `name` and `fields`; a limit that refused an action has no `name`.  Sleep has its reason as
    `name` and None as `fields`.  It lasted until the machine's clock reached `wall_ms`, for `slept_ms` of that clock
    (None: unknown).  `by`: the actor of an action, as the journal writes it; the texts of links do not have it.
    """

    turn: int
    ms: int
    name: str | None
    fields: dict[str, object] | None
    wall_ms: int = 0
    slept_ms: int | None = None
    by: str = BY


@dataclass(frozen=True, kw_only=True)
class RunOrder:
    """Order for a run from its seed up to event `until`, which was written at `until_ms` of the sandbox's clock.

    If `until` is 0, the run ends at that time.  `conditions`: digest of the host's settings that the run depends on.
    `changes`: to the template's settings; the texts of links have none.  `moments`: times of the sandbox's clock in
    ms at each of `came`; empty in an order that was read from a text.
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
    changes: Mapping[str, object] = field(default_factory=dict)
    moments: tuple[int, ...] = field(default=(), compare=False)


AnyOrder = BranchOrder | RecipeOrder | RunOrder
