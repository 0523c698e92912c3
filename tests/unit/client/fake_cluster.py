"""A scripted cluster for client tests: one node that answers as name server and as broker, from plain dicts.

It does just what a test needs to see a client act; what a broker really does is tested with the real one
(tests/sim/test_client_broker.py).
"""

from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Any

from sandbox.client.config import ClientConfig
from sandbox.client.instance import ClientInstance
from sandbox.journal.events import Event
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.message import properties, record
from sandbox.message.message import InboundMessage
from sandbox.message.msg_id import encode as msg_id
from sandbox.message.msg_id import host_bytes
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import (
    BrokerData,
    ConsumerList,
    HeartbeatData,
    LockBatchBody,
    LockedQueues,
    QueueData,
    TopicRouteData,
)
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode as Code
from sandbox.remoting.codes import ResponseCode as Answer
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import GroupHeader, PullHeader, PullResponseHeader, SendHeader, SendResponseHeader
from sandbox.sim.loop import SimLoop
from sandbox.transport.loopback import LoopbackNetwork

ADDRESS = "10.0.0.1:10911"
START_MS = 1_700_000_000_000
BROKER = "broker-a"


class FakeCluster:
    """`topics` maps a topic to its number of queues; `refuse` maps a request code to answer codes, used up in turn."""

    def __init__(self, **topics: int) -> None:
        self.loop = SimLoop()
        self.clock = ScaledClock(self.loop, start_ms=START_MS)
        self.network = LoopbackNetwork(self.loop, wire=True, clock=self.clock)
        self.journal = Journal(self.clock)
        self.topics: dict[str, int] = {"TBW102": 8, **topics}
        self.records: dict[tuple[str, int], list[bytes]] = defaultdict(list)
        self.offsets: dict[tuple[str, str, int], int] = {}
        self.members: dict[str, dict[Channel, str]] = defaultdict(dict)
        self.locks: dict[MessageQueue, str] = {}
        self.seen: list[tuple[float, RemotingCommand]] = []
        self.refuse: dict[int, list[int]] = {}
        self.silent: set[int] = set()
        self.held: dict[tuple[str, int], list[tuple[RemotingCommand, Channel]]] = defaultdict(list)
        self.min_offset = 0
        self.network.listen(ADDRESS, self)

    # What tests use.

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run(coroutine)

    def instance(self, name: str, **changes: Any) -> ClientInstance:
        config = ClientConfig(name_servers=(ADDRESS,), instance_name=name, **changes)
        connector = self.network.connector("10.0.0.9")
        return ClientInstance(config, clock=self.clock, chance=Chance(1), connector=connector, journal=self.journal)

    def store(self, topic: str, queue_id: int, body: bytes = b"x", *, times: int = 0, **pairs: str) -> None:
        """Append one message and wake who waits for it."""
        log = self.records[topic, queue_id]
        text = properties.encode(pairs).encode()
        m = InboundMessage(topic, queue_id, body, text, 0, 0, 0, self.clock.now_ms(), host_bytes("10.0.0.9", 1), times)
        physical = sum(map(len, log))
        log.append(record.encode(m, len(log), physical, self.clock.now_ms(), host_bytes("10.0.0.1", 10911)))
        for command, channel in self.held.pop((topic, queue_id), []):
            self._pull(command, channel)

    def requests(self, code: int) -> list[RemotingCommand]:
        return [command for _, command in self.seen if command.code == code]

    def times(self, code: int) -> list[float]:
        return [at for at, command in self.seen if command.code == code]

    def events(self, kind: type[Event]) -> list[Any]:
        return [entry.event for entry in self.journal.since(0) if isinstance(entry.event, kind)]

    def notify(self, group: str) -> None:
        for channel in list(self.members[group]):
            ext = GroupHeader(group).to_ext()
            channel.send(RemotingCommand(Code.NOTIFY_CONSUMER_IDS_CHANGED, ext, flag=FLAG_ONEWAY))

    # What clients see.

    def connected(self, channel: Channel) -> None:
        pass

    def disconnected(self, channel: Channel) -> None:
        for members in self.members.values():
            members.pop(channel, None)

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        for command in commands:
            self.seen.append((self.loop.time(), command))
            if command.code in self.silent:
                continue
            if self.refuse.get(command.code):
                code = self.refuse[command.code].pop(0)
                if code:
                    channel.send(command.reply(code, remark="refused by the script"))
                    continue
            serve: Callable[..., None] = getattr(self, f"_{Code(command.code).name.lower()}")
            serve(command, channel)

    def _get_routeinfo_by_topic(self, command: RemotingCommand, channel: Channel) -> None:
        topic = (command.ext or {})["topic"]
        if topic not in self.topics:
            channel.send(command.reply(Answer.TOPIC_NOT_EXIST))
            return
        n = self.topics[topic]
        route = TopicRouteData((QueueData(BROKER, n, n, 6),), (BrokerData(BROKER, "C", {0: ADDRESS}),))
        channel.send(command.reply(Answer.SUCCESS, body=route.encode()))

    def _heart_beat(self, command: RemotingCommand, channel: Channel) -> None:
        data = HeartbeatData.decode(command.body)
        for consumer in data.consumers:
            self.topics.setdefault(f"%RETRY%{consumer.group_name}", 1)
            self.members[consumer.group_name][channel] = data.client_id
        channel.send(command.reply(Answer.SUCCESS))

    def _unregister_client(self, command: RemotingCommand, channel: Channel) -> None:
        self.members[(command.ext or {}).get("consumerGroup", "")].pop(channel, None)
        channel.send(command.reply(Answer.SUCCESS))

    def _get_consumer_list_by_group(self, command: RemotingCommand, channel: Channel) -> None:
        ids = tuple(self.members[(command.ext or {})["consumerGroup"]].values())
        channel.send(command.reply(Answer.SUCCESS, body=ConsumerList(ids).encode()))

    def _query_consumer_offset(self, command: RemotingCommand, channel: Channel) -> None:
        ext = command.ext or {}
        offset = self.offsets.get((ext["consumerGroup"], ext["topic"], int(ext["queueId"])))
        if offset is None:
            channel.send(command.reply(Answer.QUERY_NOT_FOUND))
        else:
            channel.send(command.reply(Answer.SUCCESS, {"offset": str(offset)}))

    def _update_consumer_offset(self, command: RemotingCommand, channel: Channel) -> None:
        ext = command.ext or {}
        self.offsets[ext["consumerGroup"], ext["topic"], int(ext["queueId"])] = int(ext["commitOffset"])

    def _get_max_offset(self, command: RemotingCommand, channel: Channel) -> None:
        ext = command.ext or {}
        count = len(self.records[ext["topic"], int(ext["queueId"])])
        channel.send(command.reply(Answer.SUCCESS, {"offset": str(count)}))

    def _get_min_offset(self, command: RemotingCommand, channel: Channel) -> None:
        channel.send(command.reply(Answer.SUCCESS, {"offset": "0"}))

    def _search_offset_by_timestamp(self, command: RemotingCommand, channel: Channel) -> None:
        channel.send(command.reply(Answer.SUCCESS, {"offset": "3"}))

    def _lock_batch_mq(self, command: RemotingCommand, channel: Channel) -> None:
        body = LockBatchBody.decode(command.body)
        queues = [MessageQueue(*queue) for queue in body.queues]
        mine = tuple(mq for mq in queues if self.locks.setdefault(mq, body.client_id) == body.client_id)
        channel.send(command.reply(Answer.SUCCESS, body=LockedQueues(mine).encode()))

    def _unlock_batch_mq(self, command: RemotingCommand, channel: Channel) -> None:
        for queue in LockBatchBody.decode(command.body).queues:
            self.locks.pop(MessageQueue(*queue), None)
        if not command.is_oneway:
            channel.send(command.reply(Answer.SUCCESS))

    def _consumer_send_msg_back(self, command: RemotingCommand, channel: Channel) -> None:
        channel.send(command.reply(Answer.SUCCESS))

    def _end_transaction(self, command: RemotingCommand, channel: Channel) -> None:
        """A one-way request; `seen` records it for tests."""

    def _send_message_v2(self, command: RemotingCommand, channel: Channel) -> None:
        header = SendHeader.from_ext(command.ext)
        self.topics.setdefault(header.topic, 4)
        offset = len(self.records[header.topic, header.queue_id])
        self.store(header.topic, header.queue_id, command.body or b"", **properties.decode(header.properties))
        answer = SendResponseHeader(msg_id(host_bytes("10.0.0.1", 10911), offset), header.queue_id, offset)
        if not command.is_oneway:
            channel.send(command.reply(Answer.SUCCESS, answer.to_ext()))

    _send_batch_message = _send_message_v2

    def _pull_message(self, command: RemotingCommand, channel: Channel) -> None:
        self._pull(command, channel)

    def _pull(self, command: RemotingCommand, channel: Channel) -> None:
        header = PullHeader.from_ext(command.ext)
        if header.sys_flag & 1:
            self.offsets[header.group, header.topic, header.queue_id] = header.commit_offset
        log = self.records[header.topic, header.queue_id]
        if header.queue_offset < self.min_offset:
            self._answer_pull(command, channel, Answer.PULL_OFFSET_MOVED, self.min_offset, b"")
        elif header.queue_offset < len(log):
            found = log[header.queue_offset : header.queue_offset + header.max_messages]
            self._answer_pull(command, channel, Answer.SUCCESS, header.queue_offset + len(found), b"".join(found))
        else:
            self.held[header.topic, header.queue_id].append((command, channel))
            key, wait_s = (header.topic, header.queue_id), header.suspend_timeout_ms / 1000
            self.clock.call_later(wait_s, lambda: self._time_out(key, command, channel))

    def _time_out(self, key: tuple[str, int], command: RemotingCommand, channel: Channel) -> None:
        if (command, channel) in self.held[key]:
            self.held[key].remove((command, channel))
            offset = PullHeader.from_ext(command.ext).queue_offset
            self._answer_pull(command, channel, Answer.PULL_NOT_FOUND, offset, b"")

    def _answer_pull(self, command: RemotingCommand, channel: Channel, code: int, following: int, body: bytes) -> None:
        header = PullHeader.from_ext(command.ext)
        top = len(self.records[header.topic, header.queue_id])
        channel.send(command.reply(code, PullResponseHeader(0, following, self.min_offset, top).to_ext(), body))
