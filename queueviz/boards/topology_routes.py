"""The route of one topic as each name server reports it, side by side, and the differences (question `route`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sandbox.queries.rows.walks import AllRoutes, OneRoute, ServerRoute, TopicRoute

BrokerTexts = dict[str, dict[str, str]]
"""Fields as text, by broker name."""

FIELDS = ("read", "write", "rights", "addresses")
READ, WRITE = 4, 2


class Cell(NamedTuple):
    text: str | None  # None: this name server has no such row
    differs: bool


class Table(NamedTuple):
    """The route that one name server reports.  `rows`: broker → cells in the order of `FIELDS`."""

    name_server: str
    is_up: bool
    known: bool
    rows: list[tuple[str, list[Cell]]]


def tables(answer: AllRoutes | OneRoute) -> list[Table]:
    """Return a table per name server.

    A name server that is down reports nothing and does not count in the comparison.
    """
    if "servers" in answer:
        return _tables(answer["servers"])
    return _tables([answer])


def _tables(servers: Sequence[ServerRoute]) -> list[Table]:
    reported = {row["name_server"]: None if row["known"] is None else _rows(row["route"]) for row in servers}
    names = sorted({broker for rows in reported.values() if rows for broker in rows})
    up = [rows for rows in reported.values() if rows is not None]
    return [
        Table(
            row["name_server"],
            row["known"] is not None,
            bool(row["known"]),
            [(broker, _cells(broker, reported[row["name_server"]], up)) for broker in names],
        )
        for row in servers
    ]


def _cells(broker: str, own: BrokerTexts | None, up: Sequence[BrokerTexts]) -> list[Cell]:
    if own is None:
        return [Cell(None, differs=False) for _ in FIELDS]
    cells = []
    for field in FIELDS:
        values = {rows.get(broker, {}).get(field) for rows in up}
        cells.append(Cell(own.get(broker, {}).get(field), differs=len(values) > 1))
    return cells


def _rows(route: TopicRoute | None) -> BrokerTexts:
    """Return QueueData and BrokerData of the route as text, by broker name."""
    if route is None:
        return {}
    addresses = {row["brokerName"]: row["brokerAddrs"] for row in route["brokerDatas"]}
    return {
        row["brokerName"]: {
            "read": str(row["readQueueNums"]),
            "write": str(row["writeQueueNums"]),
            "rights": _rights(row["perm"]),
            "addresses": ", ".join(f"{number} → {at}" for number, at in sorted(addresses[row["brokerName"]].items())),
        }
        for row in route["queueDatas"]
    }


def _rights(perm: int) -> str:
    return f"{'R' if perm & READ else '-'}{'W' if perm & WRITE else '-'} ({perm})"
