"""Requests of a source to a running cluster: topics, queues and their ends, messages by their offsets.

Nothing in the cluster changes: no group is joined, no offset committed, no topic created.  Pulls use the tools'
group (TOOLS_CONSUMER), which every broker has and to which nothing is delivered.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from sandbox.client.admin import Admin
from sandbox.client.admin.messages import PulledBytes, PulledRecords
from sandbox.client.routes import MASTER_ID, subscribe_queues
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import (
    BrokerRefused,
    ConnectFailed,
    RemotingError,
    SandboxError,
    UnreadableAnswer,
)
from sandbox.message import topic_names
from sandbox.message.queue import MessageQueue
from sandbox.pipeline.sources.cluster_access import Access
from sandbox.pipeline.sources.cluster_offsets import Ends, named
from sandbox.pipeline.sources.conditions import NotForUs, NoTopic
from sandbox.remoting.bodies import TopicRouteData
from sandbox.remoting.channel import Connector
from sandbox.remoting.codes import ResponseCode

PATIENCE_S = 60.0  # for a broker that is away or busy
PAUSE_S = 0.25  # before the second try; doubled before each further one
LONGEST_PAUSE_S = 4.0
ROUTE_S = 30.0  # as long as routes are known: RocketMQ's clients ask so often
AT_ONCE_S = 1.0  # a failure within this time is tried again at once, whatever the patience
QUESTIONS = 64  # under way
BUSY = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.SERVICE_NOT_AVAILABLE, ResponseCode.FLOW_CONTROL})

T = TypeVar("T")


class Link:
    """Requests to one cluster.  Use all methods on one loop.

    `patience_s`: longest wait for a broker that does not answer.
    """

    def __init__(self, access: Access, *, clock: Clock, connector: Connector, patience_s: float = PATIENCE_S) -> None:
        self.access = access
        self.clock = clock
        self.patience_s = patience_s
        self._admin = Admin(
            access.name_servers,
            clock=clock,
            connector=connector,
            access_key=access.access_key or None,
            secret_key=access.secret_key or None,
        )
        self._routes: dict[str, tuple[float, TopicRouteData]] = {}
        self._topics: tuple[float, list[str]] | None = None
        self._turns = asyncio.Semaphore(QUESTIONS)

    def close(self) -> None:
        self._admin.close()

    async def topics(self) -> list[str]:
        """Return all topics except the system's, sorted.  Raises RemotingError."""
        if self._topics is None or self.clock.monotonic() - self._topics[0] >= ROUTE_S:
            known, servers = await self._admin.names.topics(), await self._admin.names.system_topics()
            of_servers = {*servers, *(name + topic_names.REPLY_SUFFIX for name in servers)}
            topics = sorted(topic for topic in known if topic not in of_servers and not topic_names.is_system(topic))
            self._topics = self.clock.monotonic(), topics
        return self._topics[1]

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return the readable queues of the topic, sorted.  Raises NoTopic, RemotingError."""
        return subscribe_queues(topic, await self._route(topic))

    def forget(self) -> None:
        """Drop the cached topics and routes, so that the next request reads them again."""
        self._routes.clear()
        self._topics = None

    async def ends(
        self,
        queues: Iterable[MessageQueue],
        *,
        places: dict[MessageQueue, int] | None = None,
        patience_s: float | None = None,
    ) -> dict[MessageQueue, Ends | SandboxError]:
        """Return the first and end offsets of the queues, requested concurrently.

        `places`: offsets by queue; the first offset is requested only for queues that do not end at theirs.  A queue
        whose broker does not answer or does not have the topic has that error instead.  Raises NotForUs.
        """
        listed = list(queues)
        replies = await asyncio.gather(
            *(self._ends(queue, None if places is None else places.get(queue), patience_s) for queue in listed),
            return_exceptions=True,
        )
        answers: dict[MessageQueue, Ends | SandboxError] = {}
        for queue, answer in zip(listed, replies, strict=True):
            if isinstance(answer, BaseException) and not isinstance(answer, RemotingError | NoTopic):
                raise answer
            answers[queue] = answer
        return answers

    async def from_time(self, queue: MessageQueue, ends: Ends, at_ms: int) -> int | None:
        """Return the first offset whose message was stored at `at_ms` or later, or None.

        A bisection by the messages' own store times, near the broker's answer first.  RocketMQ 4.9 names the nearest
        message, even if it is older, and searches in one file only, which it chooses by the file's time.
        """
        hint = await self.asked(queue, lambda address: self._admin.offsets.at_time(address, queue, at_ms))
        near = [hint + 1, hint, hint - 1]
        low, high = ends.low, ends.high
        while low < high:
            middle = near.pop() if near else (low + high) // 2
            if not low <= middle < high:
                continue
            message = await self._stored(queue, middle, high)
            if message is None or message[1] >= at_ms:
                high = middle
            else:
                low = message[0] + 1
        return low if low < ends.high else None

    async def pull(self, queue: MessageQueue, offset: int, count: int) -> PulledBytes:
        """Pull up to `count` messages of the queue from `offset` on.

        Raises NoTopic, NotForUs, ConnectFailed with a sentence.
        """
        return await self.asked(
            queue, lambda address: self._admin.messages.pull_bytes(address, queue, offset, count=count)
        )

    async def asked(
        self, queue: MessageQueue, question: Callable[[str], Awaitable[T]], patience_s: float | None = None
    ) -> T:
        """Send a request to the queue's broker and return the answer; after each failure read the route again.

        Raises NoTopic, NotForUs, or ConnectFailed after `patience_s`.
        """
        patience_s = self.patience_s if patience_s is None else patience_s
        began_s, pause_s = self.clock.monotonic(), 0.0
        while True:
            try:
                address, _ = await self._address(queue)
                async with self._turns:
                    return await question(address)
            except BrokerRefused as no:
                if no.code not in BUSY:
                    raise _refused(queue, no) from no
                error: SandboxError = no
            except UnreadableAnswer as unreadable:
                raise NotForUs(f"{unreadable}.") from unreadable
            except (RemotingError, NoTopic) as away:
                error = away
            self._routes.pop(queue.topic, None)
            waited_s = self.clock.monotonic() - began_s
            if waited_s + pause_s > (patience_s if pause_s else max(patience_s, AT_ONCE_S)):
                if isinstance(error, NoTopic):
                    raise error
                raise ConnectFailed(
                    f"{queue.broker} did not answer within {waited_s:.0f} s about {named(queue)}: "
                    f"{error}. Start it and run this again."
                ) from error
            if pause_s:
                await self.clock.sleep(pause_s)
            # The first retry comes at once: the broker may just have closed a connection that was idle.
            pause_s = min(max(PAUSE_S, 2 * pause_s), LONGEST_PAUSE_S)

    async def _ends(self, queue: MessageQueue, position: int | None, patience_s: float | None) -> Ends:
        offsets = self._admin.offsets
        high = await self.asked(queue, lambda address: offsets.largest(address, queue), patience_s)
        low = (
            high
            if high == position
            else await self.asked(queue, lambda address: offsets.smallest(address, queue), patience_s)
        )
        _, by_master = await self._address(queue)
        return Ends(min(max(0, low), high), high, by_master)

    async def _stored(self, queue: MessageQueue, offset: int, high: int) -> tuple[int, int] | None:
        """Return the offset and store time of the first message from `offset` on, or None."""

        def pull(address: str) -> Awaitable[PulledRecords]:
            return self._admin.messages.pull(address, queue, offset)

        while offset < high:
            pulled = await self.asked(queue, pull)
            if pulled.records:
                return pulled.records[0].queue_offset, pulled.records[0].store_ms
            if pulled.next_offset <= offset:
                return None
            offset = pulled.next_offset
        return None

    async def _address(self, queue: MessageQueue) -> tuple[str, bool]:
        """Return the address of the queue's master, or of a slave without one, and True if it is the master's."""
        for broker in (await self._route(queue.topic)).brokers:
            if broker.name == queue.broker and broker.addresses:
                node = min(broker.addresses)
                return broker.addresses[node], node == MASTER_ID
        raise ConnectFailed(f"the name servers have no address of {queue.broker}")

    async def _route(self, topic: str) -> TopicRouteData:
        known = self._routes.get(topic)
        if known is None or self.clock.monotonic() - known[0] >= ROUTE_S:
            try:
                known = self.clock.monotonic(), await self._admin.names.route(topic)
            except BrokerRefused as no:
                if no.code != ResponseCode.TOPIC_NOT_EXIST:
                    raise NotForUs(f"A name server refuses the route of topic {topic}: {no.remark}.") from no
                where = ";".join(self.access.name_servers)
                raise NoTopic(f"No topic {topic} at {where}. Create it first, or correct its name.") from no
            self._routes[topic] = known
        return known[1]


def _refused(queue: MessageQueue, no: BrokerRefused) -> SandboxError:
    if no.code == ResponseCode.TOPIC_NOT_EXIST:
        return NoTopic(f"{queue.broker} has no topic {queue.topic}, or it was deleted.")
    remark = no.remark.strip().splitlines()[0].rstrip(".") if no.remark.strip() else f"code {no.code}"
    return NotForUs(f"{queue.broker} refuses reads of {named(queue)}: {remark}.")


def no_name_server(access: Access, error: SandboxError) -> ConnectFailed:
    where = ";".join(access.name_servers)
    return ConnectFailed(f"No name server answers at {where}: {error}. Start it, or correct the option names.")
