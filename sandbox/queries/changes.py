"""Differences between the states at two events, as rows."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from sandbox.queries.state_at import StateAt

NAMES = {
    "name_servers": ("name",),
    "brokers": ("broker", "broker_id"),
    "links": ("a", "b"),
    "topics": ("topic",),
    "queues": ("topic", "broker", "queue_id"),
    "producers": ("actor", "client_id"),
    "groups": ("group",),
    "members": ("client_id",),
}
"""Lists by name, and the fields that name a row; those it does not have are left out."""
MOMENTS = {"seq", "at_ms", "wall_ms", "last_update_ms", "answered_ms"}  # always different


class Change(NamedTuple):
    """One difference between two states.

    `place`: path of names, such as `groups/order-svc/queues/orders/broker-a/0`.  `field`: None for a row that was
    added or removed.  `exact`: both values hold at their events; other values are as old as their keyframes.
    """

    place: str
    field: str | None
    before: Any
    after: Any
    exact: bool


class Changes(NamedTuple):
    """The differences between the states at the events `first` and `last`.

    Values that no event carries are those of the keyframes before them.
    """

    first: int
    last: int
    keyframes: tuple[int, int]
    rows: list[Change]


def changes_between(before: StateAt, after: StateAt) -> Changes:
    rows = [
        change._replace(exact=_is_exact(change, before) and _is_exact(change, after))
        for change in _changes(before.snapshot, after.snapshot, ())
    ]
    return Changes(before.seq, after.seq, (before.keyframe, after.keyframe), rows)


def _changes(before: Any, after: Any, way: tuple[str, ...]) -> Iterator[Change]:
    path = "/".join(way)
    for name in sorted((before.keys() | after.keys()) - MOMENTS):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if name in NAMES:
            rows, later = _by_name(name, old or []), _by_name(name, new or [])
            for key in sorted(rows.keys() | later.keys()):
                if key in rows and key in later:
                    yield from _changes(rows[key], later[key], (*way, name, key))
                else:
                    yield Change(
                        "/".join((*way, name, key)),
                        None,
                        key if key in rows else None,
                        key if key in later else None,
                        False,
                    )
        elif isinstance(old, dict) and isinstance(new, dict):
            yield from _changes(old, new, (*way, name))
        else:
            yield Change(path, name, old, new, False)


def _by_name(kind: str, rows: list[Any]) -> dict[str, object]:
    return {"/".join(str(row[field]) for field in NAMES[kind] if row.get(field) is not None): row for row in rows}


def _is_exact(change: Change, state: StateAt) -> bool:
    if not state.of_keyframe:
        return True
    match change.place.split("/"):
        case ["topics", _, "queues", _, _]:
            return change.field in state.carried.get("topics", ())
        case ["groups", group, "queues", *_]:
            return change.field in state.carried.get(f"groups/{group}", ())
    return change.place == "" and change.field == "rate"
