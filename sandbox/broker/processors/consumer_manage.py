"""Processor of consumers' requests about their group: members, offsets, locks."""

from sandbox.broker import remarks
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ConsumerList, LockBatchBody, LockedQueues
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import GroupHeader, QueryOffsetHeader, UpdateOffsetHeader


class ConsumerManageProcessor:
    """Handlers of group requests of consumers: `ConsumerManageProcessor`, and the locks of `AdminBrokerProcessor`."""

    def __init__(self, parts: BrokerParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[int, Handler]:
        return {
            RequestCode.GET_CONSUMER_LIST_BY_GROUP: self.members,
            RequestCode.QUERY_CONSUMER_OFFSET: self.query_offset,
            RequestCode.UPDATE_CONSUMER_OFFSET: self.update_offset,
            RequestCode.LOCK_BATCH_MQ: self.lock,
            RequestCode.UNLOCK_BATCH_MQ: self.unlock,
        }

    def members(self, c: RemotingCommand, _: Channel) -> Answer:
        group = GroupHeader.from_ext(c.ext).group
        known = self._parts.consumers.groups.get(group)
        if known is None:
            return c.reply(ResponseCode.SYSTEM_ERROR, {}, remark=f"no consumer for this group, {group}")
        return c.reply(ResponseCode.SUCCESS, {}, ConsumerList(tuple(known.client_ids())).encode())

    def query_offset(self, c: RemotingCommand, _: Channel) -> Answer:
        """Answer with the committed offset, or 0 without one while offset 0 is in memory (spec broker-behaviour 4)."""
        group, topic, queue_id, *_rest = QueryOffsetHeader.from_ext(c.ext)
        store = self._parts.store
        offset = self._parts.consumer_offsets.get(group, topic, queue_id)
        if offset is None or offset < 0:
            if store.min_offset(topic, queue_id) > 0 or not store.first_in_memory(topic, queue_id):
                return c.reply(ResponseCode.QUERY_NOT_FOUND, {}, remark=remarks.OFFSET_NOT_FOUND)
            offset = 0
        return c.reply(ResponseCode.SUCCESS, {"offset": str(offset)})

    def update_offset(self, c: RemotingCommand, channel: Channel) -> Answer:
        """Commit an offset.  The journal records whether a member's timer or an administrator sent it."""
        header = UpdateOffsetHeader.from_ext(c.ext)
        group = self._parts.consumers.groups.get(header.group)
        member = group.channels.get(channel) if group else None
        self._parts.consumer_offsets.commit(
            header.group,
            header.topic,
            header.queue_id,
            header.commit_offset,
            "timer" if member else "admin",
            member.client_id if member else None,
        )
        return c.reply(ResponseCode.SUCCESS, {})

    def lock(self, c: RemotingCommand, _: Channel) -> Answer:
        body = LockBatchBody.decode(c.body)
        queues = self._parts.locks.try_lock_batch(body.group, body.client_id, map(MessageQueue._make, body.queues))
        return c.reply(ResponseCode.SUCCESS, body=LockedQueues(tuple(queues)).encode())

    def unlock(self, c: RemotingCommand, _: Channel) -> Answer:
        """Unlock queues.  Clients unlock one queue one-way at a rebalance, and all with an answer when they stop."""
        body = LockBatchBody.decode(c.body)
        reason = "rebalance" if c.flag & FLAG_ONEWAY else "shutdown"
        self._parts.locks.unlock_batch(body.group, body.client_id, map(MessageQueue._make, body.queues), why=reason)
        return c.reply(ResponseCode.SUCCESS)
