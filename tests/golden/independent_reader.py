"""A second reader of store directories, written from the format alone and sharing no line with the product.

It reads whole files, believes nothing and lists what is wrong.  It is tried on stores of a real broker first, so that
what it says about our own store means something.
"""

import struct
import zlib
from pathlib import Path

MESSAGE, BLANK = 0xDAA320A7, 0xCBD43194
DELAYS_S = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)


class Record:
    """One message as its bytes say it; what is no UTF-8 is read as Java reads it."""

    def __init__(self, raw: bytes, at: int) -> None:
        self.at, self.size, self.raw = at, len(raw), raw
        self.crc, self.queue_id, self.flag, self.queue_offset, self.said_at, self.sys_flag, self.born = struct.unpack(
            ">IiiqqIq", raw[8:48]
        )
        cut = 48
        self.born_host, cut = _host(raw, cut, self.sys_flag & 0x10)
        self.stored = int.from_bytes(raw[cut : cut + 8], "big")
        self.store_host, cut = _host(raw, cut + 8, self.sys_flag & 0x20)
        self.reconsumed, self.prepared, body_length = struct.unpack(">iqi", raw[cut : cut + 16])
        self.body = raw[cut + 16 : cut + 16 + body_length]
        cut += 16 + body_length
        self.topic = raw[cut + 1 : cut + 1 + raw[cut]].decode("utf-8", "replace")
        cut += 1 + raw[cut]
        length = int.from_bytes(raw[cut : cut + 2], "big")
        self.text = raw[cut + 2 : cut + 2 + length].decode("utf-8", "replace")
        self.end = cut + 2 + length
        pairs = (pair.split("\x01") for pair in self.text.split("\x02"))
        self.properties = {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and pair[0] and pair[1]}

    @property
    def plain_body(self) -> bytes:
        return zlib.decompress(self.body) if self.sys_flag & 1 else self.body

    @property
    def in_queue(self) -> bool:
        return self.sys_flag & 0xC not in (0x4, 0xC)

    @property
    def tags_code(self) -> int:
        level = int(self.properties.get("DELAY", "0"))
        if self.topic == "SCHEDULE_TOPIC_XXXX" and level > 0:
            return self.stored + 1000 * DELAYS_S[min(level, 18) - 1]
        return hash_of(self.properties.get("TAGS", ""))

    @property
    def keys(self) -> list[str]:
        unique = self.properties.get("UNIQ_KEY")
        return ([unique] if unique else []) + self.properties.get("KEYS", "").split()


