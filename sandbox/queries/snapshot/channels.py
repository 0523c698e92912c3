"""Boards by their channel names: `board/<slug>/<group>/<topic>`, `locks/…`, `messages/<slug>?…` (catalogue 10).

`board/<slug>//<topic>` is a topic that no group reads.
"""

from typing import TYPE_CHECKING, Any

from sandbox.cluster.broker_node import BrokerNode
from sandbox.hosting.port import Reading
from sandbox.queries.channel_names import ChannelUnknown
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.board import read_board
from sandbox.queries.snapshot.client import read_client
from sandbox.queries.snapshot.connect import read_connect
from sandbox.queries.snapshot.disk import read_disk
from sandbox.queries.snapshot.frames import read_wire
from sandbox.queries.snapshot.groups import read_groups
from sandbox.queries.snapshot.locks import read_locks
from sandbox.queries.snapshot.messages import read_messages
from sandbox.queries.snapshot.rebalance import read_rebalance
from sandbox.queries.snapshot.storage import read_index, read_store
from sandbox.queries.snapshot.topics import read_topics
from sandbox.queries.snapshot.topology import read_topology

if TYPE_CHECKING:
    from sandbox.hosting.sandbox import Sandbox


def read_channel(sandbox: "Sandbox", kind: str, rest: list[str]) -> Reading:
    """Everything in one turn, so that `seq` and `data` agree.  Raises ChannelUnknown."""
    data = _read(sandbox, kind, rest)
    return Reading(sandbox.journal.next_seq - 1, sandbox.clock.now_ms(), sandbox.clock.rate, sandbox.epoch, data)


def _read(sandbox: "Sandbox", kind: str, rest: list[str]) -> dict[str, Any]:
    match kind, rest:
        case "board", [group, topic]:
            if (group and not GroupView(sandbox, group).exists) or not _has_topic(sandbox, topic):
                raise ChannelUnknown(f"no group {group} on {topic}")
            return read_board(sandbox, group, topic)
        case "locks", [group]:
            if not GroupView(sandbox, group).exists:
                raise ChannelUnknown(f"no group {group}")
            return read_locks(sandbox, group)
        case "rebalance", [group]:
            if not GroupView(sandbox, group).exists:
                raise ChannelUnknown(f"no group {group}")
            return read_rebalance(sandbox, group)
        case "groups", []:
            return read_groups(sandbox)
        case "store", [node]:
            return read_store(sandbox, _running(sandbox, node))
        case "store", [node, "disk"]:
            return read_disk(sandbox, _running(sandbox, node))
        case "index", [node]:
            return read_index(sandbox, _running(sandbox, node))
        case "topics", []:
            return read_topics(sandbox)
        case "topology", []:
            return read_topology(sandbox)
        case "wire", [] | [_]:
            return read_wire(sandbox, rest[0] if rest else None)
        case "messages", [] | [_]:
            return read_messages(sandbox, rest[0] if rest else "")
        case "connect", []:
            return read_connect(sandbox)
        case "client", [who]:
            client = read_client(sandbox, who)
            if client is None:
                raise ChannelUnknown(f"no client {who}")
            return client
    raise ChannelUnknown(f"no channel {kind}/{'/'.join(rest)}")


def _has_topic(sandbox: "Sandbox", topic: str) -> bool:
    """With every broker down nobody can say, and the board stays."""
    masters = sandbox.nodes.masters()
    return not masters or any(topic in node.running.topics.table for node in masters) or any(
        topic in known.topics for known in sandbox.nodes.down_masters().values())


def _running(sandbox: "Sandbox", name: str) -> BrokerNode:
    node = sandbox.nodes.find(name)
    if node is None or node.broker is None:
        raise ChannelUnknown(f"no running broker {name}")
    return node
