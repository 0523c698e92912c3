"""Processor of QUERY_MESSAGE and VIEW_MESSAGE_BY_ID, which find stored messages."""

from sandbox.broker import remarks
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import QueryMessageHeader, QueryMessageResponseHeader, ViewMessageHeader


class QueryProcessor:
    """Handlers of message queries.  RocketMQ: `QueryMessageProcessor`.

    Hash collisions are not filtered here; clients compare topic and key.
    """

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {RequestCode.QUERY_MESSAGE: self.query, RequestCode.VIEW_MESSAGE_BY_ID: self.view}

    def query(self, c: RemotingCommand, _: Channel) -> Answer:
        header = QueryMessageHeader.from_ext(c.ext)
        count = self._parts.config.query_max_messages if header.unique else header.max_count
        result = self._parts.store.query(header.topic, header.key, count, header.begin_ms, header.end_ms)
        ext = QueryMessageResponseHeader(result.last_update_ms, result.last_update_physical).to_ext()
        if not result.records:
            return c.reply(ResponseCode.QUERY_NOT_FOUND, ext, remark=remarks.NO_SUCH_MESSAGE)
        return c.reply(ResponseCode.SUCCESS, ext, b"".join(result.records))

    def view(self, c: RemotingCommand, _: Channel) -> Answer:
        """Answer with the record at a physical offset, or SYSTEM_ERROR if no record begins there."""
        offset = ViewMessageHeader.from_ext(c.ext).physical_offset
        record = self._parts.store.read(offset)
        if record is None:
            return c.reply(ResponseCode.SYSTEM_ERROR, remark=f"can not find message by the offset, {offset}")
        return c.reply(ResponseCode.SUCCESS, body=record)