class IndependentReader:
    """A store directory; `problems` says what is wrong with it, in plain sentences."""

    def __init__(self, root: Path, *, slots: int, entries: int) -> None:
        self.root, self.slots, self.entries = root, slots, entries
        self.problems: list[str] = []
        self.records: list[Record] = []
        self.blanks = 0
        self._read_log()
        self._compare_queues()
        self._compare_index()
        self._check_small_files()

    def messages(self, topic: str, queue_id: int) -> list[Record]:
        return [record for record in self.records if (record.topic, record.queue_id) == (topic, queue_id)]

    def _read_log(self) -> None:
        files = _twenty_digits(self.root / "commitlog")
        if len({len(data) for _, data in files}) > 1:
            self.problems.append("log files differ in size")
        for number, (start, data) in enumerate(files):
            if number and start != files[number - 1][0] + len(files[number - 1][1]):
                self.problems.append(f"log file {start} does not follow the one before")
            at = 0
            while at + 8 <= len(data):
                size, magic = struct.unpack(">iI", data[at : at + 8])
                if magic == BLANK:
                    self.blanks += 1
                    if at + size != len(data):
                        self.problems.append(f"the blank at {start + at} does not end its file")
                    at += size
                    break
                if magic != MESSAGE:
                    if any(data[at : at + 8]) or any(any(rest[:8]) for _, rest in files[number + 1 :]):
                        self.problems.append(f"no record at {start + at}")
                    return
                if size < 91 or at + size + 8 > len(data):
                    self.problems.append(f"the record at {start + at} leaves no room for a blank")
                    return
                self._take(Record(data[at : at + size], start + at))
                at += size

    def _take(self, record: Record) -> None:
        if record.end != record.size or record.said_at != record.at:
            self.problems.append(f"the record at {record.at} is not as long, or not where, it says")
        if record.crc != (zlib.crc32(record.body) & 0x7FFFFFFF if record.body else 0):
            self.problems.append(f"the body of the record at {record.at} is damaged")
        if self.records and record.stored < self.records[-1].stored:
            self.problems.append(f"the record at {record.at} was stored before the one in front of it")
        if "\x02" in record.text[-1:]:
            self.problems.append(f"the properties of the record at {record.at} end in a separator")
        self.records.append(record)

    def _compare_queues(self) -> None:
        wanted: dict[tuple[str, int], dict[int, bytes]] = {}
        log_min = self.records[0].at if self.records else 0
        for record in self.records:
            if record.in_queue:
                unit = struct.pack(">qiq", record.at, record.size, record.tags_code)
                wanted.setdefault((record.topic, record.queue_id), {})[record.queue_offset] = unit
        for directory in sorted((self.root / "consumequeue").glob("*/*")):
            name = (directory.parent.name, int(directory.name))
            queue = wanted.pop(name, {})
            for start, data in _twenty_digits(directory):
                for at in range(0, len(data) - 19, 20):
                    unit, number = data[at : at + 20], (start + at) // 20
                    expected = queue.pop(number, None)
                    physical, length = struct.unpack(">qi", unit[:12])
                    if expected is None and length > 0 and length != 0x7FFFFFFF and physical >= log_min:
                        self.problems.append(f"queue {name} has a unit {number} for no message")
                    if expected is not None and expected != unit:
                        self.problems.append(f"unit {number} of queue {name} is not what its record says")
            if queue:
                self.problems.append(f"queue {name} lacks units {sorted(queue)[:5]}")
        self.problems += [f"queue {name} has no files" for name in wanted]

    def _compare_index(self) -> None:
        wanted = [
            (hash_of_key(record.topic, key), record)
            for record in self.records
            if record.sys_flag & 0xC != 0xC
            for key in record.keys
        ]
        missing = {(key_hash, record.at) for key_hash, record in wanted}
        known, stored = set(missing), {record.at: record.stored for record in self.records}
        for path in sorted((self.root / "index").glob("*")):
            self._compare_index_file(path, missing, known, stored)
        if missing:
            self.problems.append(f"{len(missing)} keys are in no index file")

    def _compare_index_file(
        self, path: Path, missing: set[tuple[int, int]], known: set[tuple[int, int]], stored: dict[int, int]
    ) -> None:
        data = path.read_bytes()
        if len(data) != 40 + 4 * self.slots + 20 * self.entries or len(path.name) != 17 or not path.name.isdigit():
            self.problems.append(f"index file {path.name} has a wrong size or name")
        begin, end, begin_at, end_at, used, count = struct.unpack(">qqqqii", data[:40])
        newest: dict[int, int] = {}
        seen: list[int] = []
        for number in range(1, count):
            position = 40 + 4 * self.slots + 20 * number
            key_hash, physical, seconds, previous = struct.unpack(">iqii", data[position : position + 20])
            slot = key_hash % self.slots
            if previous != newest.get(slot, 0):
                self.problems.append(f"entry {number} of {path.name} does not continue the chain of slot {slot}")
            if (key_hash, physical) not in known:
                self.problems.append(f"entry {number} of {path.name} is for no key of a message")
            elif number > 1 and seconds != max(0, (stored[physical] - begin) // 1000):  # 1: from the file before
                self.problems.append(f"entry {number} of {path.name} has a wrong time")
            newest[slot] = number
            missing.discard((key_hash, physical))
            seen.append(physical)
        slots = struct.unpack(f">{self.slots}i", data[40 : 40 + 4 * self.slots])
        if {slot: number for slot, number in enumerate(slots) if number} != newest or used != len(newest):
            self.problems.append(f"the slots of {path.name} do not lead to the newest entries")
        if seen and (begin_at, end_at) != (seen[0], seen[-1]):
            self.problems.append(f"the header of {path.name} spans {begin_at} to {end_at}, not its entries")
        if seen and seen[0] in stored and (begin, end) != (stored[seen[0]], stored[seen[-1]]):
            self.problems.append(f"the header of {path.name} has wrong times")

    def _check_small_files(self) -> None:
        if (self.root / "checkpoint").stat().st_size != 4096:
            self.problems.append("the checkpoint has not 4096 bytes")
        if (self.root / "lock").read_bytes() != b"lock":
            self.problems.append("the lock file does not say lock")
        if (self.root / "abort").exists() and (self.root / "abort").stat().st_size:
            self.problems.append("the abort file is not empty")


def hash_of(text: str) -> int:
    """Java's String.hashCode."""
    value = 0
    for unit in struct.unpack(f">{len(text.encode('utf-16-be')) // 2}H", text.encode("utf-16-be")):
        value = (value * 31 + unit) % 2**32
    return value - 2**32 if value >= 2**31 else value


def hash_of_key(topic: str, key: str) -> int:
    value = abs(hash_of(f"{topic}#{key}"))
    return value if value < 2**31 else 0


def _host(raw: bytes, at: int, is_v6: int) -> tuple[bytes, int]:
    length = 20 if is_v6 else 8
    return raw[at : at + length], at + length


def _twenty_digits(directory: Path) -> list[tuple[int, bytes]]:
    """Start and content of every file, in order; a file not named by 20 digits has no business there."""
    if not directory.is_dir():
        return []
    paths = sorted(directory.iterdir())
    assert all(len(path.name) == 20 and path.name.isdigit() for path in paths), paths
    return [(int(path.name), path.read_bytes()) for path in paths]
