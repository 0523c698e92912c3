"""Readings of the Board by a lab's script: the header of the lab's group, and the rows of its queues."""

from typing import Any

from sandbox.labs.script import Hands


def board(hands: Hands) -> dict[str, Any]:
    """Return the Board of the lab's group and topic: `header`, `queues`, `members`."""
    n = hands.numbers
    data: dict[str, object] = hands.read(f"board/{n['group']}/{n['topic']}")
    return data


def header(hands: Hands, field: str) -> float:
    """Return a number of the header: `header(hands, "lag")`."""
    return float(board(hands)["header"][field])


def row(hands: Hands, queue: str) -> dict[str, Any]:
    """Return the row of a queue: `row(hands, "broker-a:0")["max"]`."""
    data: dict[str, object] = board(hands)["queues"][queue]
    return data
