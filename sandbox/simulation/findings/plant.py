"""A planted trouble as a value: its code, the actions that cause it, and when it can be known."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sandbox.kernel.chance import Chance
from sandbox.simulation.findings.baseline import Baseline
from sandbox.simulation.world import World


class Act(NamedTuple):
    """An action `after_s` of the planting; `name` empty: `call` changes the world itself.

    `may_fail`: the action is refused where the trouble is there.
    """

    after_s: float
    name: str
    fields: Mapping[str, object]
    call: Callable[[World], None] | None = None
    may_fail: bool = False


class Plant(NamedTuple):
    """One trouble.  `least_s`: the earliest time after the planting at which it can be known.

    `also`: codes that are true beside it.  `looks_s`: the finding is expected for so long after the planting.
    `alone`: it stops members, producers or brokers, so another trouble could not occur.  `hides`: troubles that may not
    occur beside it.  `stays_s`: the finding is open until then, without a break.  `says`: names of its sentences.
    """

    code: str
    acts: Callable[[Baseline, Chance], list[Act]]
    least_s: float
    also: tuple[str, ...] = ()
    ordered: bool = False
    slave: bool = False
    looks_s: float = 150.0
    alone: bool = False
    hides: tuple[str, ...] = ()
    stays_s: float = 0.0
    says: tuple[str, ...] = ()


def act(name: str, after_s: float = 0.0, **fields: object) -> Act:
    return Act(after_s, name, fields)
