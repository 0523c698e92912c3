"""The problems of a cluster that its pages show first, as plain sentences."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from sandbox.attached.picture import RUNNING, UNKNOWN, UNREACHABLE, BrokerSeen, Picture

LIVE = "live"

NO_SERVER = "No name server answers: {why}."
SERVER = "Name server {name} ({address}) does not answer."
BROKER = "Broker {node} ({address}) does not answer."
SILENT = "Broker {node} ({address}) does not answer; last response at {at} UTC."
UNNAMED = "Broker {node} ({address}) answers, but no name server lists it: clients lose their route to this broker."
REFUSED = "Broker {node} does not report everything: {why}."
LIMITED = "{shown} of {there_are} {what} are shown."
SAID = 3  # sentences at most


class Trouble(NamedTuple):
    """A problem: the `pattern` of a sentence, and its `values`, separate for translation."""

    pattern: str
    values: dict[str, Any]

    @property
    def sentence(self) -> str:
        return self.pattern.format(**self.values)


def state_of(picture: Picture) -> str:
    """Return `live` if any name server or broker answers, else `unreachable`."""
    states = [server.state for server in picture.servers.values()] + [
        broker.state for broker in picture.brokers.values()
    ]
    return LIVE if RUNNING in states else UNREACHABLE


def troubles(picture: Picture, shown: dict[str, int]) -> list[Trouble]:
    """Return the problems of the cluster, the worst first.  `shown`: how many of each kind a limit allows."""
    result: list[Trouble] = []
    silent = [server for server in picture.servers.values() if server.state == UNREACHABLE]
    if silent and len(silent) == len(picture.servers):
        result.append(Trouble(NO_SERVER, {"why": _plain(silent[0].trouble)}))
    else:
        result += [Trouble(SERVER, {"name": server.name, "address": server.address}) for server in silent]
    for broker in picture.in_order():
        if broker.state == UNREACHABLE:
            result.append(_silent(broker))
        elif broker.state == RUNNING and not broker.named:
            result.append(Trouble(UNNAMED, {"node": broker.node, "address": broker.address}))
        elif broker.state != UNKNOWN and broker.trouble is not None:
            result.append(Trouble(REFUSED, {"node": broker.node, "why": _plain(broker.trouble)}))
    result += [
        Trouble(LIMITED, {"shown": shown[what], "there_are": there_are, "what": what})
        for what, there_are in sorted(picture.left_out.items())
        if what in shown
    ]
    return result


def said(listed: list[Trouble]) -> str | None:
    return " ".join(trouble.sentence for trouble in listed[:SAID]) or None


def _silent(broker: BrokerSeen) -> Trouble:
    where = {"node": broker.node, "address": broker.address}
    if broker.answered_ms is None:
        return Trouble(BROKER, where)
    return Trouble(SILENT, {**where, "at": f"{datetime.fromtimestamp(broker.answered_ms / 1000, UTC):%H:%M:%S}"})


def _plain(reason: str | None) -> str:
    return (reason or "no response").removesuffix(".")
