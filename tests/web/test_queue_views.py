"""A queue's row on the board, from the engine's state."""

from typing import Any

import pytest

from queueviz.boards.rows import queue_views

KEY = "broker-a:0"
LOCK = {"holder": "A@1", "expires_at_ms": 9_000}


def view(**row: Any) -> Any:
    data: Any = {"queues": {KEY: row}, "members": {}}
    [found] = queue_views(data, now_ms=4_500)
    return found


@pytest.mark.parametrize(
    ("row", "stale"),
    [
        ({"assigned": "A@1", "owner": "B@1"}, False),  # it was given to A, whose lock it is; B has not let go yet
        ({"owner": "A@1"}, False),
        ({"assigned": "B@1", "owner": "A@1"}, True),
        ({"owner": "B@1"}, True),
        ({}, True),
    ],
)
def test_a_lock_is_stale_once_the_queue_belongs_to_another_member(row: dict[str, Any], stale: bool) -> None:
    assert view(**row, lock=LOCK).lock_stale is stale


def test_a_queue_without_a_lock_has_no_stale_one() -> None:
    assert (view(owner="A@1").lock_stale, view(owner="A@1").lock_left_s) == (False, None)


def test_the_seconds_that_a_lock_is_left_are_rounded_up() -> None:
    assert view(owner="A@1", lock=LOCK).lock_left_s == 5


@pytest.mark.parametrize(
    ("offsets", "lag"),
    [
        ({"max": "44", "committed": "40"}, 4),
        ({"max": "44"}, None),
        ({"committed": "40"}, None),
    ],
)
def test_a_lag_is_known_only_with_both_offsets(offsets: dict[str, str], lag: int | None) -> None:
    assert view(**offsets).lag == lag
