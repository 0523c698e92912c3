"""Seeded random numbers, passed down as a value: a run is determined by its seed."""

import random
from collections.abc import MutableSequence, Sequence
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """Random numbers of one actor.  `fork` returns independent numbers for another actor.

    A fork depends only on the seed and its name, not on the numbers drawn before.  So adding an actor does not
    change the numbers of others.
    """

    def __init__(self, seed: int | str) -> None:
        self.seed = str(seed)
        self._random = random.Random(self.seed)

    def fork(self, name: str) -> "Chance":
        return Chance(f"{self.seed}/{name}")

    def random(self) -> float:
        return self._random.random()

    def below(self, bound: int) -> int:
        return self._random.randrange(bound)

    def between(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def choice(self, items: Sequence[T]) -> T:
        return items[self._random.randrange(len(items))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        self._random.shuffle(items)

    def token(self, length: int, alphabet: str) -> str:
        return "".join(self.choice(alphabet) for _ in range(length))
