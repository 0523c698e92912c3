"""Students whose sandbox differs from the majority of the class: the state, and the event that caused it."""

from collections import Counter
from collections.abc import Mapping
from typing import TypedDict

from sandbox.queries.rows.tile import TileRow

LEAST = 3  # students in a lab; more than half of them are a majority


class Difference(TypedDict):
    """A difference of a sandbox from the majority.

    The member, broker or name server `name` is in `state` here since event `seq`; in `others` sandboxes it is in the
    state `usual`.
    """

    seq: str
    name: str
    state: str
    usual: str
    others: int


def differences(tiles: Mapping[str, TileRow]) -> dict[str, Difference]:
    """Return the earliest difference of each sandbox from those in the same lab, by sandbox."""
    by_lab: dict[str, dict[str, TileRow]] = {}
    for slug, tile in tiles.items():
        if tile["lab"] is not None:
            by_lab.setdefault(tile["lab"], {})[slug] = tile
    return {slug: difference for same in by_lab.values() for slug, difference in _of_one_lab(same).items()}


def _of_one_lab(tiles: Mapping[str, TileRow]) -> dict[str, Difference]:
    by_slug: dict[str, Difference] = {}
    for name in sorted({name for tile in tiles.values() for name in tile["lives"]}):
        states = Counter(tile["lives"][name][0] for tile in tiles.values() if name in tile["lives"])
        (usual, others), count = states.most_common(1)[0], states.total()
        if count < LEAST or others * 2 <= count:
            continue
        for slug, tile in tiles.items():
            state, seq = tile["lives"].get(name, (usual, "0"))
            if state != usual and (slug not in by_slug or int(seq) < int(by_slug[slug]["seq"])):
                by_slug[slug] = {"seq": seq, "name": name, "state": state, "usual": usual, "others": others}
    return by_slug
