"""The problems of a cluster that its pages show first, as plain sentences."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from sandbox.attached.picture import RUNNING, UNKNOWN, UNREACHABLE, BrokerSeen, Picture

LIVE = "live"

NO_SERVER = "No name server answers: {why}."
SERVER = "Name server {name} ({address}) does not answer."
BROKER = "Broker {node} ({address}) does not answer."
SILENT = "Broker {node} ({address}) does not answer; it last did at {at} UTC."
UNNAMED = "Broker {node} ({address}) answers, but no name server names it: clients lose it."
REFUSED = "Broker {node} does not tell everything: {why}."
LIMITED = "{shown} of {there_are} {what} are shown."
SAID = 3  # sentences at most


class Trouble(NamedTuple):
    """`pattern` with its `values` is for who translates."""

    pattern: str
    values: dict[str, Any]

    @property
    def sentence(self) -> str:
        return self.pattern.format(**self.values)


def state_of(picture: Picture) -> str:
    """`live` while any name server or broker answers, else `unreachable`."""
    states = [server.state for server in picture.servers.values()] + [seen.state for seen in picture.brokers.values()]
    return LIVE if RUNNING in states else UNREACHABLE


def troubles(picture: Picture, shown: dict[str, int]) -> list[Trouble]:
    """The worst first.  `shown`: how many of each kind a limit lets through."""
    found: list[Trouble] = []
    silent = [server for server in picture.servers.values() if server.state == UNREACHABLE]
    if silent and len(silent) == len(picture.servers):
        found.append(Trouble(NO_SERVER, {"why": _plain(silent[0].trouble)}))
    else:
        found += [Trouble(SERVER, {"name": server.name, "address": server.address}) for server in silent]
    for seen in picture.in_order():
        if seen.state == UNREACHABLE:
            found.append(_silent(seen))
        elif seen.state == RUNNING and not seen.named:
            found.append(Trouble(UNNAMED, {"node": seen.node, "address": seen.address}))
        elif seen.state != UNKNOWN and seen.trouble is not None:
            found.append(Trouble(REFUSED, {"node": seen.node, "why": _plain(seen.trouble)}))
    found += [
        Trouble(LIMITED, {"shown": shown[what], "there_are": there_are, "what": what})
        for what, there_are in sorted(picture.left_out.items())
        if what in shown
    ]
    return found


def said(found: list[Trouble]) -> str | None:
    return " ".join(trouble.sentence for trouble in found[:SAID]) or None


def _silent(seen: BrokerSeen) -> Trouble:
    where = {"node": seen.node, "address": seen.address}
    if seen.answered_ms is None:
        return Trouble(BROKER, where)
    return Trouble(SILENT, {**where, "at": f"{datetime.fromtimestamp(seen.answered_ms / 1000, UTC):%H:%M:%S}"})


def _plain(why: str | None) -> str:
    return (why or "nothing was heard").removesuffix(".")
