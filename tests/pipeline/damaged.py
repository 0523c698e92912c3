"""Stores damaged from a seed: flips, cuts, swaps, foreign files, odd names; and which messages none of it touched.

`python -m tests.pipeline.damaged FROM TO` reads so many with everything that reads stores, and prints what went wrong
and how much memory it took, as JSON.
"""

import json
import os
import re
import struct
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.kernel.chance import Chance
from sandbox.pipeline.sources.records import rows_of
from sandbox.pipeline.sources.store import StoreSource
from sandbox.queries.rows.stores import summary_row
from sandbox.store.reader import StoreReader
from sandbox.store_audit.findings import Finding
from sandbox.store_audit.one_process import audit
from tests.pipeline.both_commands import audited, verified
from tests.pipeline.store_reads import streaming, written
from tests.unit.store.damage import overwrite
from tests.unit.store.stores import Stores, message

MESSAGES = 240
LOG_BYTES, QUEUE_BYTES = 8_192, 800
Name = tuple[str, int, int]


class Stretch(NamedTuple):
    """Bytes of a file."""

    file: str
    at: int
    size: int


class Sound(NamedTuple):
    """The store before: its files, and where the record and the unit of each message stand."""

    files: dict[str, bytes]
    messages: dict[Name, tuple[Stretch, Stretch]]

    def untouched(self, root: Path) -> set[Name]:
        """Messages whose record and unit are as they were."""
        return {name for name, parts in self.messages.items() if all(self.is_there(root, part) for part in parts)}

    def is_there(self, root: Path, part: Stretch) -> bool:
        path = root / part.file
        data = path.read_bytes() if path.is_file() else b""
        return data[part.at : part.at + part.size] == self.files[part.file][part.at : part.at + part.size]


@cache
def sound() -> Sound:
    """Two topics with three queues each, in many small files."""
    stores = Stores(
        commit_log_file_bytes=LOG_BYTES, consume_queue_file_entries=QUEUE_BYTES // 20, index_entries=100, index_slots=25
    )
    store = stores.opened()
    for n in range(MESSAGES):
        stores.put(
            store,
            message(
                n,
                topic=("orders", "payments")[n % 2],
                queue_id=n % 3,
                UNIQ_KEY=f"{n:032X}",
                body=bytes([n % 251]) * (20 + n % 90),
            ),
        )
    store.close()
    files = stores.sim_disk.image()
    places: dict[Name, tuple[Stretch, Stretch]] = {}
    with tempfile.TemporaryDirectory() as home, StoreReader(written(files, Path(home))) as reader:
        for one in reader.records():
            start = one.physical_offset // LOG_BYTES * LOG_BYTES
            unit = 20 * one.queue_offset // QUEUE_BYTES * QUEUE_BYTES
            places[one.topic, one.queue_id, one.queue_offset] = (
                Stretch(f"commitlog/{start:020}", one.physical_offset - start, one.store_bytes),
                Stretch(f"consumequeue/{one.topic}/{one.queue_id}/{unit:020}", 20 * one.queue_offset - unit, 20),
            )
    assert len(places) == MESSAGES
    return Sound(files, places)


KINDS = {
    "log body": "crc",
    "log head": "crc unreadable torn_record orphan_unit missing_unit two_records wrong_unit",
    "log cut": "unreadable torn_record",
    "log page": "unreadable torn_record crc",
    "log swap": "unreadable torn_record torn_tail",
    "log longer": "file_sizes",
    "queue flip": "wrong_unit missing_unit",
    "queue garbage": "wrong_unit missing_unit",
    "queue zeros": "missing_unit",
    "queue cut": "missing_unit",
    "queue swap": "wrong_unit",
    "queue longer": "file_sizes orphan_unit",
    "queue gone": "missing_unit",
    "index count": "wrong_header",
    "index entry": "wrong_entry",
    "index slot": "wrong_slot",
    "index cut": "unknown_shape file_sizes wrong_header",
    "index rubbish": "wrong_header unknown_shape",
    "index gone": "missing_entry missing_file",
    "index swap": "index_order",
    "name": "odd_entry",
    "small": "garbled",
}
"""The kinds of findings that a damage may have, and no other."""


class Damage(NamedTuple):
    """A damage, and the files of which one must have a finding while the record that shows it exists.

    `position`: the byte of its finding, where the damage alone decides it.
    """

    what: str
    files: frozenset[str]
    record: Stretch | None = None
    position: int | None = None

    @property
    def kinds(self) -> set[str]:
        return set(KINDS[self.what if self.what in KINDS else self.what.partition(" ")[0]].split())

    def explains(self, finding: Finding) -> bool:
        """A wrong queue offset in a record's head also makes a unit missing where that offset would be."""
        is_far = self.what == "log head" and finding.kind in ("missing_unit", "two_records", "wrong_unit")
        return finding.kind in self.kinds and (finding.file in self.files or is_far)


