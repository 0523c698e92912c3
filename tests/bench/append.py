"""What one message costs in the store: put and dispatch, with its queue unit and index entry.

`copy` is the baseline: the same bytes, copied message by message into a fresh file mapped the same way, with nothing
else done.  `single` dispatches after every message, `turns` after 16 (a broker's turn under load), `batch` puts 32 at
once.  Figures are per second of CPU time of this process; `journal` adds one event per queue and turn.
"""

import gc
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock
from sandbox.message.message import InboundMessage
from sandbox.message.msg_id import host_bytes
from sandbox.sim.loop import SimLoop
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import FileDisk, InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.store.results import PutMessageStatus
from tests.bench.calibration import calibrate

CHUNK = 2_048
MESSAGES = 32 * CHUNK
BODY = bytes(128)
HOST = host_bytes("127.0.0.1", 10911)
QUEUES = 4
TURN = 16
BATCH = 32
CONFIG = MessageStoreConfig(commit_log_file_bytes=64 << 20, index_slots=100_000, index_entries=400_000)


def run(messages: int = MESSAGES) -> dict[str, dict[str, float]]:
    """Messages per CPU-second for every way, and how much of the copy's speed is left."""
    copy = _per_cpu_second(lambda root: _copy(root, messages), messages)
    figures = {
        "single": _measured(messages, lambda store, sent: _one_by_one(store, sent, 1), journal=False),
        "turns": _measured(messages, lambda store, sent: _one_by_one(store, sent, TURN), journal=False),
        "turns_journal": _measured(messages, lambda store, sent: _one_by_one(store, sent, TURN), journal=True),
        "batch": _measured(messages, _batches, journal=False),
        "batch_journal": _measured(messages, _batches, journal=True),
    }
    rows = {name: {"per_cpu_second": round(value), "of_copy": round(value / copy, 4)}
            for name, value in figures.items()}
    return {"copy": {"per_cpu_second": round(copy)}, "calibration": {"us": round(calibrate(), 4)}, **rows}


def inbound(first: int) -> list[InboundMessage]:
    """The next CHUNK messages for four queues, 32 in a row for the same one; each has one key of its own."""
    return [InboundMessage("orders", n // BATCH % QUEUES, BODY, b"KEYS\x01order-%07d\x02TAGS\x01TagA" % n, 0, 0, 0,
                           1_700_000_000_000, HOST) for n in range(first, first + CHUNK)]


def _per_cpu_second(work: Callable[[Path], float], messages: int) -> float:
    root = Path(tempfile.mkdtemp())
    try:
        return messages / work(root)
    finally:
        shutil.rmtree(root)


def _copy(root: Path, messages: int) -> float:
    record = bytes(91 + len(BODY) + len(b"orders") + 31)
    mapped = FileDisk(root).map("log", len(record) * messages)
    began = time.process_time()
    at = 0
    view = mapped.view
    for _ in range(messages):
        view[at : at + len(record)] = record
        at += len(record)
    spent = time.process_time() - began
    del view
    mapped.close()
    return spent


def _measured(messages: int, work: Callable[[MessageStore, list[InboundMessage]], None], *, journal: bool) -> float:
    def timed(root: Path) -> float:
        store = _opened(root, journal=journal)
        gc.collect()
        gc.freeze()
        spent = 0.0
        for first in range(0, messages, CHUNK):
            sent = inbound(first)  # a broker's messages come fresh from the decoder, too: not timed, but warm
            began = time.process_time()
            work(store, sent)
            spent += time.process_time() - began
        gc.unfreeze()
        assert sum(store.max_offset("orders", queue_id) for queue_id in range(QUEUES)) == messages
        assert store.index.files[-1].index_count == messages + 1
        store.crash()
        return spent

    return _per_cpu_second(timed, messages)


def _opened(root: Path, *, journal: bool) -> MessageStore:
    clock = ScaledClock(SimLoop(), start_ms=1_700_000_000_000)
    diary = Journal(clock)
    diary.tracing = journal
    store = MessageStore(CONFIG, disk=FileDisk(root), clock=clock, journal=diary, broker="broker-a", broker_id=0,
                         store_host=HOST, flusher=InlineFlusher())
    store.load()
    store.start()
    return store


def _one_by_one(store: MessageStore, sent: list[InboundMessage], turn: int) -> None:
    for at in range(0, len(sent), turn):
        for m in sent[at : at + turn]:
            store.put_message(m)
        store.dispatch()


def _batches(store: MessageStore, sent: list[InboundMessage]) -> None:
    for at in range(0, len(sent), BATCH):
        done = store.put_messages(sent[at : at + BATCH])
        assert done.status is PutMessageStatus.PUT_OK
        store.dispatch()


if __name__ == "__main__":
    for name, row in run().items():
        print(f"{name:15} {row}")
