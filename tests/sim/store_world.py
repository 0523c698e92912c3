"""A store on a simulated disk, someone who puts messages into it, and every moment at which the world may end."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.message import msg_id, properties
from sandbox.message.message import InboundMessage
from sandbox.message.string_hash import tags_code
from sandbox.sim.disk import SimDisk
from sandbox.sim.loop import SimLoop
from sandbox.store.config import SYNC_FLUSH, MessageStoreConfig
from sandbox.store.disk import InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.store.results import PutMessageStatus

HOST = msg_id.host_bytes("127.0.0.1", 10911)
START_MS = 1_795_150_704_156
SMALL = MessageStoreConfig(
    commit_log_file_bytes=2048,
    consume_queue_file_entries=6,
    index_slots=7,
    index_entries=20,
    max_message_bytes=1024,
    memory_bytes=1 << 20,
    flush=SYNC_FLUSH,
    index_safe=True,
)
WATCHED = ("/sandbox/store/", "/sandbox/message/record.py", "/sandbox/sim/disk.py")


class Sent(NamedTuple):
    """A message that got a place: where, and how to find it again."""

    topic: str
    queue_id: int
    queue_offset: int
    body: bytes
    key: str


class Moment(NamedTuple):
    """The disk between two writes, and what was promised until then."""

    disk: SimDisk
    put: int  # messages whose put had returned
    acknowledged: int  # of these, flushed before the answer


def inbound(topic: str, queue_id: int, number: int, *, body_bytes: int = 40) -> InboundMessage:
    text = properties.encode({"KEYS": f"k{number} common", "TAGS": "TagA", "UNIQ_KEY": f"U{number:04}"})
    body = f"{number:04}".encode() * (body_bytes // 4)
    return InboundMessage(topic, queue_id, body, text.encode(), tags_code("TagA"), 0, 0, START_MS, HOST)


class StoreWorld:
    """One disk, and one process after the other that opens the store on it."""

    def __init__(
        self,
        disk: SimDisk | None = None,
        config: MessageStoreConfig = SMALL,
        *,
        seed: int = 1,
        start_ms: int = START_MS,
    ) -> None:
        self.loop = SimLoop()
        self.clock = ScaledClock(self.loop, start_ms=start_ms)
        self.journal = Journal(self.clock)
        self.disk = disk or SimDisk(Chance(seed), self.clock)
        self.config = config
        self.sent: list[Sent] = []
        self.acknowledged: list[Sent] = []

    def store(self) -> MessageStore:
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
        store = self.store()
        store.load()
        store.start()
        return store

    def put(self, store: MessageStore, batch: list[InboundMessage]) -> PutMessageStatus:
        """One turn of a broker under sync flush: put, dispatch, answer when the disk has it."""
        done = store.put_message(batch[0]) if len(batch) == 1 else store.put_messages(batch)
        if done.status is not PutMessageStatus.PUT_OK:
            return done.status
        sent = [Sent(m.topic, m.queue_id, done.queue_offset + i, m.body, _first_key(m)) for i, m in enumerate(batch)]
        self.sent += sent
        store.dispatch()
        store.when_flushed(done.physical_end, lambda in_time: self.acknowledged.extend(sent if in_time else []))
        self.loop.run_for(0.001)
        return done.status

    def watch(self, action: Callable[[], object]) -> list[Moment]:
        """Run `action` and keep the disk at every line of the store after which a byte or a name had changed."""
        moments: list[Moment] = []
        last = self.disk.fingerprint()

        def line(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal last
            now = self.disk.fingerprint()
            if now != last:
                last = now
                copy = self.disk.copy(Chance(len(moments)))
                moments.append(Moment(copy, len(self.sent), len(self.acknowledged)))
            return line

        def call(frame: FrameType, event: str, _: Any) -> Any:
            return line if any(part in frame.f_code.co_filename for part in WATCHED) else None

        before = sys.gettrace()
        sys.settrace(call)
        try:
            action()
        finally:
            sys.settrace(before)
        moments.append(Moment(self.disk.copy(Chance(len(moments))), len(self.sent), len(self.acknowledged)))
        return moments

    def copy_out(self, root: Path) -> Path:
        """The disk as a real directory."""
        for name, data in self.disk.image().items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return root


def _first_key(m: InboundMessage) -> str:
    return properties.decode(m.properties.decode())["UNIQ_KEY"]
