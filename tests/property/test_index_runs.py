"""Index entries written in runs are those written one by one, byte for byte."""

from hypothesis import given
from hypothesis import strategies as st

from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.sim.disk import SimDisk
from sandbox.sim.loop import SimLoop
from sandbox.store.index_file import IndexFile
from sandbox.store.index_keys import IndexKeys
from sandbox.store.mapped_file import MappedFile, MapPool

SLOTS, ENTRIES = 5, 40
Key = tuple[int, int, int]
words = st.one_of(st.integers(0, 50), st.integers(-(1 << 31), (1 << 31) - 1))
keys = st.tuples(st.integers(0, 0x7FFF_FFFF), st.integers(0, 1 << 40), st.integers(1_000, 20_000))


def written(runs: list[list[Key]], nonsense: dict[int, int]) -> tuple[bytes, int]:
    disk = SimDisk(Chance(1), ScaledClock(SimLoop(), start_ms=0))
    mapped = MappedFile("index", 0, IndexFile.bytes_of(SLOTS, ENTRIES))
    file = IndexFile(MapPool(disk, 3), mapped, SLOTS, ENTRIES)
    file.begin_after(None)
    view = mapped.view
    assert view is not None
    for slot, value in nonsense.items():
        view[40 + slot * 4 : 44 + slot * 4] = value.to_bytes(4, "big", signed=True)
    done = 0
    for run in runs:
        columns = IndexKeys([key[0] for key in run], [key[1] for key in run], [key[2] for key in run])
        at = 0
        while at < len(run) and not file.full:
            at += file.put(columns, at)
        done += at
    return bytes(view), done


@given(st.lists(st.lists(keys, max_size=9), max_size=8), st.dictionaries(st.integers(0, SLOTS - 1), words))
def test_runs_of_entries_are_entries_one_by_one(runs: list[list[Key]], nonsense: dict[int, int]) -> None:
    one_by_one = [[key] for run in runs for key in run]
    assert written(runs, nonsense) == written(one_by_one, nonsense)
