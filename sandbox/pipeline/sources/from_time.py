"""A start of a read at a time instead of an offset, with the Kafka source's options."""

from collections.abc import Mapping
from typing import NamedTuple

from sandbox.kernel.errors import StoreError
from sandbox.pipeline.sources.option_values import count_of

STRATEGY = "startingOffsetsByTimestampStrategy"
FROM_TIME = ("startingTimestamp", STRATEGY)
STRATEGIES = ("latest", "error")


class FromTime(NamedTuple):
    """A start at the first message of each queue stored at `at_ms` or later.

    `is_strict`: such a message must exist.
    """

    at_ms: int
    is_strict: bool

    def or_end(self, first: int | None, end: int, name: str) -> int:
        """Return `first`, or the queue's end if there is no first message.

        Raises StoreError if the message must exist; `name` begins the error's sentence.
        """
        if first is None and self.is_strict:
            raise StoreError(
                f"{name} has no message stored at {self.at_ms} or later. Set {STRATEGY} to latest to begin at its end."
            )
        return end if first is None else first


def from_time_of(options: Mapping[str, str]) -> FromTime | None:
    """Return the start time of these options, or None if offsets define the start.  Raises ValueError."""
    at_ms = count_of(options, "startingTimestamp")
    if at_ms is not None and "startingOffsets" in options:
        raise ValueError("Set startingTimestamp or startingOffsets, not both.")
    strategy = options.get(STRATEGY, STRATEGIES[0]).strip()
    if strategy not in STRATEGIES:
        raise ValueError(f"Option {STRATEGY} must be {' or '.join(STRATEGIES)}, not {strategy}.")
    return None if at_ms is None else FromTime(at_ms, strategy == "error")
