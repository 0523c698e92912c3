"""A master's store and a slave's, joined by a wire that can be cut and listened to."""

from typing import Any

from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.remoting.channel import ByteChannel
from sandbox.sim.disk import SimDisk
from sandbox.sim.loop import SimLoop
from sandbox.sim.network import SimNetwork
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import InlineFlusher
from sandbox.store.ha_client import HAClient
from sandbox.store.message_store import MessageStore
from sandbox.store.results import PutMessageStatus
from tests.unit.store.stores import HOST, SMALL, START_MS, message

MASTER, SLAVE = "10.0.0.1", "10.0.0.2"
HA = f"{MASTER}:10912"


class RawSlave:
    """Someone who speaks the protocol by hand, and keeps what comes with the second it came."""

    def __init__(self, pair: "Pair") -> None:
        self._pair = pair
        self.heard: list[tuple[float, bytes]] = []
        self.closed_at: float | None = None
        self.channel: ByteChannel
        pair.network.connector("10.0.0.9").open_bytes(HA, self._hear, self._lost, self._opened)
        pair.loop.run_until_idle()

    @property
    def bytes(self) -> bytes:
        return b"".join(data for _, data in self.heard)

    def say(self, data: bytes) -> None:
        self.channel.send(data)
        self._pair.loop.run_until_idle()

    def _opened(self, channel: ByteChannel | None) -> None:
        assert channel is not None, "nothing listens there"
        self.channel = channel

    def _hear(self, pieces: list[bytes], _: ByteChannel) -> None:
        self.heard += [(self._pair.loop.time(), data) for data in pieces]

    def _lost(self, _: ByteChannel) -> None:
        self.closed_at = self._pair.loop.time()


class Pair:
    """`master` runs; `follow` starts the slave.  Each has a disk that outlives it."""

    def __init__(self, **config: Any) -> None:
        self.loop = SimLoop()
        self.clock = ScaledClock(self.loop, start_ms=START_MS)
        self.journal = Journal(self.clock)
        self.network = SimNetwork(self.loop, Chance(3))
        self.config = MessageStoreConfig(**{**SMALL, **config})
        self.disks = [SimDisk(Chance(1), self.clock), SimDisk(Chance(2), self.clock)]
        self.slave: MessageStore | None = None
        self.client: HAClient | None = None
        self.master = self.start_master()
        self._number = 0

    def _store(self, broker_id: int) -> MessageStore:
        store = MessageStore(
            self.config,
            disk=self.disks[broker_id],
            clock=self.clock,
            journal=self.journal,
            broker="broker-a",
            broker_id=broker_id,
            store_host=HOST,
            flusher=InlineFlusher(),
        )
        store.load()
        store.start()
        return store

    def start_master(self) -> MessageStore:
        self.master = self._store(0)
        self.network.listen(HA, self.master.ha)
        return self.master

    def kill_master(self) -> None:
        self.master.crash()
        self.network.unlisten(HA)
        self.loop.run_until_idle()

    def follow(self) -> MessageStore:
        """Start the slave; it connects at once, and is silent for 5 s."""
        self.slave = self._store(1)
        self.client = HAClient(self.slave, clock=self.clock, connector=self.network.connector(SLAVE))
        self.client.update_master_address(HA)
        self.client.start()
        self.loop.run_until_idle()
        return self.slave

    def stop_slave(self, *, kill: bool = False) -> None:
        assert self.slave is not None
        assert self.client is not None
        self.client.stop()
        if kill:
            self.slave.crash()
        else:
            self.slave.close()
        self.slave = self.client = None
        self.loop.run_until_idle()

    def cut(self) -> None:
        self.network.partition(MASTER, SLAVE)

    def heal(self) -> None:
        self.network.heal()

    def pass_s(self, seconds: float) -> None:
        self.loop.run_for(seconds)

    def put(self, count: int = 1, **fields: Any) -> None:
        for _ in range(count):
            self._number += 1
            assert self.master.put_message(message(self._number, **fields)).status is PutMessageStatus.PUT_OK
        self.master.dispatch()

    def put_and_wait(self) -> list[tuple[float, PutMessageStatus]]:
        """One message whose sender waits; the list is filled when it is answered, with the second of that."""
        self._number += 1
        result = self.master.put_message(message(self._number))
        assert result.status is PutMessageStatus.PUT_OK
        answers: list[tuple[float, PutMessageStatus]] = []
        began = self.loop.time()
        self.master.dispatch()
        self.master.safety.when_safe(
            result.physical_end, lambda status: answers.append((round(self.loop.time() - began, 2), status))
        )
        self.loop.run_until_idle()
        return answers

    def events(self, kind: type) -> list[Any]:
        return [entry.event for entry in self.journal.since(0) if isinstance(entry.event, kind)]


def log_bytes(store: MessageStore, start: int | None = None, end: int | None = None) -> bytes:
    """Return the log's bytes between two offsets, with blank tails."""
    start = store.min_physical_offset if start is None else start
    end = store.max_physical_offset if end is None else end
    parts: list[bytes] = []
    for file in store.log.files.files:
        low, high = max(start, file.base), min(end, file.end)
        if low < high:
            parts.append(bytes(store.log.files.pool.view(file)[low - file.base : high - file.base]))
    return b"".join(parts)


def queue_bytes(store: MessageStore) -> dict[tuple[str, int], bytes]:
    """Every queue's units, from its first offset on."""
    found: dict[tuple[str, int], bytes] = {}
    for key in store.queues():
        queue = store.queue(*key)
        units = (queue.unit(offset) for offset in range(queue.min_offset, queue.max_offset))
        found[key] = repr([tuple(unit) for unit in units if unit is not None]).encode()
    return found
