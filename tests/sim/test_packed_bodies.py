"""Bodies that unpack to more than any producer sends, or not at all: no member stops for them, and none is lost."""

import asyncio
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.client.pull_consumer import PullConsumer, PullConsumerConfig
from sandbox.client.received import TURN_BYTES, Unpacking
from sandbox.cluster.config import HostConfig
from sandbox.cluster.new_sandbox import new_record
from sandbox.journal.events import BodyLeftPacked, MessageConsumedOnce, MessagesConsumed
from sandbox.kernel.errors import ActionRefused
from sandbox.message import record
from sandbox.message.compression import PIECE_BYTES, ZLIB_FLAGS, compress, pieces
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.message.sys_flag import COMPRESSED, COMPRESSION_LZ4
from sandbox.remoting.headers import SendHeader
from sandbox.sim.loop import SimLoop
from sandbox.simulation.world import BEGIN_MS, SLUG, World
from tests.seed.stage import Caller, application, broker_address
from tests.unit.store.stores import HOST, message

MIB = 1024 * 1024


def bomb(size: int) -> bytes:
    """A zlib stream of this size, a thousand times as long unpacked."""
    packer = zlib.compressobj(5)
    first = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_SYNC_FLUSH)
    again = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_SYNC_FLUSH)
    return first + again * ((size - len(first)) // len(again))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    large = {"max_message_bytes": 4 * MIB, "commit_log_file_bytes": 16 * MIB}
    with World(
        tmp_path,
        record=new_record(
            SLUG,
            "empty",
            preset="sandbox",
            seed=0,
            changes=large,
            limits=None,
            config=HostConfig(),
            ports_taken=set(),
            now_ms=BEGIN_MS,
        ),
    ) as made:
        made.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
        yield made


def send(world: World, *bodies: tuple[bytes, int]) -> None:
    """Over the wire, each with its sys flag."""
    caller = Caller(world, broker_address(world))
    for body, flags in bodies:
        header = SendHeader("P", "orders", "TBW102", 4, 0, flags, world.cluster.clock.now_ms(), 0)
        assert caller.ask(10, header.to_ext(), body).code == 0


BODIES = [
    (b"before", 0),
    (bomb(4 * MIB - 4_096), ZLIB_FLAGS),
    (b"rubbish", ZLIB_FLAGS),
    (b"other", COMPRESSED | COMPRESSION_LZ4),
    (compress(bytes(4 * MIB)), ZLIB_FLAGS),
    (b"behind", 0),
]


@pytest.mark.parametrize("kind", ["push", "pull", "lite_pull"])
def test_a_member_gets_every_message_and_the_journal_says_whose_body_stayed_packed(world: World, kind: str) -> None:
    world.act("StartConsumer", group="G", subscriptions=[["orders", "*"]], kind=kind, work_ms=[1])
    world.run(25)
    send(world, *BODIES)
    world.run(10)
    consumed = [offset for entry in world.entries(MessagesConsumed) for offset in entry.event.offsets]
    assert sorted(consumed) == list(range(len(BODIES)))
    reported = world.entries(BodyLeftPacked)[0].event
    assert (reported.group, reported.topic, reported.offset) == ("G", "orders", 1)
    assert reported.why == f"compressed body of {len(BODIES[1][0])} bytes grows over {4 * MIB} bytes"


def test_a_flood_of_them_is_one_line_a_second(world: World) -> None:
    world.act("StartConsumer", group="G", subscriptions=[["orders", "*"]], work_ms=[1])
    world.run(25)
    for _ in range(20):
        send(world, (b"rubbish", ZLIB_FLAGS))
    world.run(1)
    assert len(world.entries(MessagesConsumed)) == 20
    assert 1 <= len(world.entries(BodyLeftPacked)) <= 3


def test_a_listener_gets_what_was_sent_or_else_the_body_as_it_is_stored(world: World) -> None:
    reader = PullConsumer(PullConsumerConfig(group="reader"), application(world, body_bytes=4 * MIB))

    async def pulled() -> list[Message]:
        await reader.start()
        found: list[Message] = []
        while len(found) < len(BODIES):
            result = await reader.pull(MessageQueue("orders", "broker-a", 0), len(found))
            found += result.messages
        return found

    send(world, *BODIES)
    bodies = [one.body for one in world.environment.sim.run(pulled())]
    assert bodies == [b"before", BODIES[1][0], b"rubbish", b"other", bytes(4 * MIB), b"behind"]


def test_a_member_consumes_it_once_more_as_it_is_stored(world: World) -> None:
    world.act("StartConsumer", group="G", subscriptions=[["orders", "*"]], work_ms=[1])
    world.run(25)
    send(world, *BODIES)
    for offset in (1, 2):
        world.act("ConsumeOnce", topic="orders", broker="broker-a", queue_id=0, offset=offset, client_id="A")
    world.run(15)
    assert [entry.event.result for entry in world.entries(MessageConsumedOnce)] == ["CR_SUCCESS"] * 2


def test_what_cannot_be_unpacked_is_not_sent_again(world: World) -> None:
    send(world, *BODIES)
    for offset in (1, 2):
        with pytest.raises(ActionRefused, match="cannot be decompressed"):
            world.act("ResendMessage", topic="orders", broker="broker-a", queue_id=0, offset=offset)
    world.act("ResendMessage", topic="orders", broker="broker-a", queue_id=0, offset=4)


def test_others_have_their_turn_after_each_mebibyte(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = record.decode(record.encode(message(body=compress(bytes(3 * MIB)), flags=ZLIB_FLAGS), 0, 0, 0, HOST))
    turns = [0]

    def counted(body: bytes, sys_flag: int, most: int) -> Iterator[bytes]:
        for piece in pieces(body, sys_flag, most):
            turns[-1] += len(piece)
            yield piece

    async def beside() -> None:
        while True:
            turns.append(0)
            await asyncio.sleep(0)

    async def coroutine() -> int:
        other = asyncio.ensure_future(beside())
        unpacking = Unpacking(4 * MIB)
        sizes = [len(await unpacking.body(stored)) for _ in range(3)]
        other.cancel()
        await asyncio.gather(other, return_exceptions=True)
        return sum(sizes)

    monkeypatch.setattr("sandbox.message.compression.pieces", counted)
    assert SimLoop().run(coroutine()) == sum(turns) == 9 * MIB
    assert max(turns) <= TURN_BYTES + PIECE_BYTES
