"""What a branch is to be: another sandbox's run up to an event, or a run of its template with another seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

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
