"""The second reader agrees with a real broker, sees damage, and finds nothing wrong with the store we write."""

import base64
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.golden_stores import NAMES, rows, unpack
from tests.golden.independent_reader import IndependentReader

pytestmark = pytest.mark.golden


def read(root: Path) -> IndependentReader:
    return IndependentReader(root, slots=1_000, entries=4_000)


@pytest.mark.parametrize("name", NAMES)
def test_it_finds_nothing_wrong_with_a_real_brokers_store(name: str, tmp_path: Path) -> None:
    store = read(unpack(name, tmp_path))
    assert store.problems == []
    assert store.blanks == 1
    bodies = {record.at: record.plain_body for record in store.records}
    for row in rows("messages"):
        if "body" in row:
            assert bodies[row["commitLogOffset"]] == base64.b64decode(row["body"] or ""), row


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


LOG, QUEUE, INDEX = "commitlog/00000000000000000000", "consumequeue/GoldenBasic/0/00000000000000000000", "index/*"
ENTRY_3 = 40 + 4 * 1_000 + 20 * 3
DAMAGES = [
    (LOG, 90, "damaged"),
    (LOG, 5, "no record"),
    (LOG, 30, "not where"),
    (LOG, 23, "unit"),
    (QUEUE, 5, "not what"),
    (QUEUE, 25, "not what"),
    (QUEUE, 20 * 12 + 11, "for no message"),
    (INDEX, ENTRY_3 + 2, "for no key"),
    (INDEX, ENTRY_3 + 19, "chain"),
    (INDEX, ENTRY_3 + 15, "wrong time"),
    (INDEX, 39, "slots"),
    (INDEX, 6, "wrong time"),
    (INDEX, 30, "header"),
    ("checkpoint", 0, None),
    ("lock", 1, "lock file"),
]


@pytest.mark.parametrize(("pattern", "at", "said"), DAMAGES)
def test_it_sees_one_flipped_bit(pattern: str, at: int, said: str | None, tmp_path: Path) -> None:
    root = unpack("basic-clean", tmp_path)
    flip(next(root.glob(pattern)), at)
    problems = " / ".join(read(root).problems)
    assert (said in problems) if said else not problems


CUTS: list[tuple[str, Callable[[Path], None]]] = [
    ("lacks units", lambda root: (root / QUEUE).write_bytes((root / QUEUE).read_bytes()[:100])),
    ("no files", lambda root: (root / QUEUE).parent.rename(root / "gone")),
    ("in no index", lambda root: [path.unlink() for path in root.glob(INDEX)] and None),
    ("differ in size", lambda root: (root / LOG).write_bytes(struct.pack(">iI", 0, 0))),
]


@pytest.mark.parametrize(("said", "cut"), CUTS)
def test_it_misses_what_is_missing(said: str, cut: Callable[[Path], None], tmp_path: Path) -> None:
    root = unpack("basic-clean", tmp_path)
    cut(root)
    assert said in " / ".join(read(root).problems)
