"""A large store from the real engine's writer, and messages put at a steady rate into one that is followed.

As a program: `python -m tests.bench.pipeline_store ROOT RATE SECONDS` puts RATE messages a second, whose born time is
the wall clock's, and says how many when it is done.
"""

import random
import sys
import time
from pathlib import Path

from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock, wall_ms
from sandbox.message.message import InboundBatch, InboundMessage
from sandbox.message.msg_id import host_bytes
from sandbox.message.string_hash import tags_code
from sandbox.sim.loop import SimLoop
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import FileDisk, InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.store.results import PutMessageStatus

MIB = 1 << 20
START_MS = 1_700_000_000_000
HOST = host_bytes("127.0.0.1", 10911)
TOPICS = ("orders", "payments", "stock", "mail")
QUEUES = 4
BATCH = 128
TAGS = ("TagA", "TagB", "TagC")
BODY_BYTES = (300, 800)  # at random between; incompressible, or Parquet would read less than was stored
PUTS_PER_S = 50


def opened(root: Path, log_file_bytes: int, start_ms: int = START_MS) -> MessageStore:
    clock = ScaledClock(SimLoop(), start_ms=start_ms)
    journal = Journal(clock)
    journal.tracing = False
    config = MessageStoreConfig(commit_log_file_bytes=log_file_bytes, index_enable=False)
    store = MessageStore(
        config,
        disk=FileDisk(root),
        clock=clock,
        journal=journal,
        broker="broker-a",
        broker_id=0,
        store_host=HOST,
        flusher=InlineFlusher(),
    )
    store.load()
    store.start()
    return store


def fill(root: Path, log_bytes: int, log_file_bytes: int) -> int:
    """Messages written."""
    store = opened(root, log_file_bytes)
    chance = random.Random(1)
    noise = chance.randbytes(MIB)
    count = 0
    while store.log.max_offset < log_bytes:
        topic, queue_id = TOPICS[count // BATCH % len(TOPICS)], count // BATCH // len(TOPICS) % QUEUES
        messages = [_message(n, topic, queue_id, noise, chance) for n in range(count, count + BATCH)]
        assert store.put_batch(InboundBatch.of(messages)).status is PutMessageStatus.PUT_OK
        store.dispatch()
        count += BATCH
    store.close()
    return count


def _message(n: int, topic: str, queue_id: int, noise: bytes, chance: random.Random) -> InboundMessage:
    size, at, tag = chance.randint(*BODY_BYTES), chance.randrange(MIB - BODY_BYTES[1]), TAGS[n % len(TAGS)]
    text = b"UNIQ_KEY\x017F000001%024X\x02KEYS\x01key-%d\x02TAGS\x01%s\x02region\x01eu-%d\x02" % (
        n,
        n % 10_000,
        tag.encode(),
        n % 7,
    )
    return InboundMessage(topic, queue_id, noise[at : at + size], text, tags_code(tag), 0, 0, START_MS + n, HOST)


def trickle(root: Path, rate: int, seconds: float) -> int:
    """`rate` messages a second, in small puts; how many."""
    store = opened(root, 64 * MIB, wall_ms())
    each, count = rate // PUTS_PER_S, 0
    began = time.monotonic()
    for turn in range(round(seconds * PUTS_PER_S)):
        time.sleep(max(0.0, began + turn / PUTS_PER_S - time.monotonic()))
        born_ms = wall_ms()
        for n in range(count, count + each):
            text = b"KEYS\x01key-%d\x02" % n
            store.put_message(InboundMessage("orders", n % QUEUES, bytes(500), text, 0, 0, 0, born_ms, HOST))
        store.dispatch()
        count += each
    store.close()
    return count


if __name__ == "__main__":
    print(trickle(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
