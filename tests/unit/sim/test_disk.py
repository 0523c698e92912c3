"""The disk in memory: what a kill leaves, what a power cut takes."""

import pytest

from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.kernel.errors import Locked, StoreFull
from sandbox.sim.disk import SECTOR_BYTES, Crashed, SimDisk
from sandbox.sim.loop import SimLoop

SIZE = 8 * SECTOR_BYTES


def disk(seed: int = 1, **options: int) -> SimDisk:
    return SimDisk(Chance(seed), ScaledClock(SimLoop(), start_ms=1_000_000), **options)


def filled(seed: int) -> SimDisk:
    """A file flushed full of ones, then written over with twos."""
    one = disk(seed)
    view = one.map("commitlog/0", SIZE).view
    view[:] = b"\x01" * SIZE
    one.sync("commitlog/0")
    view[:] = b"\x02" * SIZE
    return one


def test_a_kill_keeps_all_that_was_written_flushed_or_not() -> None:
    one = filled(1)
    one.kill()
    assert one.read("commitlog/0") == b"\x02" * SIZE


def test_a_dead_process_changes_nothing() -> None:
    one = disk()
    view = one.map("f", SIZE).view
    one.kill()
    view[:] = b"\x09" * SIZE
    assert one.read("f") == bytes(SIZE)


def test_a_power_cut_keeps_any_subset_of_unflushed_sectors_and_no_half_sector() -> None:
    seen = set()
    for seed in range(40):
        one = filled(seed)
        one.power_cut()
        data = one.read("commitlog/0")
        assert data is not None
        sectors = [data[at : at + SECTOR_BYTES] for at in range(0, SIZE, SECTOR_BYTES)]
        assert all(sector in (b"\x01" * SECTOR_BYTES, b"\x02" * SECTOR_BYTES) for sector in sectors)
        seen.add(tuple(sector[0] for sector in sectors))
    assert len(seen) > 30
    assert any(2 in pattern[pattern.index(1) :] for pattern in seen if 1 in pattern), "later sectors may survive alone"


def test_what_was_flushed_survives_every_power_cut() -> None:
    for seed in range(40):
        one = filled(seed)
        one.sync("commitlog/0")
        one.write_back()
        one.power_cut()
        assert one.read("commitlog/0") == b"\x02" * SIZE


def test_the_same_seed_tears_the_same_sectors() -> None:
    first, second = filled(7), filled(7)
    first.power_cut()
    second.power_cut()
    assert first.image() == second.image()


def test_names_survive_a_power_cut_in_their_order() -> None:
    seen = set()
    for seed in range(60):
        one = disk(seed)
        one.write("a", b"1")
        one.sync("a")
        one.write("b", b"2")
        one.rename("a", "c")
        one.remove("b")
        one.power_cut()
        seen.add(tuple(one.names("")))
    assert seen == {("a",), ("a", "b"), ("b", "c"), ("c",)}


def test_an_unflushed_small_file_may_be_cut_short_and_a_flushed_one_not() -> None:
    lengths = set()
    for seed in range(60):
        one = disk(seed)
        one.write("config/topics.json", b"{}")
        one.sync("config/topics.json")
        one.write("config/topics.json", b"x" * 1500)
        one.power_cut()
        lengths.add(one.size_of("config/topics.json"))
    assert lengths == {2, 1500}


def test_the_kernel_may_write_back_early() -> None:
    one = filled(3)
    one.write_back(1.0)
    one.power_cut()
    assert one.read("commitlog/0") == b"\x02" * SIZE


def test_a_full_disk_refuses_and_loses_nothing() -> None:
    one = filled(1)
    one.fill()
    with pytest.raises(StoreFull, match="No space left"):
        one.map("commitlog/1", SIZE)
    with pytest.raises(StoreFull, match=r"config/topics\.json"):
        one.write("config/topics.json", b"{}")
    assert one.used_ratio() == 1.0
    assert one.names("") == ["commitlog"]
    one.remove("commitlog/0")
    assert one.map("commitlog/1", SIZE).view.nbytes == SIZE


def test_a_lock_is_held_until_released_or_until_the_process_ends() -> None:
    one = disk()
    lock = one.lock("lock")
    with pytest.raises(Locked):
        one.lock("lock")
    lock.release()
    one.lock("lock")
    one.kill()
    one.lock("lock")
    one.power_cut()
    one.lock("lock")


def test_the_process_ends_at_the_chosen_operation() -> None:
    one = disk()
    one.crash_at = 3
    one.write("a", b"1")
    one.sync("a")
    with pytest.raises(Crashed):
        one.write("a", b"2")
    one.kill()
    assert one.read("a") == b"1"
    one.write("a", b"2")
    assert one.operations == 4


def test_a_broken_flush_says_so() -> None:
    one = filled(1)
    one.broken_sync = True
    with pytest.raises(OSError, match="Input/output"):
        one.sync("commitlog/0")


def test_directories_are_the_first_parts_of_names() -> None:
    one = disk()
    for path in ("consumequeue/T/1/0", "consumequeue/T/0/0", "consumequeue/U/0/0", "abort"):
        one.write(path, b"")
    assert one.names("consumequeue") == ["T", "U"]
    assert one.names("consumequeue/T") == ["0", "1"]
    assert one.names("") == ["abort", "consumequeue"]
    assert one.names("nothing") == []
    one.remove_tree("consumequeue/T")
    assert one.names("consumequeue") == ["U"]


def test_the_time_of_change_is_the_clocks_and_can_be_set_back() -> None:
    one = disk()
    one.map("f", SIZE)
    assert one.modified_ms("f") == 1_000_000
    one.set_modified_ms("f", 5)
    assert one.modified_ms("f") == 5


def test_a_change_of_a_byte_or_name_shows_in_the_fingerprint() -> None:
    one = disk()
    view = one.map("f", SIZE).view
    before = one.fingerprint()
    view[5] = 1
    after = one.fingerprint()
    one.rename("f", "g")
    assert len({before, after, one.fingerprint()}) == 3
