"""A group as the whole sandbox has it: the brokers' tables and the in-process members, combined."""

from collections.abc import Iterable
from dataclasses import replace

from sandbox.broker.broker import Broker
from sandbox.broker.consumers import MemberInfo
from sandbox.client.process_queue import ProcessQueue
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.cluster import Cluster
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import retry_topic
from sandbox.remoting.channel import LOOPBACK

PERM_READ = 4
PULLED_MS = 30_000  # a reader pulls again sooner: a broker holds a pull for 20 s at most
EXPIRE_MS = 120_000  # a member silent for so long is dropped (spec broker-behaviour 5)


class GroupView:
    """The view of one group.  Use it only within the turn in which it was made."""

    def __init__(self, cluster: Cluster, group: str) -> None:
        self._cluster = cluster
        self.group = group
        self.actors: list[ConsumerActor] = cluster.actors.consumers(group)
        self.masters = {node.name: node.running for node in cluster.nodes.masters()}
        self.down = cluster.nodes.down_masters()
        self.slaves = {name: slave for name in self.down if (slave := cluster.nodes.slave_of(name)) is not None}
        self.answering = {**{name: slave.running for name, slave in self.slaves.items()}, **self.masters}
        """What clients find under a broker's name: its master, or a slave of one that is down."""
        self._skews = {node.name: node.clock.skew_ms for node in [*self.slaves.values(), *cluster.nodes.masters()]}
        self.by_row = _by_row(self.actors)
        self._rows = {actor.label: key for key, actor in self.by_row.items()}
        self.by_client = {actor.client_id: actor for actor in reversed(self._in_order()) if actor.client_id}
        """The actor of each client id; of several with one id, the first that lives."""
        self._registered: dict[str, MemberInfo] | None = None
        self._reads: set[str] | None = None
        self._at_one_broker: dict[str, list[MemberInfo]] | None = None
        self._connections: dict[str, list[MemberInfo]] | None = None
        self._holders: dict[MessageQueue, tuple[ConsumerActor, ProcessQueue]] = {}
        for actor in sorted(self.actors, key=lambda each: (each.state != "hung", not each.is_copy)):  # later ones win
            if actor.consumer is not None and actor.lives:
                for mq, pq in actor.consumer.process_queues.items():
                    self._holders[mq] = (actor, pq)

    def _in_order(self) -> list[ConsumerActor]:
        return sorted(self.actors, key=lambda actor: (not actor.lives, actor.is_copy))

    def rightly_ms(self, broker: str, at_ms: int) -> int:
        """Return a time of a broker's clock converted to the sandbox's clock."""
        return at_ms - self._skews.get(broker, 0)

    @property
    def model(self) -> str:
        for actor in self.actors:
            return actor.settings.model
        for broker in self.answering.values():
            if self.group in broker.consumers.groups:
                return broker.consumers.groups[self.group].model
        return "CLUSTERING"

    @property
    def listener(self) -> str | None:
        """The listener type of the group's in-process members.

        None if it has none, as external clients do not report it.
        """
        return self.actors[0].settings.listener if self.actors else None

    @property
    def exists(self) -> bool:
        """True if the group has a member, a subscription group config, or a stored offset."""
        if self.actors or self.registered() or any(self.group in known.groups for known in self.down.values()):
            return True
        return any(
            self.group in broker.subscription_groups.table or broker.consumer_offsets.topics_of(self.group)
            for broker in self.masters.values()
        )

    # Queues.

    def read_queues(self, topic: str) -> list[MessageQueue]:
        """Return the readable queues of running masters, in the order in which consumers sort them."""
        return [
            MessageQueue(topic, name, queue_id)
            for name, broker in self.masters.items()
            if (config := broker.topics.table.get(topic)) is not None and config.permission & PERM_READ
            for queue_id in range(config.read_queues)
        ]

    def routed_queues(self, topic: str) -> list[MessageQueue]:
        """Return the queues members assign once they have the current routes.

        A running slave keeps the queues of its dead master in the route.
        """
        return sorted([*self.read_queues(topic), *self._down_queues(topic, self.slaves)])

    def all_queues(self, topic: str) -> list[MessageQueue]:
        """Return the readable queues of all masters, including those that are down."""
        return sorted([*self.read_queues(topic), *self._down_queues(topic, self.down)])

    def _down_queues(self, topic: str, names: Iterable[str]) -> list[MessageQueue]:
        return [
            MessageQueue(topic, name, queue_id)
            for name in names
            for queue_id in range(self.down[name].read_queues(topic))
        ]

    def write_queues(self, topic: str) -> list[MessageQueue]:
        return [
            MessageQueue(topic, name, queue_id)
            for name, broker in self.masters.items()
            if (config := broker.topics.table.get(topic)) is not None
            for queue_id in range(config.write_queues)
        ]

    def reads(self, topic: str) -> bool:
        """Return True if a member subscribes to the topic, or did when it was stopped, or an offset is stored there.

        In a queue without a stored offset all messages then count as lag (`rows.lag`).
        """
        if self._reads is None:
            self._reads = {*topics_of(self), retry_topic(self.group)}
            for broker in self.masters.values():
                self._reads |= set(broker.consumer_offsets.topics_of(self.group))
        return topic in self._reads

    def committed(self, mq: MessageQueue) -> int | None:
        broker = self.masters.get(mq.broker)
        return broker.consumer_offsets.get(self.group, mq.topic, mq.queue_id) if broker is not None else None

    def holder(self, mq: MessageQueue) -> tuple[ConsumerActor, ProcessQueue] | None:
        """Return the in-process member that holds the queue, and its process queue; None without one.

        In clustering at most one member holds a queue that it does not release.  A hung member still holds queues
        that others acquired in the meantime.  Then one of the others is returned, because it reads the queue.  If
        several have one client id, the first is returned.
        """
        return self._holders.get(mq)

    def process_queue(self, mq: MessageQueue) -> ProcessQueue | None:
        held = self._holders.get(mq)
        return held[1] if held is not None else None

    def in_memory(self, mq: MessageQueue) -> int | None:
        held = self._holders.get(mq)
        if held is None or held[0].consumer is None:
            return None
        return held[0].consumer.offset_store.read_memory(mq)

    def owner(self, mq: MessageQueue) -> str | None:
        """Return the row key of the member that holds the queue's process queue.

        If no in-process member holds it, return the registered external member that pulled it last.  None: no member.
        """
        held = self._holders.get(mq)
        return self.row_of(held[0]) if held is not None else self.wire_owner(mq)

    def wire_owner(self, mq: MessageQueue) -> str | None:
        broker = self.masters.get(mq.broker)
        pull = broker.pulls.get(self.group, mq) if broker is not None else None
        if pull is None or pull.client_id in self.by_client or pull.client_id not in self.registered():
            return None
        if pull.client_id in self.shared_ids():  # a queue that one read before the other came may have no reader
            age_ms = self._cluster.clock.now_ms() - self.rightly_ms(mq.broker, pull.at_ms)
            return pull.client_id if age_ms <= PULLED_MS else None
        return pull.client_id

    # Members.

    def row_of(self, actor: ConsumerActor) -> str:
        """Return the key of a member's row: its client id, with its label if an earlier member has that id too."""
        return self._rows[actor.label]

    def row_of_client(self, client_id: str) -> str:
        """Return the key of the row for a client id of the brokers' tables."""
        actor = self.by_client.get(client_id)
        return client_id if actor is None else self.row_of(actor)

    def rows_of_client(self, client_id: str) -> list[str]:
        """Return the row keys of all living members with a client id."""
        ours = [key for key, actor in self.by_row.items() if actor.client_id == client_id and actor.lives]
        return ours or [client_id, *self.twins(client_id)]

    def is_read_beside(self, actor: ConsumerActor, mq: MessageQueue) -> bool:
        """Return whether another running member with the same client id holds the queue too."""
        return any(
            other is not actor
            and other.client_id == actor.client_id
            and other.lives
            and other.consumer is not None
            and mq in other.consumer.process_queues
            for other in self.actors
        )

    def connection_of(self, actor: ConsumerActor) -> MemberInfo | None:
        """Return the actor's member info at a broker; of several connections with its client id, its own."""
        infos = self.at_one_broker().get(actor.client_id, ())
        if len(infos) < 2 and not actor.is_copy:
            return self.registered().get(actor.client_id)
        return next(
            (
                info
                for info in infos
                if self._cluster.node_names.name_of(info.channel.remote)
                == self._cluster.node_names.node("actor", actor.label)
            ),
            None,
        )

    def registered(self) -> dict[str, MemberInfo]:
        """Return the members in the brokers' tables, by client id, sorted."""
        if self._registered is None:
            members: dict[str, MemberInfo] = {}
            for name, broker in self.answering.items():
                group = broker.consumers.groups.get(self.group)
                if group is not None:
                    members |= (
                        group.members
                        if not self._skews[name]
                        else {
                            client_id: replace(
                                info,
                                since_ms=self.rightly_ms(name, info.since_ms),
                                last_update_ms=self.rightly_ms(name, info.last_update_ms),
                            )
                            for client_id, info in group.members.items()
                        }
                    )
            self._registered = dict(sorted(members.items()))
        return self._registered

    def connections(self) -> dict[str, list[MemberInfo]]:
        """Return, by client id, every connection of each member at all brokers that answer."""
        if self._connections is None:
            self._connections = {}
            for broker in self.answering.values():
                group = broker.consumers.groups.get(self.group)
                for info in group.channels.values() if group is not None else ():
                    self._connections.setdefault(info.client_id, []).append(info)
        return self._connections

    def online_members(self) -> list[str]:
        """Return the response to GET_CONSUMER_LIST_BY_GROUP (38), sorted as clients sort, one id per connection.

        RocketMQ keys its consumer table by connection (`ConsumerGroupInfo.channelInfoTable`), so a client id with
        two connections is listed twice.  A client takes the share of its id's first entry; no client takes the other
        shares.
        """
        return sorted(client_id for client_id, infos in self.at_one_broker().items() for _ in infos)

    def at_one_broker(self) -> dict[str, list[MemberInfo]]:
        """Return, by client id, the connections of each member at the broker that has most of them, oldest first."""
        if self._at_one_broker is None:
            self._at_one_broker = {}
            for broker in self.answering.values():
                group = broker.consumers.groups.get(self.group)
                mine: dict[str, list[MemberInfo]] = {}
                for info in group.channels.values() if group is not None else ():
                    mine.setdefault(info.client_id, []).append(info)
                for client_id, infos in mine.items():
                    if len(infos) > len(self._at_one_broker.get(client_id, ())):
                        infos.sort(key=lambda info: (info.since_ms, info.channel.remote))
                        self._at_one_broker[client_id] = infos
        return self._at_one_broker

    def shared_ids(self) -> list[str]:
        """Return the client ids that several connections have.

        Each of these connections computes the same queues, and other queues have no reader.
        """
        return sorted(client_id for client_id, infos in self.at_one_broker().items() if len(infos) > 1)

    def twins(self, client_id: str) -> dict[str, MemberInfo]:
        """Return the further connections of a wire client's id, by the keys of their rows: `<client id> <address>`."""
        if client_id in self.by_client:
            return {}
        return {f"{client_id} {info.channel.remote}": info for info in self.at_one_broker().get(client_id, ())[1:]}

    def known_members(self) -> set[str]:
        """Return the client ids of in-process members in any state."""
        return set(self.by_client)

    def is_leftover(self, client_id: str) -> bool:
        """Return True if the client id is that of an earlier in-process client that brokers have not yet dropped."""
        info = self.registered().get(client_id)
        if info is not None and info.channel.transport_kind != LOOPBACK:
            return False
        return client_id.startswith("10.0.0.") and "@" in client_id and client_id not in self.by_client

    def is_silent(self, row: str) -> bool:
        actor = self.by_row.get(row)
        return actor is not None and actor.state == "hung"

    def pulls_by_itself(self, broker: Broker) -> bool:
        """Return True if the members at the broker are pull or lite pull consumers.

        Those ignore a reset request (220).
        """
        group = broker.consumers.groups.get(self.group)
        return group is not None and group.consume_type == "CONSUME_ACTIVELY"

    def expires_at_ms(self, row: str, info: MemberInfo | None) -> int | None:
        """Return the time when brokers will drop the member if it sends no heartbeat; None while it sends them."""
        return info.last_update_ms + EXPIRE_MS if info is not None and self.is_silent(row) else None

    def pulled_by(self, client_id: str) -> list[MessageQueue]:
        """Return the queues that a wire member pulled last."""
        topics = {
            topic
            for broker in self.masters.values()
            if (group := broker.consumers.groups.get(self.group)) is not None
            for topic in group.subscriptions
        }
        return [mq for topic in sorted(topics) for mq in self.read_queues(topic) if self.wire_owner(mq) == client_id]


def _by_row(actors: list[ConsumerActor]) -> dict[str, ConsumerActor]:
    """Return the actors by the keys of `GroupView.row_of`, in the order of `actors`."""
    keys: dict[str, str] = {}
    for actor in sorted(actors, key=lambda actor: actor.is_copy):
        own = actor.client_id or actor.label
        keys[actor.label] = f"{own} {actor.label}" if own in keys.values() else own
    return {keys[actor.label]: actor for actor in actors}


def topics_of(view: GroupView) -> list[str]:
    """Return the topics the group subscribes to, its retry topic last."""
    groups = [broker.consumers.groups.get(view.group) for broker in view.answering.values()]
    topics = {topic for group in groups if group is not None for topic in group.subscriptions}
    topics |= {topic for known in view.down.values() for topic in known.groups.get(view.group, ())}
    topics |= {subscription.topic for actor in view.actors for subscription in actor.settings.subscriptions}
    return sorted(topics, key=lambda topic: (topic.startswith("%"), topic))