def damaged(seed: int, root: Path) -> list[Damage]:
    """One to four damages, each to another part of the store."""
    written(sound().files, root)
    chance = Chance(seed)
    parts = [of_log, of_queues, of_index, of_names, of_small_files]
    return [parts.pop(chance.below(len(parts)))(root, chance) for _ in range(1 + chance.below(4))]


def of_log(root: Path, chance: Chance) -> Damage:
    record, unit = chance.choice(sorted(sound().messages.values()))
    path = root / record.file
    what = chance.choice(["body", "head", "cut", "page", "swap", "longer"])
    logs = sorted({record.file for record, _ in sound().messages.values()})
    other = root / chance.choice([log for log in logs if log != record.file])
    if what == "body":
        _flip(path, record.at + 88 + chance.below(20), chance)
    elif what == "head":
        _flip(path, record.at + chance.choice([*range(12), *range(20, 36), *range(84, 88)]), chance)
    elif what == "cut":
        os.truncate(path, record.at + chance.below(record.size))
    elif what == "page":
        overwrite(path, record.at // 512 * 512, bytes(512))
    elif what == "swap":
        _swap(path, other)
    else:
        path.write_bytes(path.read_bytes() + other.read_bytes()[: 1 + chance.below(LOG_BYTES)])
    touched = {record.file, unit.file} | ({other.relative_to(root).as_posix()} if what == "swap" else set())
    position = record.at if what == "body" else LOG_BYTES if what == "longer" else None
    return Damage(f"log {what}", frozenset(touched), position=position)


def of_queues(root: Path, chance: Chance) -> Damage:
    record, unit = chance.choice(sorted(sound().messages.values()))
    path = root / unit.file
    what = chance.choice(["flip", "garbage", "zeros", "cut", "swap", "longer", "gone"])
    others = sorted({unit.file for _, unit in sound().messages.values() if (root / unit.file).parent != path.parent})
    other = root / chance.choice(others)
    if what == "flip":
        _flip(path, unit.at + chance.below(20), chance)
    elif what == "garbage":
        overwrite(path, unit.at, struct.pack(">qiq", chance.below(1 << 62), chance.below(1 << 31), 0))
    elif what == "zeros":
        overwrite(path, unit.at, bytes(20 * (1 + chance.below(3))))
    elif what == "cut":
        os.truncate(path, unit.at + chance.below(20))
    elif what == "swap":
        _swap(path, other)
    elif what == "longer":
        path.write_bytes(path.read_bytes() + b"\x01" * (1 + chance.below(100)))
    else:
        path.unlink()
    touched = {unit.file, other.relative_to(root).as_posix()} if what == "swap" else {unit.file}
    position = unit.at if what in ("flip", "garbage", "zeros") else unit.at // 20 * 20 if what == "cut" else None
    return Damage(f"queue {what}", frozenset(touched), record, 0 if what == "gone" else position)


def of_index(root: Path, chance: Chance) -> Damage:
    files = [root / name for name in sorted(sound().files) if name.startswith("index/")]
    number = 1 + chance.below(len(files) - 2)
    path, touched = files[number], {files[number]}
    what = chance.choice(["count", "entry", "slot", "cut", "rubbish", "gone", "swap"])
    position = None
    entry = 40 + 4 * 25 + 20 * (1 + chance.below(98))
    if what == "count":
        position = 36
        overwrite(path, position, struct.pack(">i", chance.choice([-1, 0, 101, (1 << 31) - 1])))
    elif what == "entry":
        position = entry
        overwrite(path, position, struct.pack(">iq", chance.below(1 << 31), chance.below(1 << 62)))
    elif what == "slot":
        used = [at for at in range(40, 140, 4) if any(path.read_bytes()[at : at + 4])]
        position = chance.choice(used)
        overwrite(path, position, struct.pack(">i", 1 << 30))
    elif what == "cut":
        os.truncate(path, chance.below(40 + 4 * 25 + 20 * 100))
    elif what == "gone":
        path.unlink()
        touched = {files[number - 1], files[number + 1]}
    elif what == "swap":
        _swap(path, files[number + 1])
        touched = {files[number + 1]}
    else:
        path.write_bytes(b"\x5a" * path.stat().st_size)
    return Damage(f"index {what}", frozenset(one.relative_to(root).as_posix() for one in touched), position=position)


def of_names(root: Path, chance: Chance) -> Damage:
    place = chance.choice(["commitlog", "index", "consumequeue", "consumequeue/orders", "consumequeue/orders/1"])
    name = chance.choice(["notes.txt", "²", "9" * 29, "00", "9" * 20, "\udcff\udcfe", "٣", "-1", "0" * 19 + "7"])
    path = root / place / name
    made: Callable[[], object] = chance.choice(
        [
            lambda: path.write_bytes(b"by hand"),
            lambda: path.symlink_to(path),
            lambda: os.mkfifo(path),
            *([path.mkdir] if place != "consumequeue" or name == "\udcff\udcfe" else []),
        ]
    )
    made()
    shown = os.fsencode(path.relative_to(root)).decode("utf-8", "replace")
    return Damage(f"name {name!a}", frozenset({shown}), position=0)


def of_small_files(root: Path, chance: Chance) -> Damage:
    name = chance.choice(["checkpoint", "config/topics.json", "config/consumerOffset.json"])
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    made: Callable[[], object] = chance.choice(
        [
            lambda: path.write_bytes(b"\x7f\xff" * (1 + chance.below(2_000))),
            lambda: os.mkfifo(path),
            path.mkdir,
            lambda: path.symlink_to(path),
        ]
    )
    made()
    return Damage(f"small {name}", frozenset({name}), position=0)


def _flip(path: Path, at: int, chance: Chance) -> None:
    overwrite(path, at, bytes([path.read_bytes()[at] ^ 1 << chance.below(8)]))


def _swap(one: Path, other: Path) -> None:
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def wrong_with(seed: int, root: Path) -> list[str]:
    """Return the errors of the audit and of reads of this seed's store."""
    damages = damaged(seed, root)
    good = sound().untouched(root)
    problems = wrong_findings(root, damages)
    batch = _batch(root)
    reported = {
        "batch": [_name(row) for row in batch],
        "rows": [_name(row) for made in rows_of(root) for row in made.to_pylist()],
        "stream": [
            (topic, queue_id, offset)
            for _, topic, queue_id, offset, _ in streaming(path=str(root), failOnDataLoss="false").run()
        ],
    }
    with StoreReader(root) as reader:
        reported["reader"] = [
            (one.topic, one.queue_id, one.queue_offset)
            for queue in reader.queues()
            for one in reader.read(*queue, 0, 1_000)
        ]
        summary_row(reader)
    for who, names in reported.items():
        problems += [f"{who} lost {name}" for name in sorted(good - set(names))]
        problems += [f"{who} has {name} twice" for name in sorted(set(names)) if names.count(name) > 1]
        problems += [f"{who} has {name}, which never was" for name in sorted(set(names) - set(sound().messages))]
        if sorted(names) != sorted(reported["batch"]):
            problems.append(f"{who} and batch disagree about {sorted(set(names) ^ set(reported['batch']))}")
    for options, keeps in NARROWED:
        if _batch(root, **options) != [row for row in batch if keeps(row)]:
            problems.append(f"{options} chooses other rows than a filter does")
    return [f"seed {seed}, {', '.join(one.what for one in damages)}: {one}" for one in problems]


def wrong_findings(root: Path, damages: list[Damage]) -> list[str]:
    """Compare the findings with what the damages are known to be, and `mqstore verify` with the audit."""
    [verdict] = audit({"s": root})
    findings = verdict.findings
    shown = [one for one in damages if one.record is None or sound().is_there(root, one.record)]
    problems = [f"no finding of {one}" for one in shown if not one.files & {found.file for found in findings}]
    if len(damages) == 1:
        [damage] = damages
        problems += [f"{found} has another cause" for found in findings if not damage.explains(found)]
        if damage.position is not None and damage.position not in {found.position for found in findings}:
            problems.append(f"no finding at {damage.position}: {findings}")
    if verified(root) != audited(verdict):
        problems.append(f"mqstore verify reports {verified(root)}, the audit {audited(verdict)}")
    return problems


NARROWED: list[tuple[dict[str, str], Callable[[dict[str, Any]], bool]]] = [
    ({"topic": "orders"}, lambda row: row["topic"] == "orders"),
    ({"queueId": "0,2"}, lambda row: row["queueId"] in (0, 2)),
]


def _batch(root: Path, **options: str) -> list[dict[str, Any]]:
    reader = StoreSource({"path": str(root), **options}).reader(None)
    return [row for part in reader.partitions() for made in reader.read(part) for row in made.to_pylist()]


def _name(row: dict[str, Any]) -> Name:
    return row["topic"], row["queueId"], row["queueOffset"]


def peak_bytes() -> int:
    """Return the peak memory of this process: `ru_maxrss` would begin with its parent's peak."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1_024


def main(begin: int, end: int) -> None:
    wrong: list[str] = []
    for seed in range(begin, end):
        with tempfile.TemporaryDirectory() as home:
            wrong += wrong_with(seed, Path(home))
    print(json.dumps({"wrong": wrong, "peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
