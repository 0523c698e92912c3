"""Check that requested offsets are a range of their queue: an empty result would not show what is wrong."""

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
    """`starting`, `ending`: by options, special offsets (below 0) among them; `ends`: of the queues now.

    Raises StoreError for a start after the end that was asked for and, where lost messages are a failure, after the
    end of the queue.
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
