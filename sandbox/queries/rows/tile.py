"""A sandbox as a tile of a course's grid shows it: small, as sixty of them are read twice a second."""

from typing import TypedDict


class TileRow(TypedDict):
    """`strips`: one a queue, `lag/cells/owner`: messages behind, what the client holds (`3d4p5b`, done, processing,
    buffered), and the number of its owner's colour; `-` for what is not known.

    `lives`: of members by label, brokers and name servers, the state and the seq of the event that brought it; what
    differs between students is looked for in them.  `frozen`, `acts`: as the teacher holds it.

    `failed`: how often the newest answer or action was wrong in the same way, in a row.
    `acted_ms`: of the newest action of a person, by the sandbox's clock.
    """

    lab: str | None  # its number, as N5
    step: int
    steps: int
    phase: str  # predict, do, say, why, done
    failed: int
    acted_ms: int | None
    at_ms: int
    rate: float
    frozen: bool
    acts: str | None
    lives: dict[str, list[str]]
    group: str | None  # of the lab; with `topic`, what its board shows
    topic: str | None
    strips: list[str]


class Tile(TypedDict):
    """Channel `tile/<slug>`."""

    tile: TileRow
