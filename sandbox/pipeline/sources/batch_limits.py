"""Batch limits of a stream: messages per batch, and the longest wait for more.

The options have the names of the Kafka source.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from sandbox.pipeline.sources.option_values import count_of

PACE = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
DELAY_MS = 15 * 60_000
UNITS_MS = {"": 1, "ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


class Pace(NamedTuple):
    """The limits of a stream's batches, over all queues together; None is no limit.

    `most`: messages per batch.  `delay_ms`: longest wait of fewer than `least` messages.
    """

    most: int | None = None
    least: int | None = None
    delay_ms: int = DELAY_MS


def pace_of(options: Mapping[str, str]) -> Pace:
    """Return the batch limits of these options.  Raises ValueError if one is invalid."""
    most, least = count_of(options, "maxOffsetsPerTrigger"), count_of(options, "minOffsetsPerTrigger")
    if most == 0:
        raise ValueError("Option maxOffsetsPerTrigger must be 1 or more: with 0 no message would be read.")
    if most is not None and least is not None and least > most:
        raise ValueError(f"Option minOffsetsPerTrigger ({least}) is more than maxOffsetsPerTrigger ({most}).")
    text = options.get("maxTriggerDelay", f"{DELAY_MS}ms").strip().lower()
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text, re.ASCII)
    if match is None or match[2] not in UNITS_MS:
        raise ValueError(f"Option maxTriggerDelay must be a duration such as 30s, 15m or 1h, not {text}.")
    return Pace(most, least, int(match[1]) * UNITS_MS[match[2]])


def no_pace(options: Mapping[str, str]) -> None:
    """Raise ValueError if options of a batch read contain limits of a stream."""
    if names := [name for name in PACE if name in options]:
        raise ValueError(f"Option {names[0]} needs a stream: a batch read has no triggers.")
