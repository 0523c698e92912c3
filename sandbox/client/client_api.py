"""Requests of producers and consumers, one method each.  RocketMQ: `MQClientAPIImpl`."""

from typing import NamedTuple

from sandbox.client.config import ClientConfig
from sandbox.client.connections import Connections
from sandbox.client.request_reply import is_reply
from sandbox.client.requests import RequestHeader, Requests, refusal
from sandbox.message import record
from sandbox.message.message import StoredMessage
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import (
    CheckClientBody,
    ConsumerList,
    HeartbeatData,
    LockBatchBody,
    LockedQueues,
    SubscriptionData,
    TopicRouteData,
)
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import (
    EndTransactionHeader,
    GroupHeader,
    OffsetResponseHeader,
    PullHeader,
    PullResponseHeader,
    QueryOffsetHeader,
    QueueHeader,
    RouteHeader,
    SearchOffsetHeader,
    SendBackHeader,
    SendHeader,
    SendResponseHeader,
    UnregisterClientHeader,
    UpdateOffsetHeader,
)

QUERY_OFFSET_TIMEOUT_MS = 5_000
COMMIT_TIMEOUT_MS = 5_000
SEND_BACK_TIMEOUT_MS = 5_000
LOCK_TIMEOUT_MS = 1_000
RESPONSE_SCAN_MS = 1_000  # asynchronous requests end with the next scan of the table of pending ones

SYS_COMMIT = 1
SYS_SUSPEND = 2
SYS_SUBSCRIPTION = 4

SEND_STORED = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)
PULL_ANSWERED = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.PULL_NOT_FOUND,
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        ResponseCode.PULL_OFFSET_MOVED,
    }
)


class PullAnswer(NamedTuple):
    code: int
    header: PullResponseHeader
    records: list[StoredMessage]


class SendAnswer(NamedTuple):
    code: int
    header: SendResponseHeader


