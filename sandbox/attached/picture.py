"""The last known state of a cluster.  Polls write it, snapshots read it; missing values were not reported."""

from typing import NamedTuple

from sandbox.attached.member_says import HeldQueue, MemberSays
from sandbox.broker.subscription_groups import BUILT_IN, SYSTEM_PREFIX
from sandbox.client.admin import BrokerRuntime
from sandbox.client.config import INNER_PRODUCER_GROUP
from sandbox.control.limits import AttachedLimits
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import dead_letter_topic, is_system, retry_topic
from sandbox.queries.rates import CommitRates, Rates
from sandbox.remoting.bodies import Connection, ConsumerConnection, ConsumeStats, TopicConfig, TopicOffset

PERM_READ = 4
RUNNING, UNREACHABLE, UNKNOWN = "running", "unreachable", "unknown"
MASTER = 0
GONE_MS = 24 * 3_600_000
"""A broker that no name server names is removed this long after its last answer."""

_BUILT_IN_GROUPS = frozenset((*BUILT_IN, "SELF_TEST_CONSUMER_GROUP", "TOOLS_CONSUMER", "FILTERSRV_CONSUMER"))

Brokers = dict[str, dict[int, str]]
"""Name → id → address, as in a name server's answer."""

Offsets = dict[str, dict[str, dict[int, int]]]
"""Group → topic → queue → committed offset."""


class ServerSeen(NamedTuple):
    """The state of one name server.  `brokers` None: it does not answer."""

    name: str  # ns-1
    address: str
    state: str = UNKNOWN
    brokers: Brokers | None = None
    trouble: str | None = None
    answered_ms: int | None = None  # its last answer


class BrokerSeen:
    """The state of one broker process.  `named`: a name server that answers lists it."""

    def __init__(self, name: str, broker_id: int, address: str) -> None:
        self.name = name
        self.broker_id = broker_id
        self.address = address
        self.state = UNKNOWN
        self.runtime = BrokerRuntime({})  # request 28
        self.trouble: str | None = None
        self.named = True
        self.answered_ms: int | None = None  # its last answer

    @property
    def lost(self) -> bool:
        """True if no name server lists the broker and it does not answer."""
        return not self.named and self.state == UNREACHABLE

    @property
    def node(self) -> str:
        return self.name if self.broker_id == MASTER else f"{self.name}.{self.broker_id}"


