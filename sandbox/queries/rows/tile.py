"""Rows of a tile in a course's grid: a sandbox in few values, because a thousand tiles are read in one go."""

from typing import NotRequired, TypedDict

from sandbox.queries.rows.findings import FindingMark
from sandbox.queries.rows.labs import EffectRow


class TileRow(TypedDict):
    """One sandbox.

    `strips`: `lag/cells/owner` per queue: messages behind, the client's messages (`3d4p5b`: done, processing,
    buffered), and the colour number of its owner; `-` if unknown.  `lives`: by member label, broker and name server,
    the state and the seq of its event; differences between students are found in them.  `frozen`, `acts`: the
    teacher's control.  `failed`: how often in a row the newest answer or action was wrong in the same way.
    `sealed`: a prediction waits for its result.  `acted_ms`: time of the student's newest action or answer, by the
    sandbox's clock.  `effect`: the teacher's newest intervention.
    """

    lab: str | None  # its number, as N5
    step: int
    steps: int
    phase: str  # predict, do, say, why, done
    sealed: bool
    failed: int
    acted_ms: int | None
    at_ms: int
    rate: float
    frozen: bool
    acts: str | None
    effect: EffectRow | None
    lives: dict[str, list[str]]
    group: str | None  # of the lab; with `topic`, its board
    topic: str | None
    strips: list[str]
    finding: NotRequired[FindingMark | None]  # the worst one; None: none is known


class Tile(TypedDict):
    """The value of channel `tile/<slug>`."""

    tile: TileRow
