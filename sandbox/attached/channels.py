"""Channels of an attached cluster by name.  Reading a channel makes the polls refresh its data."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.attached.snapshot.boards import is_there, read_board, read_locks, read_topics
from sandbox.attached.snapshot.group_reports import GroupSeen
from sandbox.attached.snapshot.groups import read_groups
from sandbox.attached.snapshot.rebalance import read_rebalance
from sandbox.attached.snapshot.topology import read_topology
from sandbox.control.channel_names import ChannelUnknown
from sandbox.message.topic_names import retry_topic

if TYPE_CHECKING:
    from sandbox.attached.cluster import AttachedCluster


def read_channel(cluster: "AttachedCluster", kind: str, rest: list[str]) -> Mapping[str, object]:
    """Return the data of a channel.

    Raises ChannelUnknown for unknown names, and for channels that only a sandbox has.
    """
    picture, watch = cluster.picture, cluster.watch
    match kind, rest:
        case "board", [group, topic]:
            view = _group(cluster, group)
            if not is_there(picture, topic) and topic != retry_topic(group):
                raise ChannelUnknown(f"no topic {topic}")
            watch.look_at(group=view.group, topic=topic)
            return read_board(picture, group, topic, cluster.resets.causes)
        case "locks", [group]:
            watch.look_at(group=_group(cluster, group).group)
            return read_locks(picture, group)
        case "rebalance", [group]:
            watch.look_at(group=_group(cluster, group).group)
            return read_rebalance(GroupSeen(picture, group))
        case "groups", []:
            watch.look_at_all()
            states = read_groups(picture, picture.limited_groups(cluster.limits.groups), cluster.clock.now_ms())
            return cluster.findings.marked(states)
        case "findings", []:
            watch.look_at_all()
            return cluster.findings.read()
        case "topics", []:
            watch.look()
            return read_topics(picture, cluster.limits)
        case "topology", []:
            watch.look()
            return read_topology(picture)
    raise ChannelUnknown(f"a real cluster has no channel {kind}/{'/'.join(rest)}")


def _group(cluster: "AttachedCluster", group: str) -> GroupSeen:
    """Return the group.  Raises ChannelUnknown if it does not exist.

    Before any broker has reported its offsets, that is unknown.
    """
    view = GroupSeen(cluster.picture, group)
    if not view.exists and cluster.picture.offsets:
        raise ChannelUnknown(f"no group {group}")
    return view
