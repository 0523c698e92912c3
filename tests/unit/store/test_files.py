"""Maps, real files, JSON tables and configuration."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.kernel.errors import StoreFull
from sandbox.store.commit_log import use_large_pages
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import FileDisk
from sandbox.store.json_files import JsonFile, in_apaches_shape
from sandbox.store.mapped_file import MappedFile, MapPool, wipe
from tests.unit.store.stores import Stores, message

PLAIN = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('": \\\n{}'), max_size=8)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_map_keeps_one_descriptor_and_a_rested_store_only_its_lock(tmp_path: Path) -> None:
    before = open_files()
    stores = Stores(FileDisk(tmp_path), max_mapped_files=20)
    store = stores.opened()
    stores.put(store, *[message(n, queue_id=n % 40) for n in range(400)])
    assert open_files() - before <= 21
    stores.advance(180)
    assert open_files() - before == 1
    store.close()
    assert open_files() == before


def test_two_files_of_one_directory_are_mapped_and_the_idle_one_gives_way(tmp_path: Path) -> None:
    pool = MapPool(FileDisk(tmp_path), 10)
    files = [MappedFile("d", base, 4096) for base in (0, 4096, 8192)]
    for file in files[:2]:
        pool.view(file)[0] = 7
    files[0].used = False
    pool.view(files[2])
    assert [file.view is None for file in files] == [True, False, False]
    assert pool.view(files[0])[0] == 7
    pool.close()
    assert len(pool) == 0


def test_a_file_of_which_a_slice_is_held_is_unmapped_with_its_last_slice(tmp_path: Path) -> None:
    before, file, pool = open_files(), MappedFile("d", 0, 4096), MapPool(FileDisk(tmp_path), 10)
    view = pool.view(file)
    view[0] = 7
    held = view[:8]
    pool.close()
    assert (file.view, held[0], open_files()) == (None, 7, before + 1)
    del held
    assert open_files() == before


def test_a_pool_gives_what_is_used_a_second_chance(tmp_path: Path) -> None:
    pool = MapPool(FileDisk(tmp_path), 3)
    files = [MappedFile(f"d{n}", 0, 64) for n in range(5)]
    for file in files[:3]:
        pool.view(file)
        file.used = False
    files[0].used = True
    pool.view(files[3])
    assert [file.view is not None for file in files] == [True, False, True, True, False]
    pool.close()


def test_only_a_large_log_that_is_flushed_now_and_then_asks_for_large_pages(tmp_path: Path) -> None:
    large = MessageStoreConfig(commit_log_file_bytes=64 << 20)
    asked = [MessageStoreConfig(commit_log_file_bytes=1 << 20), replace(large, flush="SYNC_FLUSH"), large]
    assert [use_large_pages(config) for config in asked] == [False, False, True]
    pool = MapPool(FileDisk(tmp_path), 3)
    file = MappedFile("d", 0, 4 << 20, large_pages=True)
    pool.view(file)[3 << 20] = 7
    pool.unmap(file)
    assert bytes(pool.view(file)[(3 << 20) - 1 : (3 << 20) + 2]) == b"\0\7\0"
    pool.close()


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells what a mapping was advised")
def test_a_new_file_has_nothing_to_read_ahead_and_an_old_one_has(tmp_path: Path) -> None:
    def read_without_aim() -> bool:
        """Return whether the kernel notes `rr`, "random read advice", for the only mapping of the file."""
        reported = Path("/proc/self/smaps").read_text().partition(str(tmp_path / "queue"))[2]
        return "rr" in reported.partition("VmFlags:")[2].partition("\n")[0].split()

    disk = FileDisk(tmp_path)
    for new in (True, False):
        mapped = disk.map("queue", 6_000_000)
        assert read_without_aim() is new
        mapped.close()


def test_wiping_leaves_a_sparse_file_sparse(tmp_path: Path) -> None:
    disk = FileDisk(tmp_path)
    mapped = disk.map("f", 64 << 20)
    mapped.view[5:8] = b"abc"
    wipe(mapped.view, 6, 64 << 20)
    assert bytes(mapped.view[4:9]) == b"\0a\0\0\0"
    mapped.close()
    assert (tmp_path / "f").stat().st_blocks * 512 < 1 << 20


def test_a_file_disk_does_what_a_store_asks(tmp_path: Path) -> None:
    disk = FileDisk(tmp_path / "new")
    assert (disk.names("no"), disk.size_of("no"), disk.read("no")) == ([], None, None)
    disk.write("a/b", b"long content")
    disk.write("a/b", b"short")
    assert (disk.read("a/b"), disk.size_of("a/b"), disk.names("a")) == (b"short", 5, ["b"])
    disk.set_modified_ms("a/b", 1_700_000_000_123)
    assert disk.modified_ms("a/b") == 1_700_000_000_123
    disk.rename("a/b", "a/c")
    disk.sync("a/c")
    disk.sync("a/gone")
    disk.remove("a/gone")
    disk.remove_tree("a")
    assert disk.names("") == []
    assert 0 < disk.used_ratio() < 1
    total, free = disk.space()
    assert 0 < free < total
    assert disk.where("commitlog") == str(disk.root / "commitlog")


def test_a_disk_without_room_says_so_before_a_file_is_made(tmp_path: Path) -> None:
    disk = FileDisk(tmp_path)
    with pytest.raises(StoreFull, match="cannot map f of"):
        disk.map("f", 1 << 60)
    assert disk.names("") == []


def test_a_table_survives_a_damaged_file_by_its_backup() -> None:
    disk = Stores().disk
    table = JsonFile(disk, "topics")
    assert table.read() is None
    assert table.write({"b": 1, "a": {"0": 2}})
    assert not table.write({"a": {"0": 2}, "b": 1})
    assert table.write({"b": 2})
    assert table.read() == {"b": 2}
    for damaged in (b"", bytes(30), b'{"b":'):
        disk.write("config/topics.json", damaged)
        assert table.read() == {"b": 1, "a": {"0": 2}}
    assert disk.names("config") == ["topics.json", "topics.json.bak"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | PLAIN,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3),
    )
)
def test_tables_have_the_shape_the_standard_library_gives_them(table: object) -> None:
    text = json.dumps(table, indent="\t", separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    assert in_apaches_shape(table) == text.encode() + b"\n"


def test_tables_are_valid_json_in_apaches_shape() -> None:
    disk = Stores().disk
    JsonFile(disk, "consumerOffset").write({"offsetTable": {"T@G": {"0": 5, "1": 6}}})
    assert disk.read("config/consumerOffset.json") == (
        b'{\n\t"offsetTable":{\n\t\t"T@G":{\n\t\t\t"0":5,\n\t\t\t"1":6\n\t\t}\n\t}\n}\n'
    )


def test_what_fastjson_writes_is_read() -> None:
    disk = Stores().disk
    disk.write("config/consumerOffset.json", b'{\n\t"offsetTable":{\n\t\t"T@G":{0:5280,1:5312\n\t\t}\n\t}\n}')
    assert JsonFile(disk, "consumerOffset").read() == {"offsetTable": {"T@G": {"0": 5280, "1": 5312}}}


def test_a_configuration_is_read_from_apaches_properties() -> None:
    config = MessageStoreConfig.from_properties(
        {
            "mappedFileSizeCommitLog": "1048576",
            "mappedFileSizeConsumeQueue": "20010",
            "maxHashSlotNum": " 1000 ",
            "messageIndexEnable": "false",
            "flushDiskType": "SYNC_FLUSH",
            "diskSpaceWarningLevelRatio": "0.95",
            "messageDelayLevel": "1s 2m 3h 4d",
            "brokerName": "not the store's",
        },
        memory_bytes=100,
    )
    assert (config.commit_log_file_bytes, config.consume_queue_file_bytes) == (1 << 20, 20_020)
    assert config.index_slots == 1000
    assert (config.index_enable, config.flush, config.disk_warning_ratio) == (False, "SYNC_FLUSH", 0.95)
    assert config.delay_levels_ms == (1_000, 120_000, 10_800_000, 345_600_000)
    assert config.in_memory_bytes == 40


@pytest.mark.parametrize("values", [{"flush": "SOON"}, {"index_entries": 1}, {"consume_queue_file_entries": 0}])
def test_a_configuration_that_cannot_work_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        MessageStoreConfig(**values)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="numbers with a unit"):
        MessageStoreConfig.from_properties({"messageDelayLevel": "1s 5x"})


def test_the_defaults_are_rocketmqs() -> None:
    config = MessageStoreConfig()
    assert (config.commit_log_file_bytes, config.consume_queue_file_bytes) == (1_073_741_824, 6_000_000)
    assert config.max_message_bytes == 4_194_304
    assert (len(config.delay_levels_ms), config.file_reserved_hours, config.delete_when) == (18, 72, "04")
