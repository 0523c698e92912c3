"""A broker for benchmarks: real files in a directory that vanishes, loopback, Apache's own file sizes where sparse."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.broker.broker import Broker
from sandbox.broker.config import BrokerConfig
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.message.msg_id import host_bytes
from sandbox.remoting.channel import Channel
from sandbox.remoting.command import RemotingCommand
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import FileDisk, InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.transport.loopback import LoopbackNetwork

ADDRESS = "127.0.0.1:10911"
LOG_FILE_BYTES = 256 * 1024 * 1024


@contextmanager
def running_broker() -> Iterator[tuple[Broker, LoopbackNetwork]]:
    """Inside: a started broker that listens on a loopback network of the running loop."""
    loop = asyncio.get_running_loop()
    clock = ScaledClock(loop, start_ms=1_700_000_000_000)
    journal = Journal(clock)
    network = LoopbackNetwork(loop, clock=clock)
    with tempfile.TemporaryDirectory() as directory:
        store = MessageStore(MessageStoreConfig(commit_log_file_bytes=LOG_FILE_BYTES), disk=FileDisk(Path(directory)),
                             clock=clock, journal=journal, broker="broker-a", broker_id=0,
                             store_host=host_bytes("127.0.0.1", 10911), flusher=InlineFlusher())
        broker = Broker(BrokerConfig(name="broker-a", address=ADDRESS), store=store, clock=clock, chance=Chance(1),
                        journal=journal, connector=None, name_servers=())
        broker.start()
        network.listen(ADDRESS, broker)
        try:
            yield broker, network
        finally:
            network.unlisten(ADDRESS)
            broker.kill()
            clock.close()


class Caller:
    """One connection that keeps `in_flight` requests under way until `requests` have been answered."""

    def __init__(self, requests: int, in_flight: int) -> None:
        self._to_send = requests
        self._in_flight = in_flight
        self._missing = requests
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._channel: Channel

    def make(self, answer: RemotingCommand | None) -> RemotingCommand:
        """The next request; `answer` is what came back for the one before it."""
        raise NotImplementedError

    async def run(self, network: LoopbackNetwork) -> None:
        self._channel = await network.connector("127.0.0.1").connect(ADDRESS, self._heard, lambda _: None)
        for _ in range(min(self._in_flight, self._to_send)):
            self._send(None)
        await self.done
        self._channel.close()

    def _send(self, answer: RemotingCommand | None) -> None:
        if self._to_send:
            self._to_send -= 1
            self._channel.send(self.make(answer))

    def _heard(self, commands: list[RemotingCommand], _: Channel) -> None:
        for c in commands:
            assert c.code == 0, c
            self._missing -= 1
            self._send(c)
        if self._missing == 0 and not self.done.done():
            self.done.set_result(None)