class ClientApi:
    """Requests of a client, with their answers as values.

    An answer with a code other than the expected ones raises BrokerRefused.
    """

    def __init__(self, connections: Connections, config: ClientConfig) -> None:
        self._connections = connections
        self._requests = Requests(connections, config.api_timeout_ms)

    # Routes and membership.

    async def route(self, address: str, topic: str) -> TopicRouteData:
        """Return the topic's route from a name server.

        Raises BrokerRefused (TOPIC_NOT_EXIST) if the topic is unknown.
        """
        answer = await self._ask(address, RequestCode.GET_ROUTEINFO_BY_TOPIC, RouteHeader(topic))
        return TopicRouteData.decode(answer.body)

    async def heartbeat(self, address: str, data: HeartbeatData) -> None:
        await self._ask(address, RequestCode.HEART_BEAT, body=data.encode())

    async def unregister(
        self, address: str, client_id: str, *, producer_group: str | None = None, consumer_group: str | None = None
    ) -> None:
        header = UnregisterClientHeader(client_id, producer_group, consumer_group)
        await self._ask(address, RequestCode.UNREGISTER_CLIENT, header)

    async def consumer_ids(self, address: str, group: str) -> list[str]:
        answer = await self._ask(address, RequestCode.GET_CONSUMER_LIST_BY_GROUP, GroupHeader(group))
        return list(ConsumerList.decode(answer.body).client_ids)

    async def check_client_config(self, address: str, client_id: str, group: str, sub: SubscriptionData) -> None:
        """Ask the broker to compile the filter expression.  Raises BrokerRefused if it cannot."""
        body = CheckClientBody(client_id, group, sub).encode()
        await self._ask(address, RequestCode.CHECK_CLIENT_CONFIG, body=body)

    # Offsets.

    async def query_offset(self, address: str, group: str, mq: MessageQueue) -> int:
        header = QueryOffsetHeader(group, mq.topic, mq.queue_id, mq.broker)
        return await self._offset(address, RequestCode.QUERY_CONSUMER_OFFSET, header, QUERY_OFFSET_TIMEOUT_MS)

    async def update_offset(
        self, address: str, group: str, mq: MessageQueue, offset: int, *, oneway: bool = True
    ) -> None:
        header = UpdateOffsetHeader(group, mq.topic, mq.queue_id, offset, mq.broker)
        if not oneway:
            await self._ask(address, RequestCode.UPDATE_CONSUMER_OFFSET, header, timeout_ms=COMMIT_TIMEOUT_MS)
            return
        command = RemotingCommand(RequestCode.UPDATE_CONSUMER_OFFSET, header.to_ext())
        await self._connections.send_oneway(address, command)

    async def max_offset(self, address: str, mq: MessageQueue) -> int:
        header = QueueHeader(mq.topic, mq.queue_id, mq.broker)
        return await self._offset(address, RequestCode.GET_MAX_OFFSET, header)

    async def min_offset(self, address: str, mq: MessageQueue) -> int:
        header = QueueHeader(mq.topic, mq.queue_id, mq.broker)
        return await self._offset(address, RequestCode.GET_MIN_OFFSET, header)

    async def search_offset(self, address: str, mq: MessageQueue, timestamp_ms: int) -> int:
        header = SearchOffsetHeader(mq.topic, mq.queue_id, timestamp_ms, mq.broker)
        return await self._offset(address, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)

    # Locks.

    async def lock(self, address: str, group: str, client_id: str, queues: list[MessageQueue]) -> set[MessageQueue]:
        """Lock queues for this client; return those of `queues` that it holds now."""
        body = LockBatchBody(group, client_id, tuple(queues)).encode()
        answer = await self._ask(address, RequestCode.LOCK_BATCH_MQ, body=body, timeout_ms=LOCK_TIMEOUT_MS)
        return {MessageQueue(*queue) for queue in LockedQueues.decode(answer.body).queues}

    async def unlock(
        self, address: str, group: str, client_id: str, queues: list[MessageQueue], *, oneway: bool
    ) -> None:
        body = LockBatchBody(group, client_id, tuple(queues)).encode()
        if oneway:
            await self._connections.send_oneway(address, RemotingCommand(RequestCode.UNLOCK_BATCH_MQ, None, body))
        else:
            await self._ask(address, RequestCode.UNLOCK_BATCH_MQ, body=body, timeout_ms=LOCK_TIMEOUT_MS)

    # Messages.

    async def pull(self, address: str, header: PullHeader, timeout_ms: int, *, waits: bool = False) -> PullAnswer:
        """Send one pull and return its answer with the decoded records.

        `waits`: the application's thread waits for the answer, as with Java's synchronous call.
        """
        command = RemotingCommand(RequestCode.PULL_MESSAGE, header.to_ext())
        patience_ms = timeout_ms if waits else timeout_ms + RESPONSE_SCAN_MS
        answer = await self._connections.invoke(address, command, patience_ms, close_on_timeout=waits)
        if answer.code not in PULL_ANSWERED:
            raise refusal(answer)
        records = list(record.decode_all(answer.body)) if answer.code == ResponseCode.SUCCESS and answer.body else []
        return PullAnswer(answer.code, PullResponseHeader.from_ext(answer.ext), records)

    async def send(
        self, address: str, header: SendHeader, body: bytes, timeout_ms: int, *, waits: bool = True
    ) -> SendAnswer:
        """Send one message and return the answer, also if it reports a flush or replication problem.

        Raises BrokerRefused if the message was not stored.  `waits` as in `pull`.
        """
        patience_ms = timeout_ms if waits else timeout_ms + RESPONSE_SCAN_MS
        answer = await self._connections.invoke(address, _send(header, body), patience_ms, close_on_timeout=waits)
        if answer.code not in SEND_STORED:
            raise refusal(answer)
        return SendAnswer(answer.code, SendResponseHeader.from_ext(answer.ext))

    async def send_oneway(self, address: str, header: SendHeader, body: bytes) -> None:
        await self._connections.send_oneway(address, _send(header, body))

    async def end_transaction(self, address: str, header: EndTransactionHeader, remark: str | None) -> None:
        """Send the outcome of a transaction, one-way.  `remark` is the reason of an unknown outcome."""
        command = RemotingCommand(RequestCode.END_TRANSACTION, header.to_ext(), remark=remark)
        await self._connections.send_oneway(address, command)

    async def send_back(self, address: str, header: SendBackHeader) -> None:
        """Send a failed message back; the broker stores it for a later delivery to the group."""
        await self._ask(address, RequestCode.CONSUMER_SEND_MSG_BACK, header, timeout_ms=SEND_BACK_TIMEOUT_MS)

    async def _offset(
        self, address: str, code: RequestCode, header: RequestHeader, timeout_ms: int | None = None
    ) -> int:
        answer = await self._ask(address, code, header, timeout_ms=timeout_ms)
        return OffsetResponseHeader.from_ext(answer.ext).offset

    async def _ask(
        self,
        address: str,
        code: RequestCode,
        header: RequestHeader | None = None,
        *,
        body: bytes | None = None,
        timeout_ms: int | None = None,
    ) -> RemotingCommand:
        return await self._requests.ask(address, code, header, body=body, timeout_ms=timeout_ms)


def _send(header: SendHeader, body: bytes) -> RemotingCommand:
    code = RequestCode.SEND_BATCH_MESSAGE if header.batch else RequestCode.SEND_MESSAGE_V2
    if is_reply(header.properties):
        code = RequestCode.SEND_REPLY_MESSAGE_V2
    return RemotingCommand(code, header.to_ext(), body)
