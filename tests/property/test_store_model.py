"""The store, next to the simplest thing that could be a store."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sandbox.message import record
from sandbox.message.filter import parse_tags
from sandbox.message.message import InboundMessage
from sandbox.store.message_store import MessageStore
from sandbox.store.results import GetMessageStatus, PutMessageStatus
from tests.unit.store.stores import Stores, message

QUEUES = 3
TAGS = ("red", "green")
FOREVER = 1 << 62


class StoreAgainstLists(RuleBasedStateMachine):
    """One list of bodies per queue; a kill loses nothing, a power cut what was not flushed."""

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        self.stores = Stores(
            commit_log_file_bytes=2048,
            consume_queue_file_entries=5,
            index_entries=12,
            index_slots=5,
            max_message_bytes=1024,
            max_mapped_files=4,
        )
        self.store: MessageStore = self.stores.opened()
        self.model: list[list[tuple[bytes, str, int]]] = [[] for _ in range(QUEUES)]
        self.number = 0

    def made(self, queue: int, body_bytes: int, tag: str) -> InboundMessage:
        body = f"{self.number:05}".encode() + bytes(body_bytes)
        m = message(self.number, queue_id=queue, body=body, TAGS=tag, KEYS=f"k{self.number} {tag}")
        self.model[queue].append((body, tag, self.number))
        self.number += 1
        return m

    @rule(queue=st.integers(0, QUEUES - 1), body_bytes=st.integers(0, 300), tag=st.sampled_from(TAGS))
    def put(self, queue: int, body_bytes: int, tag: str) -> None:
        expected = len(self.model[queue])
        done = self.store.put_message(self.made(queue, body_bytes, tag))
        assert (done.status, done.queue_offset) == (PutMessageStatus.PUT_OK, expected)
        self.store.dispatch()

    @rule(queue=st.integers(0, QUEUES - 1), sizes=st.lists(st.integers(0, 60), min_size=1, max_size=7))
    def put_batch(self, queue: int, sizes: list[int]) -> None:
        expected = len(self.model[queue])
        done = self.store.put_messages([self.made(queue, size, TAGS[size % 2]) for size in sizes])
        assert (done.status, done.queue_offset, done.count) == (PutMessageStatus.PUT_OK, expected, len(sizes))
        self.store.dispatch()

    @rule(puts=st.lists(st.integers(0, QUEUES - 1), min_size=2, max_size=9))
    def put_many_in_one_turn(self, puts: list[int]) -> None:
        for queue in puts:
            assert self.store.put_message(self.made(queue, 10, "red")).status is PutMessageStatus.PUT_OK
        self.store.dispatch()

    @rule(seconds=st.sampled_from([0.2, 1.5, 70]))
    def wait(self, seconds: float) -> None:
        self.stores.advance(seconds)

    @rule()
    def stop_and_start(self) -> None:
        self.store.close()
        self.store = self.stores.opened()

    @rule()
    def kill_and_start(self) -> None:
        self.store = self.stores.killed(self.store)

    @rule()
    def cut_the_power_after_a_flush(self) -> None:
        self.stores.advance(70)
        self.store.crash()
        self.stores.sim_disk.power_cut()
        self.store = self.stores.opened()

    @precondition(lambda self: self.number > 20)
    @rule()
    def expire_closed_files(self) -> None:
        self.store.age_files(10_000)
        self.store.clean(manual=True)

    @rule(queue=st.integers(0, QUEUES - 1), at=st.integers(0, 40), count=st.integers(1, 40), tag=st.sampled_from(TAGS))
    def read(self, queue: int, at: int, count: int, tag: str) -> None:
        rows = self.model[queue]
        low = self.store.min_offset("orders", queue)
        got = self.store.get_message("orders", queue, at, count, parse_tags(tag))
        found = list(record.decode_all(got.records))
        for m in found:
            assert (m.body, m.properties["TAGS"]) == rows[m.queue_offset][:2]
        if got.status is GetMessageStatus.FOUND:
            wanted = [n for n in range(max(at, low), got.next_offset) if rows[n][1] == tag and self._there(queue, n)]
            assert [m.queue_offset for m in found] == wanted
        elif at == len(rows):
            assert got.status in (GetMessageStatus.OFFSET_OVERFLOW_ONE, GetMessageStatus.NO_MESSAGE_IN_QUEUE)
        elif at > len(rows):
            assert got.next_offset == len(rows)

    def _there(self, queue: int, offset: int) -> bool:
        unit = self.store.unit("orders", queue, offset)
        return unit is not None and self.store.read(unit.physical_offset) is not None

    @rule(data=st.data())
    def find_by_key(self, data: st.DataObject) -> None:
        rows = [(queue, offset, row) for queue, rows in enumerate(self.model) for offset, row in enumerate(rows)]
        if not rows:
            return
        queue, offset, (body, _, number) = data.draw(st.sampled_from(rows))
        answer = self.store.query("orders", f"k{number}", 64, 0, FOREVER)
        found = {m.body for m in map(record.decode, answer.records) if f"k{number}" in m.properties["KEYS"].split()}
        assert found == ({body} if self._there(queue, offset) else set())

    @invariant()
    def every_queue_ends_where_its_list_ends(self) -> None:
        if not hasattr(self, "store"):
            return
        for queue, rows in enumerate(self.model):
            assert self.store.max_offset("orders", queue) == len(rows)
            assert self.store.min_offset("orders", queue) <= len(rows)

    def teardown(self) -> None:
        """Throw queues and index away: what is built from the log alone is the same, byte for byte."""
        if not hasattr(self, "store") or self.store.min_physical_offset > 0:
            return
        self.store.crash()
        before = self.stores.sim_disk.image()
        for part in ("consumequeue", "index", "checkpoint"):
            self.stores.disk.remove_tree(part)
            self.stores.disk.remove(part)
        self.stores.opened().crash()
        after = self.stores.sim_disk.image()
        queues = [name for name in before if name.startswith("consumequeue") and any(before[name])]
        assert {name: after[name] for name in queues} == {name: before[name] for name in queues}


TestStoreAgainstLists = StoreAgainstLists.TestCase
TestStoreAgainstLists.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)
