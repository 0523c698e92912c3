"""Values of `parametrize` that are marked `wide`: more seeds and larger matrices of what a file already plays.

The wide tests of a file are a unit of the ring (tests/plan.py); `--wide` plays them at once.
"""

from collections.abc import Iterable
from typing import Any

import pytest


def seeds(always: int, wide: int) -> list[Any]:
    """Numbers from 0: `always` are in each run of the file, the rest of `wide` is marked so."""
    return [*range(always), *many(range(always, wide))]


def many(values: Iterable[Any]) -> list[Any]:
    return [pytest.param(value, marks=pytest.mark.wide) for value in values]
