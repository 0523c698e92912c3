"""Right predictions of a lab, counted for its panel and for grades."""

from collections.abc import Iterable
from typing import NamedTuple, TypedDict

from sandbox.labs.lab import Lab


class Predicted(TypedDict):
    """The part of a step that was met which concerns its prediction.  `accurate`: None if none was requested."""

    accurate: bool | None


class Predictions(NamedTuple):
    """The numbers of right and of requested predictions of a lab."""

    right: int
    asked: int

    @classmethod
    def of(cls, lab: Lab, met: "Iterable[Predicted | None]") -> "Predictions":
        asked = sum(step.predict is not None for step in lab.steps)
        return cls(sum(bool(step["accurate"]) for step in met if step is not None), asked)
