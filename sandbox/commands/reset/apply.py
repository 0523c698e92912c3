"""Execution of a sandbox's offset reset, and its verification after a minute."""

from sandbox.broker.consumers import MemberInfo
from sandbox.client.push_consumer import PushConsumer
from sandbox.cluster.cluster import Cluster
from sandbox.commands.reset.targets import Targets, or_never, reset_fact
from sandbox.journal.events import ResetStepDone
from sandbox.queries.rows.groups import GroupView
from sandbox.remoting.bodies import ResetOffsetBody
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import ResetOffsetHeader

WATCH_S = 60.0  # a late commit within this time is reported
KEPT = 20  # resets that can be undone


def apply_targets(
    cluster: Cluster,
    group: str,
    topic: str,
    method: str,
    targets: Targets,
    *,
    reset_id: str,
    reason: str,
    by: str,
    timestamp_ms: int = 0,
) -> None:
    """Reset the offsets: send them to the members (online), or write the brokers' tables (offline).

    An undo without members writes the tables, too.
    """
    view = GroupView(cluster, group)
    before = {mq: view.committed(mq) for mq in targets}
    cluster.journal.write(reset_fact(reset_id, group, method, before, targets, reason=reason, by=by))
    cluster.record.resets.append(
        {
            "id": reset_id,
            "group": group,
            "topic": topic,
            "at_ms": cluster.clock.now_ms(),
            "rows": [[mq.broker, mq.queue_id, before[mq], targets[mq]] for mq in sorted(targets)],
        }
    )
    del cluster.record.resets[:-KEPT]
    if (stats := cluster.actors.group_stats.get(group)) is not None:
        for mq, offset in targets.items():
            stats.reset(mq, offset)
    members = view.registered()
    if members:
        _send_to_members(cluster, view, topic, targets, timestamp_ms)
        _watch(cluster, reset_id, group, targets, set(members))
    else:
        for mq, offset in sorted(targets.items()):
            view.masters[mq.broker].consumer_offsets.commit(group, mq.topic, mq.queue_id, offset, "reset")


def _send_to_members(cluster: Cluster, view: GroupView, topic: str, targets: Targets, timestamp_ms: int) -> None:
    """Send request 220 to every connection of each member.

    Each member receives it from the first broker that has it in its table, with the queues of all brokers.
    """
    reached: set[str] = set()
    body = ResetOffsetBody({(mq.topic, mq.broker, mq.queue_id): offset for mq, offset in targets.items()})
    ext = ResetOffsetHeader(topic, view.group, timestamp_ms, force=False).to_ext()
    for broker in view.masters.values():
        group = broker.consumers.groups.get(view.group)
        for member in sorted(group.channels.values(), key=_client_id) if group is not None else ():
            if member.client_id not in reached:
                encoded = body.encode_for_c() if member.language == "CPP" else body.encode()
                kind = broker.connections.serialize_type(member.channel)
                broker.connections.send(
                    member.channel,
                    RemotingCommand(
                        RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext, encoded, flag=FLAG_ONEWAY, serialize_type=kind
                    ),
                )
        reached |= set(group.members) if group is not None else set()


def _client_id(member: MemberInfo) -> str:
    return member.client_id


def _watch(cluster: Cluster, reset_id: str, group: str, targets: Targets, members: set[str]) -> None:
    """Check a minute after an online reset if a late commit has overwritten a target.

    In-process members report their steps; of external ones only the request is known.
    """

    def step(client_id: str, name: str) -> None:
        cluster.journal.write(ResetStepDone(reset_id, client_id, name))

    def compare() -> None:
        view = GroupView(cluster, group)
        if any(view.pulls_by_itself(broker) for broker in view.masters.values()):
            return  # they got the request but have no listener: nothing to verify
        overwritten = {
            view.owner(mq)
            for mq, target in targets.items()
            if mq.broker in view.masters and or_never(view.committed(mq)) < target
        }
        for client_id in sorted(members):
            step(client_id, "overwritten" if client_id in overwritten else "verified")

    view = GroupView(cluster, group)
    for client_id in sorted(members):
        consumers = [actor.consumer for actor in view.actors if actor.client_id == client_id]
        pushers = [consumer for consumer in consumers if isinstance(consumer, PushConsumer)]
        for pusher in pushers:
            pusher.reset_id = reset_id
        if not pushers:
            step(client_id, "told")
    cluster.clock.call_later(WATCH_S, compare)
