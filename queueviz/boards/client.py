"""The Client page: one producer or consumer with its start, stop, timers, requests, waits and queues.

Its channel is `client/…`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict
from urllib.parse import quote

from queueviz.boards.board import live_config, now_of
from queueviz.boards.client_texts import NUMBERS, client_words
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Place, Readings, data_of
from sandbox.queries.rows.clients import Client, ClientRow, StepRow

TIMERS = (
    "heartbeat",
    "route",
    "commit",
    "rebalance",
    "lock",
    "clean",
    "adjust pool",
    "response scan",
    "fetch name servers",
)
VERSIONS = {  # ordinals of MQVersion (spec remoting 1.1)
    28: "V3_0_7_SNAPSHOT",
    37: "V3_0_11",
    62: "V3_1_8_SNAPSHOT",
    121: "V3_4_9",
    232: "V4_1_0_SNAPSHOT",
    293: "V4_4_0",
    395: "V4_9_1",
    401: "V4_9_4",
    407: "V4_9_7",
    409: "V4_9_8",
    413: "V5_0_0",
    473: "V5_3_0",
    479: "V5_3_3",
}


def channel(place: Place) -> str | None:
    client_id = place.query.get("client")
    return f"client/{place.slug}/{quote(client_id, safe='')}" if client_id else None


def _context(place: Place, readings: Readings) -> Context:
    name = channel(place)
    data = data_of(readings, name, Client)
    client = data["client"] if data else None
    wording = texts(client_words())
    return {
        "asked": place.query.get("client", ""),
        "data": data,
        "client": client or {},
        "version": VERSIONS.get((client["version"] if client else None) or 0),
        "frames": _frames_of(place, client) if client else None,
        "phases": _phases(data["steps"].values()) if data else [],
        "marks": sorted(data["marks"].values(), key=lambda row: int(row["seq"])) if data else [],
        "timers": [(job, data["timers"][job]) for job in TIMERS if job in data["timers"]] if data else [],
        "now_ms": now_of(place, readings, name),
        "live": live_config(place, readings, {"client": name}, tab="client", timers=TIMERS, numbers=NUMBERS),
        "texts": wording,
    }


def _frames_of(place: Place, client: ClientRow) -> str | None:
    """Return the link of the client to show on the Wire page, as `client~node`.

    The node is a broker if the client is connected to one, else a name server.
    """
    name_servers = {node["name"] for node in place.snapshot.get("name_servers", ())}
    with_whom = sorted(client.get("connections") or (), key=lambda name: (name in name_servers, name))
    return f"{client['actor']}~{with_whom[0]}" if with_whom and client.get("actor") else None


class NumberedStep(StepRow):
    """A start or stop step with its number in RocketMQ's list."""

    no: int | None


class Phase(TypedDict):
    """The start or stop of a group's client, with its steps."""

    group: str
    phase: str
    steps: list[NumberedStep]
    took_ms: int


def _phases(rows: Iterable[StepRow]) -> list[Phase]:
    """Return start and stop of each group that the process hosts, with the steps in order and the total duration."""
    phases: dict[tuple[str, str], list[NumberedStep]] = {}
    for row in rows:
        phases.setdefault((row["group"], row["phase"]), []).append({**row, "no": NUMBERS.get(row["name"])})
    return [
        {
            "group": group,
            "phase": phase,
            "steps": sorted(steps, key=lambda row: int(row["step"])),
            "took_ms": sum(int(row["took_ms"]) for row in steps),
        }
        for (group, phase), steps in phases.items()
    ]


CLIENT = BoardPage(
    name="client",
    path="clients/",
    template="queueviz/boards/client.html",
    replayed=True,
    channels=lambda place: [name] if (name := channel(place)) else [],
    context=_context,
)