class Picture:
    """The last reported state of one cluster.  Tables are keyed by broker name and hold the master's values."""

    def __init__(self, rates: Rates[MessageQueue], commits: CommitRates) -> None:
        self.rates = rates
        self.commits = commits
        self.clusters: set[str] = set()
        self.servers: dict[str, ServerSeen] = {}  # by address
        self.brokers: dict[str, BrokerSeen] = {}  # by address
        self._masters: dict[str, BrokerSeen] = {}
        self.topics: dict[str, dict[str, TopicConfig]] = {}
        self.system_topics: dict[str, frozenset[str]] = {}
        self.groups: dict[str, frozenset[str]] = {}
        self.offsets: dict[str, Offsets] = {}
        self.ends: dict[tuple[str, str], dict[int, TopicOffset]] = {}  # (broker, topic)
        self.ends_ms: dict[tuple[str, str], int] = {}  # when they were reported
        self.members: dict[str, dict[str, ConsumerConnection]] = {}  # broker → group
        self.asked_for_members: dict[str, set[str]] = {}  # broker → groups whose members it has reported, or none
        self.says: dict[tuple[str, str], MemberSays] = {}  # (group, client)
        self.stats: dict[str, dict[str, ConsumeStats]] = {}  # broker → group
        self.producers: dict[str, dict[str, dict[str, Connection]]] = {}  # broker → group → client
        self.seen_ms: int | None = None
        self.left_out: dict[str, int] = {}  # hidden by a limit: kind → total number

    # Brokers.

    def masters(self) -> dict[str, BrokerSeen]:
        """Return the masters by broker name, including those that do not answer."""
        return self._masters

    def in_order(self) -> list[BrokerSeen]:
        """Return the brokers by name, each master followed by its slaves."""
        return sorted(self.brokers.values(), key=lambda broker: (broker.name, broker.broker_id))

    def set_brokers(self, reported: Brokers, most: int, now_ms: int) -> None:
        """Update the brokers from what the name servers report.

        Name servers that answer list the running brokers; others stay, as they may have crashed.  A broker is
        removed when another process has its name and id or its address, or a day after its last answer.
        """
        places = [
            (name, broker_id, address)
            for name, ids in sorted(reported.items())
            for broker_id, address in sorted(ids.items())
        ]
        self._limited("brokers", len(places), most)
        keep = {address: (name, broker_id) for name, broker_id, address in places[:most]}
        named = set(keep.values())
        for address, broker in list(self.brokers.items()):
            broker.named = keep.get(address) == (broker.name, broker.broker_id)
            if not broker.named and (
                address in keep
                or (broker.name, broker.broker_id) in named
                or broker.answered_ms is None
                or now_ms - broker.answered_ms > GONE_MS
            ):
                self._drop(address)
        for address, (name, broker_id) in keep.items():
            if address not in self.brokers:
                self.brokers[address] = BrokerSeen(name, broker_id, address)
        self._masters = {broker.name: broker for broker in self.in_order() if broker.broker_id == MASTER}

    def _drop(self, address: str) -> None:
        broker = self.brokers.pop(address)
        self.forget_tables(broker)
        if not any(other.name == broker.name for other in self.brokers.values()):
            for table in (self.topics, self.system_topics, self.groups, self.offsets):
                table.pop(broker.name, None)
            for queue in [queue for queue in self.ends if queue[0] == broker.name]:
                del self.ends[queue], self.ends_ms[queue]

    def is_routed(self, name: str) -> bool:
        """Return True if a name server lists a broker of that name, so that members allocate its queues."""
        return any(broker.name == name and broker.named for broker in self.brokers.values())

    def silent_since_ms(self, name: str) -> int | None:
        """Return the time of the last answer of the master of that name, if it does not answer now; else None.

        Its values are as of that time.
        """
        master = self._masters.get(name)
        return master.answered_ms if master is not None and master.state == UNREACHABLE else None

    def forget_tables(self, broker: BrokerSeen) -> None:
        """Drop the last report of a master that does not answer: members may have left since."""
        if broker.broker_id == MASTER:
            self.members.pop(broker.name, None)
            self.producers.pop(broker.name, None)
            self.asked_for_members.pop(broker.name, None)
            self.stats.pop(broker.name, None)

    # Topics and queues.

    @property
    def all_topics_known(self) -> bool:
        """True if each master has reported its topics.  Before that, an unknown topic may exist."""
        return bool(self.topics) and self._masters.keys() <= self.topics.keys()

    def topic_names(self) -> list[str]:
        """Return all topics but the system's own, ordinary ones first."""
        topics = {topic for table in self.topics.values() for topic in table if not self.is_system(topic)}
        return sorted(topics, key=lambda topic: (topic.startswith("%"), topic))

    def is_system(self, topic: str) -> bool:
        """Return True if the topic is a system topic.  Each broker and cluster has a topic with its name."""
        return (
            is_system(topic)
            or topic in self.clusters
            or topic in self.topics
            or any(topic in names for names in self.system_topics.values())
        )

    def configs(self, topic: str) -> dict[str, TopicConfig]:
        """Return the topic's configuration by broker name, sorted."""
        return {name: table[topic] for name, table in sorted(self.topics.items()) if topic in table}

    def read_queues(self, topic: str) -> list[MessageQueue]:
        """Return the queues of the topic that consumers read."""
        return [
            MessageQueue(topic, name, queue_id)
            for name, config in self.configs(topic).items()
            if config.permission & PERM_READ
            for queue_id in range(config.read_queues)
        ]

    def set_offsets(self, broker: str, reported: Offsets) -> None:
        """Store a broker's table of committed offsets.

        Offsets are polled more often than the ends of queues: a higher commit shows that its queue is longer.
        """
        before = self.offsets.get(broker, {})
        self.offsets[broker] = reported
        for group, topics in reported.items():
            known = before.get(group, {})
            for topic, queues in topics.items():
                for queue_id, offset in queues.items():
                    self.commits.note((group, topic, broker, queue_id), offset)
                    if offset != known.get(topic, {}).get(queue_id):
                        self.is_at_least(broker, topic, queue_id, offset)

    def is_at_least(self, broker: str, topic: str, queue_id: int, max_offset: int) -> None:
        """Raise a queue's known max offset, until its broker reports the end of the queue again."""
        ends = self.ends.get((broker, topic), {})
        if queue_id in ends and max_offset > ends[queue_id].max_offset:
            ends[queue_id] = ends[queue_id]._replace(max_offset=max_offset)

    def asked_ms(self, topic: str) -> int | None:
        """Return when the ends of the topic's queues were reported, by the answering broker with the oldest report."""
        reported = [
            at_ms
            for (name, other), at_ms in self.ends_ms.items()
            if other == topic and self.silent_since_ms(name) is None
        ]
        return min(reported, default=None)

    def end(self, mq: MessageQueue) -> TopicOffset | None:
        return self.ends.get((mq.broker, mq.topic), {}).get(mq.queue_id)

    # Groups.

    def group_names(self) -> list[str]:
        """Return the groups with a member, a stored offset or a configuration, without built-in ones."""
        groups: set[str] = set().union(*self.groups.values()) if self.groups else set()
        groups |= {group for table in self.offsets.values() for group in table}
        groups |= {group for table in self.members.values() for group in table}
        return sorted(group for group in groups if not is_built_in(group))

    def brokers_of_group(self, group: str) -> list[str]:
        """Return the brokers that may have members: a member's heartbeat creates its retry topic there."""
        retry = retry_topic(group)
        return sorted(
            name for name, table in self.topics.items() if retry in table or group in self.offsets.get(name, {})
        )

    def committed(self, group: str, mq: MessageQueue) -> int | None:
        return self.offsets.get(mq.broker, {}).get(group, {}).get(mq.topic, {}).get(mq.queue_id)

    def topics_of_group(self, group: str) -> list[str]:
        """Return the topics that the group subscribes to, or has stored offsets of; its retry topic last."""
        topics = {sub.topic for connection in self.connections(group) for sub in connection.subscriptions}
        topics |= {topic for table in self.offsets.values() for topic in table.get(group, {})}
        return sorted(topics, key=lambda topic: (topic.startswith("%"), topic))

    def connections(self, group: str) -> list[ConsumerConnection]:
        """Return the reports of all brokers that have members of the group."""
        return [table[group] for _, table in sorted(self.members.items()) if group in table]

    def members_of(self, group: str) -> dict[str, Connection]:
        """Return the group's connections by client id, sorted."""
        members = {member.client_id: member for reported in self.connections(group) for member in reported.connections}
        return dict(sorted(members.items()))

    def connections_of(self, group: str) -> dict[str, list[Connection]]:
        """Return the connections of each member by client id, from the broker that reports most for that id.

        Brokers key their table by connection, and the id of two connections is in their answer to 38 twice.
        """
        connections: dict[str, list[Connection]] = {}
        for reported in self.connections(group):
            mine: dict[str, list[Connection]] = {}
            for member in reported.connections:
                mine.setdefault(member.client_id, []).append(member)
            for client_id, members in mine.items():
                if len(members) > len(connections.get(client_id, ())):
                    connections[client_id] = sorted(members, key=lambda connection: connection.client_address)
        return dict(sorted(connections.items()))

    def member_count(self, group: str) -> int | None:
        """Return the number of members.

        None while a broker that may have members has not reported, or does not answer.
        """
        count = sum(map(len, self.connections_of(group).values()))
        reported = all(group in self.asked_for_members.get(name, ()) for name in self.brokers_of_group(group))
        return count if count or reported else None

    def place_of(self, group: str, client_id: str) -> str | None:
        """Return the address of a broker that has this member, or None."""
        masters = self.masters()
        for name, table in sorted(self.members.items()):
            reported = table.get(group)
            if (
                reported is not None
                and name in masters
                and any(connection.client_id == client_id for connection in reported.connections)
            ):
                return masters[name].address
        return None

    def held_by(self, group: str) -> dict[MessageQueue, tuple[str, HeldQueue]]:
        """Return the owner of each queue, by the members' reports.  A queue being dropped has no owner."""
        holders: dict[MessageQueue, tuple[str, HeldQueue]] = {}
        for client_id in self.members_of(group):
            says = self.says.get((group, client_id))
            for mq, held in says.queues.items() if says is not None else ():
                if not held.dropped:
                    holders[mq] = (client_id, held)
        return holders

    def model(self, group: str) -> str | None:
        return next((reported.message_model for reported in self.connections(group)), None)

    def limited_topics(self, limits: AttachedLimits) -> list[str]:
        """Return ordinary topics up to the limit, plus the retry and dead-letter topics of the groups shown."""
        names = self.topic_names()
        ordinary = [topic for topic in names if not topic.startswith("%")]
        self._limited("topics", len(ordinary), limits.topics)
        of_groups = {
            topic
            for group in self.limited_groups(limits.groups)
            for topic in (retry_topic(group), dead_letter_topic(group))
        }
        return [*ordinary[: limits.topics], *[topic for topic in names if topic in of_groups]]

    def limited_groups(self, most: int) -> list[str]:
        names = self.group_names()
        self._limited("groups", len(names), most)
        return names[:most]

    def _limited(self, what: str, there_are: int, most: int) -> None:
        if there_are > most:
            self.left_out[what] = there_are
        else:
            self.left_out.pop(what, None)


def is_built_in(group: str) -> bool:
    return group in _BUILT_IN_GROUPS or group.startswith(SYSTEM_PREFIX) or group == INNER_PRODUCER_GROUP
