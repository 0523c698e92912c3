"""Cost of one message in the store: put and dispatch, with its queue unit and index entries.

Rows, for bodies of 128 bytes and of 1 KiB:

    copy                  the baseline: as many bytes, copied message by message into a fresh mapped file, nothing else
    calls_single          the calls without which no record, unit and entry get into the files (`append_calls.py`)
    calls_batch_32        the same for a batch
    single                put one by one, dispatched 16 at a time: a broker's turn under load
    single_alone          put one by one, each dispatched by itself
    batch_32              put 32 at a time, each batch dispatched by itself
    …_two_keys            with a unique key and KEYS; the others have one key, so one index entry
    …_mixed               bodies of many sizes, and two tags
    …_journal             with the journal's valve open: one event per queue and turn

Figures are per second of CPU time of this process, as medians of several rounds; goals: 300,000 in `single`, 1,000,000
in `batch_32`.
"""

import gc
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock
from sandbox.message.message import InboundBatch, InboundMessage
from sandbox.message.msg_id import host_bytes
from sandbox.sim.loop import SimLoop
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import FileDisk, InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.store.results import PutMessageStatus
from tests.bench import append_calls
from tests.bench.calibration import calibrate

ROUNDS = 3
CHUNK = 256  # made untimed just before they are put, as a broker's messages come fresh from the decoder
MESSAGES = 96 * CHUNK
WARM = 16 * CHUNK  # put before: by then all endings of keys have been met, as in a broker that runs for a while
BODIES = (128, 1024)
HOST = host_bytes("127.0.0.1", 10911)
QUEUES = 4
TURN = 16
BATCH = 32
CONFIG = MessageStoreConfig(commit_log_file_bytes=64 << 20, index_slots=100_000, index_entries=400_000)
ONE_KEY = b"KEYS\x01order-%07d\x02TAGS\x01TagA"
TWO_KEYS = b"UNIQ_KEY\x017F00000142035FFD2B2762EA0A99%04X\x02" + ONE_KEY

Make = Callable[[int, int], InboundMessage]  # message number, body bytes


class Way(NamedTuple):
    """One row: what the messages are and how they are put."""

    make: Make
    turn: int
    batch: bool = False
    journal: bool = False


def one_key(n: int, body_bytes: int) -> InboundMessage:
    """Message `n`: 32 in a row are for the same queue; each has one key of its own."""
    return _message(n, body_bytes, ONE_KEY % n)


def two_keys(n: int, body_bytes: int) -> InboundMessage:
    return _message(n, body_bytes, TWO_KEYS % (n & 0xFFFF, n))


def mixed(n: int, body_bytes: int) -> InboundMessage:
    text = b"KEYS\x01order-%07d\x02TAGS\x01%s" % (n, (b"TagA", b"TagB")[n * 7 % 3 & 1])
    return _message(n, body_bytes // 2 + n * 7919 % body_bytes, text)


def _message(n: int, body_bytes: int, text: bytes) -> InboundMessage:
    return InboundMessage("orders", n // BATCH % QUEUES, bytes(body_bytes), text, 0, 0, 0, 1_700_000_000_000, HOST)


WAYS = {
    "single": Way(one_key, TURN),
    "single_two_keys": Way(two_keys, TURN),
    "single_mixed": Way(mixed, TURN),
    "single_journal": Way(one_key, TURN, journal=True),
    "single_alone": Way(one_key, 1),
    "batch_32": Way(one_key, BATCH, batch=True),
    "batch_32_two_keys": Way(two_keys, BATCH, batch=True),
    "batch_32_mixed": Way(mixed, BATCH, batch=True),
    "batch_32_journal": Way(one_key, BATCH, batch=True, journal=True),
}


def run(messages: int = MESSAGES, rounds: int = ROUNDS, warm: int = WARM) -> dict[str, Any]:
    """Return messages per CPU second, CPU microseconds and the share of the copy, for both body sizes and every row."""
    slow = []
    found: dict[str, Any] = {}
    for body_bytes in BODIES:
        spent: dict[str, list[float]] = {}
        for _ in range(rounds):
            slow.append(calibrate())
            for name, seconds in _round(messages, body_bytes, warm):
                spent.setdefault(name, []).append(seconds)
        found[f"body_{body_bytes}"] = {
            name: _row(median(times), median(spent["copy"]), messages) for name, times in spent.items()
        }
    return {"calibration_us": round(median(slow), 4), **found}


def _row(seconds: float, copy_seconds: float, messages: int) -> dict[str, float]:
    return {
        "per_cpu_second": round(messages / seconds),
        "cpu_us": round(seconds / messages * 1e6, 3),
        "of_copy": round(copy_seconds / seconds, 4),
    }


def _round(messages: int, body_bytes: int, warm: int) -> Iterator[tuple[str, float]]:
    """CPU seconds of every row, once."""
    record_bytes = len(ONE_KEY % 0) + 91 + len("orders") + body_bytes
    yield "copy", _in_directory(lambda root: append_calls.copy(root, messages, record_bytes))
    yield "calls_single", _in_directory(lambda root: append_calls.singles(root, messages, body_bytes))
    yield "calls_batch_32", _in_directory(lambda root: append_calls.batches(root, messages, body_bytes, BATCH))
    for name, way in WAYS.items():
        yield name, _in_directory(lambda root, way=way: _measured(root, way, messages, body_bytes, warm))  # type: ignore[misc]


def _in_directory(work: Callable[[Path], float]) -> float:
    root = Path(tempfile.mkdtemp())
    try:
        return work(root)
    finally:
        shutil.rmtree(root)


def _measured(root: Path, way: Way, messages: int, body_bytes: int, warm: int) -> float:
    store = _opened(root, journal=way.journal)
    put = _put_batches if way.batch else _put_each
    spent = 0.0
    gc.collect()
    gc.freeze()  # else a collection looks at all that was imported
    for first in range(0, warm + messages, CHUNK):
        sent = [way.make(n, body_bytes) for n in range(first, first + CHUNK)]
        turns = [sent[at : at + way.turn] for at in range(0, CHUNK, way.turn)]
        seconds = put(store, turns)
        spent += seconds if first >= warm else 0.0
    gc.unfreeze()
    assert sum(store.max_offset("orders", queue_id) for queue_id in range(QUEUES)) == warm + messages
    keys = 2 if way.make is two_keys else 1
    assert store.index.files[-1].index_count == keys * (warm + messages) + 1
    store.crash()
    return spent


def _opened(root: Path, *, journal: bool) -> MessageStore:
    clock = ScaledClock(SimLoop(), start_ms=1_700_000_000_000)
    events = Journal(clock)
    events.tracing = journal
    store = MessageStore(
        CONFIG,
        disk=FileDisk(root),
        clock=clock,
        journal=events,
        broker="broker-a",
        broker_id=0,
        store_host=HOST,
        flusher=InlineFlusher(),
    )
    store.load()
    store.start()
    return store


def _put_each(store: MessageStore, turns: list[list[InboundMessage]]) -> float:
    began = time.process_time()
    for turn in turns:
        for m in turn:
            store.put_message(m)
        store.dispatch()
    return time.process_time() - began


def _put_batches(store: MessageStore, turns: list[list[InboundMessage]]) -> float:
    batches = [InboundBatch.of(turn) for turn in turns]  # as the broker makes them from what it decoded
    began = time.process_time()
    for batch in batches:
        done = store.put_batch(batch)
        assert done.status is PutMessageStatus.PUT_OK
        store.dispatch()
    return time.process_time() - began
