"""Groups of pieces of files for tasks."""

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Piece(Protocol):
    """A range of bytes `[start, end)` of a file."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


P = TypeVar("P", bound=Piece)


def packed(pieces: Iterable[P], most_bytes: int) -> list[list[P]]:
    """Group consecutive pieces up to `most_bytes` in order, because every task has a fixed cost."""
    groups: list[list[P]] = []
    room = 0
    for piece in pieces:
        size = piece.end - piece.start
        if not groups or size > room:
            groups.append([])
            room = most_bytes
        groups[-1].append(piece)
        room -= size
    return groups
