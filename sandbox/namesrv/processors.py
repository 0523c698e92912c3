"""Request processors of a name server."""

import zlib

from sandbox.journal.events import BrokerRegistered, RouteChanged
from sandbox.journal.journal import Journal
from sandbox.kernel.errors import BrokerRefused
from sandbox.namesrv.administration import AdministrationProcessor, Handler
from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.kv_config import ORDERS, KVConfigManager
from sandbox.namesrv.route_info import Removal, RouteInfoManager
from sandbox.remoting.bodies import DataVersion, KVTable, RegisterBrokerBody, TopicConfigTable, TopicList
from sandbox.remoting.bodies.packed_registration import unpack
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import text
from sandbox.remoting.headers import (
    BrokerNameHeader,
    DeleteTopicInNamesrvHeader,
    RegisterBrokerHeader,
    RegisterBrokerResponseHeader,
    RouteHeader,
    UnregisterBrokerHeader,
)


class NameServerProcessor:
    """Handlers of requests for routes and registrations.  RocketMQ: `DefaultRequestProcessor` (spec remoting 2.5)."""

    def __init__(
        self, name: str, config: NameServerConfig, routes: RouteInfoManager, kv: KVConfigManager, journal: Journal
    ) -> None:
        self._name = name
        self._administration = AdministrationProcessor(config, routes, kv)
        self._routes = routes
        self._kv = kv
        self._journal = journal

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.REGISTER_BROKER: self.register,
            RequestCode.UNREGISTER_BROKER: self.unregister,
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self.route,
            RequestCode.GET_BROKER_CLUSTER_INFO: self.cluster,
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: self.topics,
            RequestCode.GET_TOPICS_BY_CLUSTER: self.topics_of_cluster,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: self.system_topics,
            RequestCode.DELETE_TOPIC_IN_NAMESRV: self.delete_topic,
            RequestCode.WIPE_WRITE_PERM_OF_BROKER: self.wipe_write,
            RequestCode.ADD_WRITE_PERM_OF_BROKER: self.add_write,
            RequestCode.QUERY_DATA_VERSION: self.data_version,
            **self._administration.handlers(),
        }

    def register(self, c: RemotingCommand, channel: Channel) -> RemotingCommand:
        header = RegisterBrokerHeader.from_ext(c.ext)
        body = c.body or b""
        if header.body_crc32 and zlib.crc32(body) & 0x7FFF_FFFF != header.body_crc32:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, "crc32 not match")
        table = TopicConfigTable(DataVersion(), {})
        if body:
            table = (unpack(body) if header.compressed else RegisterBrokerBody.decode(body)).table
        done = self._routes.register(header, table, channel)
        changed = done.new_address or bool(done.topics)
        if self._journal.tracing:
            self._journal.write(
                BrokerRegistered(
                    name_server=self._name, broker=header.broker, broker_id=header.broker_id, changed=changed
                )
            )
        if changed:
            self._route_changed(header.broker, "registered", done.topics)
        ext = RegisterBrokerResponseHeader(done.master_ha_address, done.master_address).to_ext()
        orders = self._kv.all(ORDERS)
        return c.reply(ResponseCode.SUCCESS, ext, KVTable(orders).encode() if orders is not None else None)

    def unregister(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        header = UnregisterBrokerHeader.from_ext(c.ext)
        gone = self._routes.unregister(header.broker, header.address, header.broker_id)
        if gone is not None:
            self._route_changed(gone.broker, "unregistered", gone.topics)
        return c.reply(ResponseCode.SUCCESS)

    def data_version(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        """Answer if a broker's table has changed since it registered; if not, renew the registration."""
        address, asked = UnregisterBrokerHeader.from_ext(c.ext).address, DataVersion.decode(c.body)
        known = self._routes.version_of(address)
        if known == asked:
            self._routes.still_there(address)
        ext = {"changed": "true" if known != asked else "false"}
        return c.reply(ResponseCode.SUCCESS, ext, known.encode() if known else None)

    def route(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        topic = RouteHeader.from_ext(c.ext).topic
        route = self._routes.route(topic)
        if route is None:
            return c.reply(
                ResponseCode.TOPIC_NOT_EXIST,
                remark=f"No topic route info in name server for the topic: {topic}\n"
                "See http://rocketmq.apache.org/docs/faq/ for further details.",
            )
        if self._administration.config.order_message_enable:
            route = route._replace(order_topic_conf=self._kv.get(ORDERS, topic))
        return c.reply(ResponseCode.SUCCESS, body=route.encode())

    def cluster(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        return c.reply(ResponseCode.SUCCESS, body=self._routes.cluster_info())

    def topics(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        return c.reply(ResponseCode.SUCCESS, body=TopicList(tuple(sorted(self._routes.topic_queues))).encode())

    def topics_of_cluster(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        topics = self._routes.topics_of_cluster(text(c.ext, "cluster"))
        return c.reply(ResponseCode.SUCCESS, body=TopicList(tuple(topics)).encode())

    def system_topics(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        """Answer with the names of clusters and brokers, which are also topics, and one broker's address."""
        names = {*self._routes.clusters, *self._routes.brokers}
        address = next(
            (
                broker.addresses[min(broker.addresses)]
                for _, broker in sorted(self._routes.brokers.items())
                if broker.addresses
            ),
            None,
        )
        return c.reply(ResponseCode.SUCCESS, body=TopicList(tuple(sorted(names)), address).encode())

    def delete_topic(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        header = DeleteTopicInNamesrvHeader.from_ext(c.ext)
        self.forget_topic(header.topic, header.cluster)
        return c.reply(ResponseCode.SUCCESS)

    def forget_topic(self, topic: str, cluster: str | None) -> None:
        for broker in self._routes.delete_topic(topic, cluster):
            self._route_changed(broker, "unregistered", (topic,))

    def wipe_write(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        """Remove the write permission of a broker's topics.

        Producers do not find its queues until its next changed registration.
        """
        return c.reply(ResponseCode.SUCCESS, {"wipeTopicCount": str(self._permit(c, allowed=False))})

    def add_write(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        return c.reply(ResponseCode.SUCCESS, {"addTopicCount": str(self._permit(c, allowed=True))})

    def removed(self, gone: Removal, reason: str) -> None:
        """Write the event RouteChanged for an address that was removed without unregistering."""
        self._route_changed(gone.broker, reason, gone.topics)

    def _permit(self, c: RemotingCommand, *, allowed: bool) -> int:
        broker = BrokerNameHeader.from_ext(c.ext).broker
        topics = self._routes.set_write_permission(broker, allowed=allowed)
        self._route_changed(broker, "permission", tuple(topics))
        return len(topics)

    def _route_changed(self, broker: str, reason: str, topics: tuple[str, ...]) -> None:
        self._journal.write(RouteChanged(name_server=self._name, broker=broker, why=reason, topics=topics))
