"""Routes of a client: the queues of each topic and the addresses of each broker."""

from sandbox.kernel.chance import Chance
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import BrokerData, TopicRouteData

READ = 4
WRITE = 2
MASTER_ID = 0


class RouteTable:
    """Routes by topic and addresses by broker name, as last received.

    An error or a missing answer changes nothing: queues and addresses of a deleted topic or a dead broker stay.
    RocketMQ: `topicRouteTable` and `brokerAddrTable` of `MQClientInstance`.
    """

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._routes: dict[str, TopicRouteData] = {}
        self._publish: dict[str, list[MessageQueue]] = {}
        self._subscribe: dict[str, list[MessageQueue]] = {}
        self.brokers: dict[str, dict[int, str]] = {}

    def learn(self, topic: str, route: TopicRouteData) -> bool:
        """Store a route from a name server; return True if it differs from the stored one."""
        if self._routes.get(topic) == route:
            return False
        self._routes[topic] = route
        for broker in route.brokers:
            self.brokers[broker.name] = dict(broker.addresses)
        self._publish[topic] = publish_queues(topic, route)
        self._subscribe[topic] = subscribe_queues(topic, route)
        return True

    def knows(self, topic: str) -> bool:
        return topic in self._routes

    def route(self, topic: str) -> TopicRouteData | None:
        return self._routes.get(topic)

    def publish_queues(self, topic: str) -> list[MessageQueue]:
        """Return the queues to which a producer may send; empty if no route is known."""
        return self._publish.get(topic, [])

    def subscribe_queues(self, topic: str) -> list[MessageQueue] | None:
        """Return the queues that a group assigns to its members, sorted; None if no route is known yet."""
        return self._subscribe.get(topic)

    def master(self, broker: str) -> str | None:
        return self.brokers.get(broker, {}).get(MASTER_ID)

    def address(self, broker: str, broker_id: int, *, only_this: bool) -> tuple[str, int] | None:
        """Return address and id of the requested node, or of another node of that broker unless `only_this`.

        None if no such node is known.  RocketMQ: `findBrokerAddressInSubscribe`.
        """
        nodes = self.brokers.get(broker, {})
        if broker_id in nodes:
            return nodes[broker_id], broker_id
        if only_this or not nodes:
            return None
        if broker_id != MASTER_ID and broker_id + 1 in nodes:
            return nodes[broker_id + 1], broker_id + 1
        other = min(nodes)
        return nodes[other], other

    def broker_of_topic(self, topic: str) -> str | None:
        """Return the address of one random broker of the topic: its master, else any of its slaves.

        None without a route.
        """
        route = self._routes.get(topic)
        if route is None or not route.brokers:
            return None
        return _address(self._chance.choice(sorted(route.brokers, key=lambda broker: broker.name)), self._chance)

    def all_addresses(self, *, masters_only: bool) -> list[tuple[str, int, str]]:
        """Return every known node as (broker name, id, address), sorted by name and id."""
        return [
            (name, broker_id, address)
            for name, nodes in sorted(self.brokers.items())
            for broker_id, address in sorted(nodes.items())
            if not masters_only or broker_id == MASTER_ID
        ]

    def drop_offline(self) -> None:
        """Remove addresses that no known route contains.  RocketMQ: `cleanOfflineBroker`."""
        named = {
            address
            for route in self._routes.values()
            for broker in route.brokers
            for address in broker.addresses.values()
        }
        for name, nodes in list(self.brokers.items()):
            kept = {broker_id: address for broker_id, address in nodes.items() if address in named}
            if kept:
                self.brokers[name] = kept
            else:
                del self.brokers[name]


def subscribe_queues(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    """Return queues 0 … readQueueNums − 1 of every readable broker, sorted as all members sort them."""
    return sorted(
        MessageQueue(topic, queue.broker, i)
        for queue in route.queues
        if queue.permission & READ
        for i in range(queue.read_queues)
    )


def publish_queues(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    """Return the queues of writable brokers that have a master, or those that the route's order configuration names."""
    if route.order_topic_conf:
        pairs = [part.split(":") for part in route.order_topic_conf.split(";") if part]
        return [MessageQueue(topic, name, i) for name, count in pairs for i in range(int(count))]
    with_master = {broker.name for broker in route.brokers if MASTER_ID in broker.addresses}
    return [
        MessageQueue(topic, queue.broker, i)
        for queue in sorted(route.queues, key=lambda queue: queue.broker)
        if queue.permission & WRITE and queue.broker in with_master
        for i in range(queue.write_queues)
    ]


def _address(broker: BrokerData, chance: Chance) -> str | None:
    if MASTER_ID in broker.addresses:
        return broker.addresses[MASTER_ID]
    return chance.choice([broker.addresses[i] for i in sorted(broker.addresses)]) if broker.addresses else None
