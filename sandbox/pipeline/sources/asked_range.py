"""Check that requested offsets are a range of their queue, because an empty result would not show the mistake."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from sandbox.pipeline.sources.conditions import OffsetsOutOfRange

Q = TypeVar("Q")


def check_range(
    starting: Mapping[Q, int],
    ending: Mapping[Q, int],
    ends: Mapping[Q, int],
    named: Callable[[Q], str],
    *,
    fail_on_data_loss: bool,
) -> None:
    """Raise OffsetsOutOfRange if a start is after the requested end, or an offset is after the queue's end.

    `starting`, `ending`: offsets from the options, special ones (below 0) among them.  `ends`: current ends of the
    queues.  Without `fail_on_data_loss` an offset after the queue's end is allowed.
    """
    for queue, start in starting.items():
        if 0 <= (end := ending.get(queue, -1)) < start:
            raise OffsetsOutOfRange(
                f"startingOffsets is {start} for {named(queue)}, and endingOffsets is {end}. "
                "Choose a start before the end."
            )
    if not fail_on_data_loss:
        return
    for option, offsets in (("startingOffsets", starting), ("endingOffsets", ending)):
        for queue, offset in offsets.items():
            if (high := ends.get(queue)) is not None and offset > high:
                raise OffsetsOutOfRange(
                    f"{option} is {offset} for {named(queue)}, which ends at {high}. Choose an "
                    f"offset up to {high}, or set failOnDataLoss to false to read the existing messages."
                )
