"""Check that requested offsets are a range of their queue, because an empty result would not show the mistake."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from sandbox.kernel.errors import StoreError

Q = TypeVar("Q")


def check_range(
    starting: Mapping[Q, int],
    ending: Mapping[Q, int],
    ends: Mapping[Q, int],
    named: Callable[[Q], str],
    *,
    fail_on_data_loss: bool,
) -> None:
    """Raise StoreError if a start is after the requested end or, with `fail_on_data_loss`, after the queue's end.

    `starting`, `ending`: offsets from the options, special ones (below 0) among them.  `ends`: current ends of the
    queues.
    """
    for queue, start in starting.items():
        end, high = ending.get(queue, -1), ends.get(queue)
        if 0 <= end < start:
            raise StoreError(
                f"startingOffsets is {start} for {named(queue)}, and endingOffsets is {end}. "
                "Choose a start before the end."
            )
        if high is not None and start > high and fail_on_data_loss:
            raise StoreError(
                f"startingOffsets is {start} for {named(queue)}, which ends at {high}. Choose an "
                f"offset up to {high}, or set failOnDataLoss to false to read the existing messages."
            )
