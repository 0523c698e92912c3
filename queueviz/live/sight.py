"""The parts of a sandbox or cluster that live channels show to a visitor."""

from enum import IntEnum


class Sight(IntEnum):
    """`NOTHING` alone is false.  `NO_SCORES`: those of the lab are withheld until its course is released."""

    NOTHING = 0
    NO_SCORES = 1
    ALL = 2
