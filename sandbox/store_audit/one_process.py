"""The audit in one process, piece by piece: `mqstore verify`, and what the parallel audit must equal."""

from collections.abc import Mapping
from pathlib import Path

from sandbox.store_audit.plan import derived_pieces, log_pieces, places_of
from sandbox.store_audit.verdict import Verdict, lost_of, verdict_of


def audit(
    stores: Mapping[str, Path], delay_levels_ms: tuple[int, ...] | None = None, index_slots: int | None = None
) -> list[Verdict]:
    """Audit these stores and return a verdict on each.

    `index_slots`: number of slots of index files whose size cannot be recognised by their content.
    """
    places = places_of(stores, delay_levels_ms, index_slots)
    first = [piece.run() for piece in log_pieces(places)]
    lost = {store.name: lost_of(store, first) for store in places}
    second = [piece.run() for piece in derived_pieces(places, lost)]
    return [verdict_of(store, first, second) for store in places]


def verify(root: Path, delay_levels_ms: tuple[int, ...] | None = None, index_slots: int | None = None) -> Verdict:
    """Audit one store and return the verdict on it."""
    [verdict] = audit({root.name: root}, delay_levels_ms, index_slots)
    return verdict
