"""Boards by their channel names: `board/<slug>/<group>/<topic>`, `locks/…`, `messages/<slug>?…` (catalogue 10).

`board/<slug>//<topic>` is the board of a topic without a group.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.control.channel_names import KINDS, ChannelUnknown, NodeStopped
from sandbox.control.readings import Reading
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.board import read_board
from sandbox.queries.snapshot.client import read_client
from sandbox.queries.snapshot.disk import read_disk
from sandbox.queries.snapshot.frames import read_wire
from sandbox.queries.snapshot.locks import read_locks
from sandbox.queries.snapshot.messages import read_messages
from sandbox.queries.snapshot.rebalance import read_rebalance
from sandbox.queries.snapshot.storage import read_index, read_store


def _readers() -> Iterator[tuple[str, Callable[[Cluster], Mapping[str, object]]]]:
    """Yield name and `read_NAME` of each module named after a channel whose reader takes the cluster alone."""
    for module in iter_modules([str(Path(__file__).parent)]):
        if module.name in KINDS:
            read = getattr(import_module(f"{__package__}.{module.name}"), f"read_{module.name}")
            if [*read.__annotations__] == ["cluster", "return"]:
                yield module.name, read


OF_CLUSTER = dict(_readers())


def read_channel(cluster: Cluster, kind: str, rest: list[str]) -> Reading:
    """Return the value of a channel, all of one turn, so that `seq` and `data` agree.  Raises ChannelUnknown."""
    return reading_of(cluster, _read(cluster, kind, rest))


def reading_of(cluster: Cluster, data: Mapping[str, object]) -> Reading:
    """Return data that was read in this turn, with the position of the journal and the clock."""
    return Reading(
        cluster.journal.next_seq - 1,
        cluster.clock.now_ms(),
        cluster.clock.rate,
        cluster.epoch,
        data,
        cluster.reached_rate,
    )


def _read(cluster: Cluster, kind: str, rest: list[str]) -> Mapping[str, object]:
    match kind, rest:
        case _, [] if kind in OF_CLUSTER:
            return OF_CLUSTER[kind](cluster)
        case "board", [group, topic]:
            view = GroupView(cluster, group)
            if (group and not view.exists) or not _has_topic(cluster, topic):
                raise ChannelUnknown(f"no group {group} on {topic}")
            return read_board(cluster, view, topic)
        case "locks", [group]:
            if not GroupView(cluster, group).exists:
                raise ChannelUnknown(f"no group {group}")
            return read_locks(cluster, group)
        case "rebalance", [group]:
            if not GroupView(cluster, group).exists:
                raise ChannelUnknown(f"no group {group}")
            return read_rebalance(cluster, group)
        case "store", [node]:
            return read_store(cluster, _running(cluster, node))
        case "store", [node, "disk"]:
            return read_disk(cluster, _running(cluster, node))
        case "index", [node]:
            return read_index(cluster, _running(cluster, node))
        case "wire", [] | [_]:
            return read_wire(cluster, rest[0] if rest else None)
        case "messages", [] | [_]:
            return read_messages(cluster, rest[0] if rest else "")
        case "client", [client_name]:
            client = read_client(cluster, client_name)
            if client is None:
                raise ChannelUnknown(f"no client {client_name}")
            return client
    raise ChannelUnknown(f"no channel {kind}/{'/'.join(rest)}")


def _has_topic(cluster: Cluster, topic: str) -> bool:
    """Return True if a broker has the topic.

    Return True also while every broker is down: the topic is then unknown, and its board stays.
    """
    masters = cluster.nodes.masters()
    return (
        not masters
        or any(topic in node.running.topics.table for node in masters)
        or any(topic in known.topics for known in cluster.nodes.down_masters().values())
    )


def _running(cluster: Cluster, name: str) -> BrokerNode:
    node = cluster.nodes.find(name)
    if node is None:
        raise ChannelUnknown(f"no broker {name}")
    if node.broker is None:
        raise NodeStopped(f"{name} is stopped")
    return node
