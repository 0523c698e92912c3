"""Waiting for the engine, which works on its own thread."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MANY = 5_000  # questions until something is taken for missing; each takes a few milliseconds


def until(look: Callable[[], T]) -> T:
    """Ask again and again until there is something."""
    for _ in range(MANY):
        if found := look():
            return found
    raise AssertionError("it never came")
