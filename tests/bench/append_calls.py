"""The floor under `append.py`: the calls into C without which no message gets into the files, and nothing around them.

No limits, no clock, no rolling of files, no answer, and the hashes of keys are given.  What a real store costs more
than this is what its own code costs; what this costs, no plain Python can save.
"""

import mmap
import time
from array import array
from collections.abc import Callable
from itertools import accumulate, chain, count, repeat
from pathlib import Path
from struct import Struct
from zlib import crc32

from sandbox.store.disk import FileDisk

CHUNK = 256
SLOTS = 100_000
_HEAD = Struct(">iiIiiqqiq8sq8siqi")
_START = Struct(">iiIiiqq48si")
_SHORT = Struct(">h")
_UNIT = Struct(">qiq")
_ENTRY = Struct(">iqii")
_SLOT = Struct(">i")
_HOST = bytes(8)
_TOPIC = b"\x06orders"


def copy(root: Path, messages: int, record_bytes: int) -> float:
    """CPU seconds of copying records into a fresh mapped file."""
    record = bytes(record_bytes)
    mapped = FileDisk(root).map("log", record_bytes * messages)
    mapped.use_large_pages()  # as the log of a large store has them
    view = mapped.view
    at = 0
    began = time.process_time()
    for _ in range(messages):
        view[at : at + record_bytes] = record
        at += record_bytes
    spent = time.process_time() - began
    del view
    mapped.close()
    return spent


def singles(root: Path, messages: int, body_bytes: int) -> float:
    """CPU seconds of the calls for messages put one by one, with one queue unit and one index entry each."""
    return _timed(root, messages, body_bytes, _singles)


def batches(root: Path, messages: int, body_bytes: int, batch: int) -> float:
    """The same for batches: what can run as one call for all of a batch does."""
    return _timed(root, messages, body_bytes, lambda *sent: _batches(*sent, batch))


_Work = Callable[[list[memoryview], int, list[bytes], list[bytes], list[int]], int]


def _timed(root: Path, messages: int, body_bytes: int, work: _Work) -> float:
    disk = FileDisk(root)
    sizes = (messages * (body_bytes + 200), messages * 20, SLOTS * 4 + messages * 20)
    files = [
        disk.map(name, size + mmap.PAGESIZE - size % mmap.PAGESIZE)
        for name, size in zip(("log", "queue", "index"), sizes, strict=True)
    ]
    files[0].use_large_pages()
    spent, at = 0.0, 0
    for first in range(0, messages, CHUNK):
        bodies = [bytes(body_bytes) for _ in range(CHUNK)]
        texts = [b"KEYS\x01order-%07d\x02TAGS\x01TagA" % n for n in range(first, first + CHUNK)]
        hashes = [n * 2_654_435_761 % 0x7FFF_FFFF for n in range(first, first + CHUNK)]
        views = [file.view for file in files]
        began = time.process_time()
        at = work(views, at, bodies, texts, hashes)
        spent += time.process_time() - began
    for file in files:
        file.close()
    return spent


def _singles(views: list[memoryview], at: int, bodies: list[bytes], texts: list[bytes], hashes: list[int]) -> int:
    log, queue, index = views
    size = _HEAD.size + len(bodies[0]) + len(_TOPIC) + 2 + len(texts[0])
    n = at // size
    pack_head, pack_unit, pack_entry, pack_slot = (_HEAD.pack_into, _UNIT.pack_into, _ENTRY.pack_into, _SLOT.pack_into)
    for body, text, key_hash in zip(bodies, texts, hashes, strict=True):
        pack_head(log, at, size, 1, crc32(body), 0, 0, n, at, 0, 7, _HOST, 7, _HOST, 0, 0, len(body))
        log[at + 88 : at + size] = b"".join((body, _TOPIC, _SHORT.pack(len(text)), text))
        pack_unit(queue, n * 20, at, size, 0)
        slot_at = key_hash % SLOTS * 4
        pack_entry(index, SLOTS * 4 + n * 20, key_hash, at, 0, _SLOT.unpack_from(index, slot_at)[0])
        pack_slot(index, slot_at, n)
        at += size
        n += 1
    return at


def _batches(
    views: list[memoryview], at: int, bodies: list[bytes], texts: list[bytes], hashes: list[int], batch: int
) -> int:
    log, queue, index = views
    words = index.cast("I")
    size = _HEAD.size + len(bodies[0]) + len(_TOPIC) + 2 + len(texts[0])
    for start in range(0, len(bodies), batch):
        some, their_texts = bodies[start : start + batch], texts[start : start + batch]
        sizes = [size for _ in some]
        physicals = list(accumulate(sizes[1:], initial=at))
        heads = map(
            _START.pack,
            sizes,
            repeat(1),
            map(crc32, some),
            repeat(0),
            repeat(0),
            count(0),
            physicals,
            repeat(bytes(48)),
            map(len, some),
        )
        log[at : at + size * batch] = b"".join(
            chain.from_iterable(zip(heads, some, repeat(_TOPIC + b"00"), their_texts, strict=False))
        )
        n = at // size
        queue[n * 20 : (n + batch) * 20] = b"".join(map(_UNIT.pack, physicals, sizes, repeat(0)))
        slots = [key_hash % SLOTS for key_hash in hashes[start : start + batch]]
        previous = array("I", [words[slot] for slot in slots])
        for slot, no in zip(slots, range(n, n + batch), strict=True):
            words[slot] = no
        previous.byteswap()
        entries = b"".join(map(_ENTRY.pack, hashes[start : start + batch], physicals, repeat(0), repeat(0)))
        index[SLOTS * 4 + n * 20 : SLOTS * 4 + (n + batch) * 20] = entries
        at += size * batch
    return at
