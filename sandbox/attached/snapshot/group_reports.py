"""One group as its brokers and members report it, computed once per reading."""

from sandbox.attached.member_says import HeldQueue, MemberSays, computed_strategy
from sandbox.attached.picture import Picture
from sandbox.client.allocate import AllocateMessageQueueStrategy
from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import retry_topic
from sandbox.queries.rows.board import MemberQueues, MemberRow
from sandbox.queries.rows.member_words import MemberWords, differences
from sandbox.queries.snapshot.code_names import release_name
from sandbox.remoting.bodies import Connection

COLOURS = 6


class GroupSeen:
    def __init__(self, picture: Picture, group: str) -> None:
        self.picture = picture
        self.group = group
        self.members = picture.members_of(group)
        self.connections = picture.connections_of(group)
        self.says = {
            client_id: says for client_id in self.members if (says := picture.says.get((group, client_id))) is not None
        }
        self.held = picture.held_by(group)
        self.model = picture.model(group)
        self._topics = {retry_topic(group), *picture.topics_of_group(group)}

    @property
    def exists(self) -> bool:
        """True if the group has a member, a configuration, or a stored offset."""
        return (
            bool(self.members)
            or any(self.group in names for names in self.picture.groups.values())
            or any(self.group in table for table in self.picture.offsets.values())
        )

    @property
    def listener(self) -> str | None:
        return next((says.listener for says in self.says.values() if says.listener is not None), None)

    @property
    def strategy(self) -> str | None:
        return next((says.strategy for says in self.says.values() if says.strategy is not None), None)

    @property
    def all_report(self) -> bool:
        """True if every member reports which queues it holds."""
        return bool(self.members) and all(_reports_queues(self.says.get(client_id)) for client_id in self.members)

    def holder(self, mq: MessageQueue) -> tuple[str | None, HeldQueue | None]:
        return self.held.get(mq) or (None, None)

    def counts_from_zero(self, mq: MessageQueue) -> bool:
        """Return True if the group reads the queue but has no offset stored there (`rows.lag`).

        False while its broker's offsets are unknown.
        """
        return (
            mq.broker in self.picture.offsets
            and self.picture.committed(self.group, mq) is None
            and mq.topic in self._topics
        )

    def strategy_of(self, client_id: str) -> AllocateMessageQueueStrategy:
        says = self.says.get(client_id)
        return computed_strategy(says.strategy if says is not None else self.strategy)

    def shares(self, mqs: list[MessageQueue], members: list[str] | None = None) -> dict[str, list[MessageQueue]]:
        """Return the queues each member would compute from what brokers and name servers report now.

        Each member assigns queues by its own strategy.  Queues of a broker that no name server lists are left out.
        """
        routed = {name for name in {mq.broker for mq in mqs} if self.picture.is_routed(name)}
        mqs = [mq for mq in mqs if mq.broker in routed]
        among = self.online_members() if members is None else members
        shares: dict[str, list[MessageQueue]] = {}
        for client_id in among:
            try:
                shares[client_id] = list(self.strategy_of(client_id).allocate(self.group, client_id, mqs, among))
            except ClientError:
                shares[client_id] = []
        return shares

    def online_members(self) -> list[str]:
        """Return the client ids as brokers answer 38 and clients sort them: an id once for each of its connections."""
        return [client_id for client_id, members in self.connections.items() for _ in members]

    @property
    def shared_ids(self) -> list[str]:
        return [client_id for client_id, members in self.connections.items() if len(members) > 1]

    def twins(self, client_id: str) -> dict[str, Connection]:
        """Return further connections with that client id, by the key of their rows: `<client id> <address>`."""
        return {
            f"{client_id} {connection.client_address}": connection
            for connection in self.connections.get(client_id, ())[1:]
        }

    def assigned(self, mqs: list[MessageQueue]) -> dict[MessageQueue, str]:
        return {mq: client_id for client_id, mine in self.shares(mqs).items() for mq in mine}

    def member_rows(self, topic: str | None = None) -> dict[str, MemberRow]:
        """Return the members' cards by client id.  With `topic`, count only its queues."""
        rows: dict[str, MemberRow] = {}
        for client_id, member in self.members.items():
            first = next(iter(self.connections.get(client_id, ())), member)
            for key, connection in {client_id: first, **self.twins(client_id)}.items():
                rows[key] = self._member_row(key, connection, len(rows), topic)
        return rows

    def _member_row(self, key: str, member: Connection, number: int, topic: str | None) -> MemberRow:
        """Return one member's card.

        If two connections share a client id, a broker queries only one of them (307); the other's state is unknown.
        """
        says = self.says.get(key)
        return {
            "actor": None,
            "kind": None if says is None else says.kind,
            "letter": str(number + 1),
            "colour": number % COLOURS,
            "state": "running",
            "transport": "tcp",
            "language": member.language,
            "version": member.version,
            "release": release_name(member.version),
            "address": member.client_address,
            **_holdings(says, topic),
            "buffered_bytes": None,
            "fullest_bytes": None,
            "busy": None,
            "threads": None if says is None else says.threads,
            "since_ms": None if says is None else says.since_ms,
            "timers": {},
            "limits": None if says is None else says.limits,
            "work_ms": None,
            "slow": None,
            "same_id": len(self.connections.get(member.client_id, ())),
            "expires_at_ms": None,
            "reason": None,
            **self.words(key),
        }

    def words(self, client_id: str) -> MemberWords:
        """Return the subscriptions, model and listener that the member reports (307, as `mqadmin consumerStatus`).

        Brokers report only the group's subscription (203).  No broker reports the messages that a client drops.
        """
        says = self.says.get(client_id)
        subscriptions = () if says is None else says.subscriptions
        return {
            "subscriptions": [
                {"topic": sub.topic, "expression": sub.sub_string, "kind": sub.expression_type}
                for sub in subscriptions
                if sub.topic != retry_topic(self.group)
            ]
            if subscriptions
            else None,
            "model": None if says is None else says.model,
            "listener": None if says is None else says.listener,
            "dropped": None,
            "passed_over": None,
        }

    @property
    def members_differ(self) -> list[str]:
        return differences(map(self.words, self.members))


def _holdings(says: MemberSays | None, topic: str | None) -> MemberQueues:
    """Return the counts of the queues that a member holds.

    A member whose report has no queues (C++, pull consumers) may hold some, so its counts are unknown.
    """
    if not _reports_queues(says):
        return {"queues": None, "buffered": None, "fullest": None, "span": None}
    assert says is not None
    held = says.held(topic).values()
    counts = [queue.cached_count + queue.taken_count for queue in held]
    return {
        "queues": len(held),
        "buffered": sum(counts),
        "fullest": max(counts, default=0),
        "span": max(
            (queue.cached_max_offset - queue.cached_min_offset for queue in held if queue.cached_count), default=0
        ),
    }


def _reports_queues(says: MemberSays | None) -> bool:
    return says is not None and (bool(says.queues) or says.listener is not None)
