"""Administrators' requests to a name server other than routes: texts, settings, topics by their flags."""

from collections.abc import Callable

from sandbox.namesrv import settings
from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.kv_config import KVConfigManager
from sandbox.namesrv.route_info import RouteInfoManager
from sandbox.remoting.bodies import KVTable, Settings, TopicList
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import text

Handler = Callable[[RemotingCommand, Channel], RemotingCommand]

UNIT = 1  # bits of a topic's sys flag.  RocketMQ: `TopicSysFlag`
UNIT_SUB = 2


class AdministrationProcessor:
    """Handlers of administrators' requests.

    RocketMQ: the administrative part of `DefaultRequestProcessor` (spec remoting 2.5).  `config` is the name
    server's own; UPDATE_NAMESRV_CONFIG changes it for as long as it runs.
    """

    def __init__(self, config: NameServerConfig, routes: RouteInfoManager, kv: KVConfigManager) -> None:
        self.config = config
        self._routes = routes
        self._kv = kv

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.PUT_KV_CONFIG: self.put_kv,
            RequestCode.GET_KV_CONFIG: self.get_kv,
            RequestCode.DELETE_KV_CONFIG: self.delete_kv,
            RequestCode.GET_KVLIST_BY_NAMESPACE: self.list_kv,
            RequestCode.GET_UNIT_TOPIC_LIST: self.unit_topics,
            RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: self.unit_sub_topics,
            RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: self.unit_sub_only_topics,
            RequestCode.UPDATE_NAMESRV_CONFIG: self.update_settings,
            RequestCode.GET_NAMESRV_CONFIG: self.settings,
        }

    def put_kv(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        self._kv.put(text(c.ext, "namespace"), text(c.ext, "key"), text(c.ext, "value"))
        return c.reply(ResponseCode.SUCCESS)

    def get_kv(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        namespace, key = text(c.ext, "namespace"), text(c.ext, "key")
        value = self._kv.get(namespace, key)
        if value is None:
            return c.reply(
                ResponseCode.QUERY_NOT_FOUND, {}, remark=f"No config item, Namespace: {namespace} Key: {key}"
            )
        return c.reply(ResponseCode.SUCCESS, {"value": value})

    def delete_kv(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        self._kv.delete(text(c.ext, "namespace"), text(c.ext, "key"))
        return c.reply(ResponseCode.SUCCESS)

    def list_kv(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        namespace = text(c.ext, "namespace")
        values = self._kv.all(namespace)
        if values is None:
            return c.reply(ResponseCode.QUERY_NOT_FOUND, remark=f"No config item, Namespace: {namespace}")
        return c.reply(ResponseCode.SUCCESS, body=KVTable(values).encode())

    def unit_topics(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        return self._topics(c, lambda flag: bool(flag & UNIT))

    def unit_sub_topics(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        return self._topics(c, lambda flag: bool(flag & UNIT_SUB))

    def unit_sub_only_topics(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        return self._topics(c, lambda flag: flag & (UNIT | UNIT_SUB) == UNIT_SUB)

    def update_settings(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        self.config = settings.changed(self.config, Settings.decode(c.body).values)
        return c.reply(ResponseCode.SUCCESS)

    def settings(self, c: RemotingCommand, _: Channel) -> RemotingCommand:
        return c.reply(ResponseCode.SUCCESS, body=Settings(settings.as_settings(self.config)).encode())

    def _topics(self, c: RemotingCommand, matches: Callable[[int], bool]) -> RemotingCommand:
        body = TopicList(tuple(self._routes.topics_where(matches))).encode()
        return c.reply(ResponseCode.SUCCESS, body=body)
