"""Half messages, their ends and a check as a real broker wrote them: ours makes the same records of the same things."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.broker.broker import Broker
from sandbox.broker.config import BrokerConfig
from sandbox.broker.transaction.half_messages import committed, op_message, put_again
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.message import msg_id, record
from sandbox.message.message import InboundMessage, StoredMessage
from sandbox.sim.loop import SimLoop
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import FileDisk, InlineFlusher
from sandbox.store.message_store import MessageStore
from tests.golden.golden_stores import unpack

pytestmark = pytest.mark.golden

ADDRESS = "127.0.0.1:10911"
HOST = msg_id.host_bytes("127.0.0.1", 10911)
SOON_AFTER_MS = 1_795_152_000_000
HALF, OP, GROUP = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "CID_RMQ_SYS_TRANS"
PUT_AGAIN_AT = 1_348_762  # where the recorded broker put the one open half message, at its first check
CONFIG = MessageStoreConfig.from_properties(
    {
        "mappedFileSizeCommitLog": "1048576",
        "mappedFileSizeConsumeQueue": "20000",
        "maxHashSlotNum": "1000",
        "maxIndexNum": "4000",
    },
    memory_bytes=1 << 30,
)


class Life:
    """A recorded store with our broker on it."""

    def __init__(self, root: Path) -> None:
        self.loop = SimLoop()
        clock = ScaledClock(self.loop, start_ms=SOON_AFTER_MS)
        journal = Journal(clock)
        self.store = MessageStore(
            CONFIG,
            disk=FileDisk(root),
            clock=clock,
            journal=journal,
            broker="broker-a",
            broker_id=0,
            store_host=HOST,
            flusher=InlineFlusher(),
        )
        self.broker = Broker(
            BrokerConfig(name="broker-a", address=ADDRESS),
            store=self.store,
            clock=clock,
            chance=Chance(1),
            journal=journal,
            connector=None,
            name_servers=[],
        )
        self.broker.start()

    def all(self, topic: str, queue_id: int = 0) -> list[StoredMessage]:
        found = []
        for offset in range(self.store.max_offset(topic, queue_id)):
            unit = self.store.unit(topic, queue_id, offset)
            message = self.store.read_message(unit.physical_offset) if unit is not None else None
            assert message is not None
            found.append(message)
        return found


@pytest.fixture(params=["basic-crash", "basic-recovered"])
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    life = Life(unpack(request.param, tmp_path))
    yield life
    life.broker.kill()


def at(life: Life, m: InboundMessage, like: StoredMessage) -> bytes:
    """The record our store would have written in the place of `like`."""
    return record.encode(m, like.queue_offset, like.physical_offset, like.store_ms, HOST)


def test_a_commit_makes_the_recorded_record_byte_for_byte(life: Life) -> None:
    halves = {half.physical_offset: half for half in life.all(HALF)}
    final = life.all("GoldenTx", 1) + life.all("GoldenTx", 2)
    assert len(final) == 2
    for message in final:
        made = committed(halves[message.prepared_offset])
        assert (made.topic, made.queue_id) == (message.topic, message.queue_id)
        assert at(life, made, message) == life.store.read(message.physical_offset)


def test_an_end_makes_the_recorded_op_message_byte_for_byte(life: Life) -> None:
    halves, ops = life.all(HALF), life.all(OP)
    assert [op.body for op in ops] == [b"0", b"1", b"3"]
    for op in ops:
        made = op_message(halves[int(op.body)], op.born_ms, HOST)
        assert at(life, made, op) == life.store.read(op.physical_offset)


def test_a_half_message_put_again_is_the_recorded_one_but_for_the_order_of_its_properties(tmp_path: Path) -> None:
    life = Life(unpack("basic-recovered", tmp_path))
    first, again = life.all(HALF)[2], life.all(HALF)[4]
    assert again.physical_offset == PUT_AGAIN_AT
    made = put_again(first, {**first.properties, "TRANSACTION_CHECK_TIMES": "1"})
    raw, recorded = at(life, made, again), life.store.read(again.physical_offset)
    assert recorded is not None
    text_bytes = len(made.properties)
    assert raw[:-text_bytes] == recorded[:-text_bytes]
    assert record.decode(raw).properties == again.properties
    life.broker.kill()


def test_the_open_transaction_of_the_recording_is_known(life: Life) -> None:
    [half] = life.broker.transactions.table.values()
    assert (half.producer_group, half.topic, half.queue_id) == ("PID_golden_tx", "GoldenTx", 0)
    recovered = life.store.max_offset(HALF, 0) == 5
    assert (half.half_offset, half.checks) == ((4, 1) if recovered else (2, 0))


def test_the_first_check_ends_where_the_recorded_brokers_did(tmp_path: Path) -> None:
    ours = Life(unpack("basic-crash", tmp_path / "crash"))
    ours.loop.run_for(61)
    theirs = Life(unpack("basic-recovered", tmp_path / "recovered"))
    mine, recorded = ours.all(HALF)[4], theirs.all(HALF)[4]
    assert (mine.physical_offset, mine.store_bytes) == (PUT_AGAIN_AT, recorded.store_bytes)
    assert mine._replace(store_ms=0) == recorded._replace(store_ms=0)
    for topic in (HALF, OP):
        progress = ours.broker.consumer_offsets.get(GROUP, topic, 0)
        assert progress == theirs.broker.consumer_offsets.get(GROUP, topic, 0)
    assert {name for name in ours.broker.topics.table if "TRANS" in name} == {
        name for name in theirs.broker.topics.table if "TRANS" in name
    }
    ours.broker.kill()
    theirs.broker.kill()
