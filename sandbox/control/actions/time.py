"""Actions on the sandbox's clock."""

from dataclasses import dataclass
from typing import Annotated

from sandbox.control.actions.action import Action
from sandbox.control.fields import Between, Name


@dataclass(frozen=True, kw_only=True)
class SetRate(Action):
    """Set the rate of the sandbox clock: 0 pauses it, 1 is real time, 60 is a minute per second."""

    verb = "time"
    said = {"": "clock set to {rate}×", "rate=0": "sandbox clock stopped"}
    rate: Annotated[float, Between(0, 60)]


@dataclass(frozen=True, kw_only=True)
class Step(Action):
    """Run until the next fact or the next event of the type `until`, at most `ms`; then pause again."""

    verb = "time"
    said = "sandbox clock advanced one step"
    until: Name = "fact"
    ms: Annotated[int, Between(1, 60_000)] = 60_000
