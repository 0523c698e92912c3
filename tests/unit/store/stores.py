"""A store in virtual time on a simulated disk, and messages to put into it."""

from typing import Any

from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.message import properties
from sandbox.message.message import InboundMessage
from sandbox.message.msg_id import host_bytes
from sandbox.message.string_hash import tags_code
from sandbox.sim.disk import SimDisk
from sandbox.sim.loop import SimLoop
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import Disk, InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.store.results import PutMessageStatus, PutResult

HOST = host_bytes("127.0.0.1", 10911)
START_MS = 1_795_150_704_156  # 2026-11-20 04:58 UTC
HOUR_MS = 3_600_000
SMALL: dict[str, Any] = {
    "commit_log_file_bytes": 4096,
    "consume_queue_file_entries": 10,
    "index_slots": 7,
    "index_entries": 20,
    "max_message_bytes": 2048,
    "memory_bytes": 1 << 20,
    "delete_when": "",
}


def message(
    number: int = 0,
    *,
    topic: str = "orders",
    queue_id: int = 0,
    body: bytes | None = None,
    flags: int = 0,
    **pairs: str,
) -> InboundMessage:
    """Message `number`: with a body of 100 bytes its record has 200 bytes and a little."""
    named = {"KEYS": f"k{number}", "TAGS": "TagA", **pairs}
    text = properties.encode({name: value for name, value in named.items() if value}).encode()
    content = f"{number:04}".encode() * 25 if body is None else body
    return InboundMessage(topic, queue_id, content, text, tags_code(named["TAGS"]), flags, 0, START_MS, HOST)


class Stores:
    """One disk, and one store after the other that opens it."""

    def __init__(self, disk: Disk | None = None, **config: Any) -> None:
        self.loop = SimLoop()
        self.clock = ScaledClock(self.loop, start_ms=START_MS)
        self.journal = Journal(self.clock)
        self.sim_disk = SimDisk(Chance(1), self.clock)
        self.disk: Disk = disk or self.sim_disk
        self.config = MessageStoreConfig(**{**SMALL, **config})

    def made(self) -> MessageStore:
        return MessageStore(
            self.config,
            disk=self.disk,
            clock=self.clock,
            journal=self.journal,
            broker="broker-a",
            broker_id=0,
            store_host=HOST,
            flusher=InlineFlusher(),
        )

    def opened(self) -> MessageStore:
        store = self.made()
        store.load()
        store.start()
        return store

    def killed(self, store: MessageStore) -> MessageStore:
        """Return the content after a kill and a new start."""
        store.crash()
        return self.opened()

    def events(self, kind: type) -> list[Any]:
        return [entry.event for entry in self.journal.since(0) if isinstance(entry.event, kind)]

    def advance(self, seconds: float) -> None:
        self.loop.run_for(seconds)

    def put(self, store: MessageStore, *messages: InboundMessage, each_s: float = 0) -> list[PutResult]:
        """Put and dispatch one after the other."""
        results = []
        for m in messages:
            results.append(store.put_message(m))
            assert results[-1].status is PutMessageStatus.PUT_OK
            store.dispatch()
            if each_s:
                self.advance(each_s)
        return results
