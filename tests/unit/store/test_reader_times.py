"""The first message of a queue stored at a time or later, as a reader finds it that does not own the store."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.store.reader import StoreReader
from tests.unit.store.stores import Stores, message


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=150), st.integers(-1, 460), st.integers(0, 150))
def test_it_is_the_first_also_where_many_have_one_time(pauses_ms: list[int], after_ms: int, start: int) -> None:
    stores = Stores(commit_log_file_bytes=1 << 16)
    store = stores.opened()
    at_ms = stores.clock.now_ms() + after_ms
    times = []
    for number, pause_ms in enumerate(pauses_ms):
        stores.advance(pause_ms / 1_000)
        times.append(stores.clock.now_ms())
        stores.put(store, message(number, body=b"x"))
    store.close()
    with TemporaryDirectory() as home:
        for path, data in stores.sim_disk.image().items():
            (Path(home) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(home) / path).write_bytes(data)
        with StoreReader(Path(home)) as reader:
            found = reader.queue("orders", 0).first_stored_from(at_ms, start, len(times))
    assert found == next((at for at in range(start, len(times)) if times[at] >= at_ms), len(times))
