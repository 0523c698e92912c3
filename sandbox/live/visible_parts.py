"""The parts of a sandbox or cluster that live channels show to a visitor."""

from enum import IntEnum


class Sight(IntEnum):
    """The part of a sandbox that a visitor sees.  Only `NOTHING` is false.

    `NO_SCORES`: scores of the lab are withheld until its course is released.
    """

    NOTHING = 0
    NO_SCORES = 1
    ALL = 2
