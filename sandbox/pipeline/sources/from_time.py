"""Beginning at a time instead of an offset: options that the Kafka source names."""

from collections.abc import Mapping
from typing import NamedTuple

from sandbox.kernel.errors import StoreError
from sandbox.pipeline.sources.option_values import count_of

STRATEGY = "startingOffsetsByTimestampStrategy"
FROM_TIME = ("startingTimestamp", STRATEGY)
STRATEGIES = ("latest", "error")


class FromTime(NamedTuple):
    """A start at the first message of each queue stored at `at_ms` or later; `is_strict`: it must exist."""

    at_ms: int
    is_strict: bool

    def or_end(self, first: int | None, end: int, name: str) -> int:
        """Return the start of a queue that ends at `end`; `name` begins the error's sentence.  Raises StoreError."""
        if first is None and self.is_strict:
            raise StoreError(
                f"{name} has no message stored at {self.at_ms} or later. Set {STRATEGY} to latest to begin at its end."
            )
        return end if first is None else first


def from_time_of(options: Mapping[str, str]) -> FromTime | None:
    """None if offsets say where to begin.  Raises ValueError."""
    at_ms = count_of(options, "startingTimestamp")
    if at_ms is not None and "startingOffsets" in options:
        raise ValueError("Set startingTimestamp or startingOffsets, not both.")
    strategy = options.get(STRATEGY, STRATEGIES[0]).strip()
    if strategy not in STRATEGIES:
        raise ValueError(f"Option {STRATEGY} must be {' or '.join(STRATEGIES)}, not {strategy}.")
    return None if at_ms is None else FromTime(at_ms, strategy == "error")
