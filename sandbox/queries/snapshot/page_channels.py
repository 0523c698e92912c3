"""The channels of a sandbox's pages, without the slug: those of its groups, topics, clients and brokers."""

from urllib.parse import quote

from sandbox.cluster.cluster import Cluster
from sandbox.message.topic_names import retry_topic
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.groups import group_names, topics_read
from sandbox.queries.snapshot_cache import cache_of


def detail_channels(cluster: Cluster) -> list[str]:
    """Return all channels of Locks, Rebalance, Client, Topology, Store and Index."""
    groups, nodes = group_names(cluster), sorted(node.name for node in cluster.nodes.brokers)
    clients = sorted({*cluster.actors.by_label, *cache_of(cluster).lives.known()})
    return [
        "topology",
        *(f"{kind}/{quote(group, safe='')}" for group in groups for kind in ("locks", "rebalance")),
        *(f"client/{quote(client, safe='')}" for client in clients),
        *(name for node in nodes for name in (f"store/{node}", f"store/{node}/disk", f"index/{node}")),
    ]


def board_channels(cluster: Cluster) -> list[str]:
    """Return the channels of the Board of each group and each topic that it reads, and of What is wrong."""
    boards = [
        (group, topic)
        for group in group_names(cluster)
        for topic in (*topics_read(GroupView(cluster, group)), retry_topic(group))
    ]
    return [
        "findings",
        "groups",
        "topics",
        *(f"board/{quote(group, safe='')}/{quote(topic, safe='')}" for group, topic in boards),
    ]
