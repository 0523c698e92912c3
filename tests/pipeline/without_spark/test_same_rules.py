"""`mqstore verify` and `store_audit` judge a store by one set of rules: for a damage the same finding and sentence."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.store.reader import StoreReader
from sandbox.store_audit.findings import ERROR, WARNING
from tests.pipeline.both_commands import Row, agreed, audited
from tests.pipeline.store_reads import written
from tests.unit.store.damage import overwrite
from tests.unit.store.stores import START_MS, Stores, message

MESSAGES = 60
TOPICS = b'{"topicConfigTable":{"orders":{"perm":6,"readQueueNums":1,"topicName":"orders","writeQueueNums":1}}}'
Damage = Callable[[Path], list[tuple[str, str, str]]]


@pytest.fixture(params=[0, 3], ids=["within a second", "every 3 s"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A closed store of small files: 10 units a queue file, 20 entries an index file, two keys a message."""
    stores = Stores()
    store = stores.opened()
    keyed = (message(number, UNIQ_KEY=f"{number:032X}") for number in range(MESSAGES))
    stores.put(store, *keyed, each_s=request.param)
    stores.advance(120)
    store.close()
    return written({**stores.sim_disk.image(), "config/topics.json": TOPICS}, tmp_path)


def indexes(root: Path) -> list[Path]:
    return sorted((root / "index").iterdir())


def findings(root: Path) -> list[Row]:
    return sorted(audited(agreed(root))[0])


def judged(root: Path) -> list[tuple[str, str, str]]:
    """The findings of both: severity, kind and file."""
    verdict = agreed(root)
    rows = findings(root)
    assert verdict.sound == (ERROR not in {row[0] for row in rows})
    return [row[:3] for row in rows]


def without_index(*numbers: int) -> Damage:
    def damaged(root: Path) -> list[tuple[str, str, str]]:
        files = indexes(root)
        for number in numbers:
            files[number].unlink()
        left = [path.name for path in files if path.exists()]
        behind = [name for name in left if name < files[numbers[0]].name]
        after = [name for name in left if name > files[numbers[0]].name]
        if behind and after and int(after[0]) - int(behind[-1]) > 5_000:  # its seconds show that a file is missing
            return [(ERROR, "missing_file", f"index/{after[0]}")]
        return [(ERROR, "missing_entry", f"index/{behind[-1] if behind else after[0]}")]

    return damaged


def two_holes(root: Path) -> list[tuple[str, str, str]]:
    return sorted([*without_index(1)(root), *without_index(2)(root)])


def swapped_indexes(root: Path) -> list[tuple[str, str, str]]:
    one, other = indexes(root)[2:4]
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    return [(WARNING, "index_order", f"index/{other.name}")]


def checkpoint_of_later(root: Path) -> list[tuple[str, str, str]]:
    overwrite(root / "checkpoint", 0, struct.pack(">q", START_MS + 3_600_000))
    return [(WARNING, "checkpoint_ahead", "checkpoint")]


def no_configuration(root: Path) -> list[tuple[str, str, str]]:
    (root / "config" / "topics.json").write_bytes(TOPICS.replace(b"orders", b"others"))
    return [(WARNING, "no_configuration", "config/topics.json")]


def backup_of_configuration(root: Path) -> list[tuple[str, str, str]]:
    (root / "config" / "topics.json").rename(root / "config" / "topics.json.bak")
    return []


def all_indexes(root: Path) -> list[tuple[str, str, str]]:
    """Without any file the index may be off: both count its keys."""
    for path in indexes(root):
        path.unlink()
    return []


DAMAGES: list[Damage] = [
    without_index(0),
    without_index(3),
    without_index(-1),
    without_index(2, 3),
    two_holes,
    swapped_indexes,
    checkpoint_of_later,
    no_configuration,
    backup_of_configuration,
    all_indexes,
]


def test_c24_a_sound_store_is_sound_to_both(root: Path) -> None:
    assert len(indexes(root)) > 5
    assert judged(root) == []


@pytest.mark.parametrize("damage", DAMAGES, ids=range(len(DAMAGES)))
def test_c24_both_name_what_is_missing_and_what_does_not_fit(root: Path, damage: Damage) -> None:
    expected = damage(root)
    assert judged(root) == expected


def test_c24_the_sentence_says_how_many_keys_of_which_records_have_no_entry(root: Path) -> None:
    with StoreReader(root) as reader:
        before = reader.index_files()[-2].header()
        lost = [one.physical_offset for one in reader.records() if one.physical_offset > before.end_physical]
    indexes(root)[-1].unlink()
    [row] = findings(root)
    assert row[4] == (
        f"no entry for {2 * len(lost)} keys of the records from {lost[0]} to {lost[-1]}, behind entry "
        f"{before.index_count - 1}"
    )


def test_in_a_store_in_use_the_newest_keys_may_be_on_their_way(root: Path) -> None:
    indexes(root)[-1].unlink()
    (root / "abort").touch()
    assert findings(root) == []
