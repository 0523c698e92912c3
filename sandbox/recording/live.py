"""Frames of a running cluster, read by the same queries as the live boards."""

from collections.abc import Sequence
from urllib.parse import quote

from sandbox.cluster.cluster import Cluster
from sandbox.control.channel_names import ChannelUnknown, split_without_slug
from sandbox.queries.snapshot.channels import read_channel
from sandbox.recording.frame import Frame, state_of
from sandbox.recording.tree import Tree


def boards_of(cluster: Cluster) -> list[str]:
    """Return the board of every group on every topic to which it subscribes."""
    return sorted(
        {
            board_of(actor.settings.group, subscription.topic)
            for actor in cluster.actors.consumers()
            for subscription in actor.settings.subscriptions
        }
    )


def board_of(group: str, topic: str) -> str:
    """Return the channel name of a board, without a slug."""
    return f"board/{quote(group, safe='')}/{quote(topic, safe='')}"


def frame_of(cluster: Cluster, channels: Sequence[str]) -> Frame:
    """Return a frame of these channels, all of one turn.  A channel that does not exist now is left out."""
    tree: Tree = {}
    for name in channels:
        try:
            tree[name] = read_channel(cluster, *split_without_slug(name)).data
        except ChannelUnknown:
            continue
    state = state_of(cluster.clock.rate, cluster.epoch, tree)
    return Frame(cluster.journal.next_seq - 1, cluster.clock.now_ms(), state)
