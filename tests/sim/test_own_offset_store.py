"""An application's own offset store, and what is asked of it."""

from collections.abc import Iterable

import pytest

from sandbox.client.config import ConsumeFromWhere, MessageModel
from sandbox.client.offset_store import OffsetStore
from sandbox.client.pull_consumer import PullConsumer, PullConsumerConfig
from sandbox.client.results import ReadOffsetType
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ConsumerStatusBody
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import TopicGroupHeader
from sandbox.transport.loopback import LoopbackNetwork
from tests.sim.client_world import BROKER, Work, World, client_world

EIGHT = {
    "load",
    "read_offset",
    "update_offset",
    "persist_all",
    "persist",
    "remove_offset",
    "clone_offset_table",
    "update_consume_offset_to_broker",
}


class Ledger:
    """Keeps offsets where the application keeps everything else, and notes who called."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.memory: dict[MessageQueue, int] = {}
        self.kept: dict[MessageQueue, int] = {}

    async def load(self) -> None:
        self.called.append("load")

    async def read_offset(self, mq: MessageQueue, how: ReadOffsetType) -> int | None:
        self.called.append("read_offset")
        return (self.memory if how is ReadOffsetType.READ_FROM_MEMORY else self.kept).get(mq)

    def update_offset(self, mq: MessageQueue, offset: int, *, increase_only: bool) -> None:
        self.called.append("update_offset")
        if not increase_only or offset > self.memory.get(mq, -1):
            self.memory[mq] = offset

    async def persist_all(self, queues: Iterable[MessageQueue], *, by: str) -> None:
        self.called.append("persist_all")
        self.kept |= {mq: self.memory[mq] for mq in queues if mq in self.memory}

    async def persist(self, mq: MessageQueue, *, by: str) -> None:
        self.called.append("persist")
        if mq in self.memory:
            self.kept[mq] = self.memory[mq]

    def remove_offset(self, mq: MessageQueue) -> None:
        self.called.append("remove_offset")
        self.memory.pop(mq, None)

    def clone_offset_table(self, topic: str) -> dict[MessageQueue, int]:
        self.called.append("clone_offset_table")
        return {mq: offset for mq, offset in self.memory.items() if mq.topic == topic}

    async def update_consume_offset_to_broker(self, mq: MessageQueue, offset: int, *, oneway: bool) -> None:
        self.called.append("update_consume_offset_to_broker")


world = client_world(queues=4)


def sent_codes(world: World) -> list[int]:
    """Request codes on the wire from now on."""
    codes: list[int] = []
    assert isinstance(world.network, LoopbackNetwork)
    world.network.tap = lambda _sender, _receiver, command: (
        None if command.is_response else codes.append(int(command.code))
    )
    return codes


@pytest.mark.seed("0.6")
def test_it_receives_all_eight_calls_and_no_request_about_offsets_is_sent(world: World) -> None:
    """The broker's table fills all the same: a clustering member's pulls carry what its memory says is done."""
    ledger = Ledger()
    store: OffsetStore = ledger
    codes = sent_codes(world)
    work = Work(world)
    member = world.consumer("own", work, offset_store=store)
    for queue_id in range(4):
        world.send(2, queue_id=queue_id)
    world.pass_s(32)  # a held pull comes back after 15 s, and the next one carries the offset
    assert len(work.finished) == 8
    assert sum(offset for mq, offset in ledger.kept.items() if mq.topic == "T") == 8
    world.consumer("other", Work(world), offset_store=Ledger())  # takes two queues: persist and remove
    world.pass_s(1)
    channel = next(iter(world.broker.consumers.groups["G"].channels))
    ask = RemotingCommand(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, TopicGroupHeader("T", "G").to_ext())
    world.broker.connections.send(channel, ask)  # an administrator asks the member where it is
    world.pass_s(1)
    assert EIGHT - set(ledger.called) == {"update_consume_offset_to_broker"}
    assert ledger.called[0] == "load"
    assert RequestCode.UPDATE_CONSUMER_OFFSET not in codes
    assert RequestCode.QUERY_CONSUMER_OFFSET not in codes
    assert world.broker.consumer_offsets.get("G", "T", 0) == 2
    world.run(member.shutdown())

    reader = PullConsumer(PullConsumerConfig(group="R", offset_store=store), world.instance("reader", stream=True))
    world.run(reader.start())  # only an application that pulls by hand calls the eighth
    world.run(reader.update_consume_offset_to_broker(MessageQueue("T", BROKER, 0), 2, oneway=True))
    assert set(ledger.called) == EIGHT


def test_a_new_process_with_the_same_store_goes_on_where_the_old_one_was(world: World) -> None:
    ledger, first, second = Ledger(), Work(world), Work(world)
    member = world.consumer("one", first, offset_store=ledger)
    world.send(6)
    world.pass_s(1)
    world.run(member.shutdown())
    world.send(2)
    world.consumer("two", second, offset_store=ledger, from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    world.pass_s(1)
    assert (len(first.finished), sorted(second.finished)) == (6, ["k6", "k7"])


def test_what_a_member_says_of_its_offsets_is_a_copy_of_its_table(world: World) -> None:
    ledger = Ledger()
    member = world.consumer("own", Work(world), offset_store=ledger)
    world.send(2, queue_id=1)
    world.pass_s(1)
    status = member.status("T")
    assert status[MessageQueue("T", BROKER, 1)] == 2
    assert ConsumerStatusBody(dict(status), {}).encode()
    status.clear()
    assert ledger.memory


@pytest.mark.seed("2.6", "2.11")
def test_the_remote_store_loads_nothing_and_the_local_one_sends_nothing_to_brokers(world: World) -> None:
    reader = PullConsumer(PullConsumerConfig(group="R"), world.instance("reader", stream=True))
    world.run(reader.start())
    codes = sent_codes(world)
    world.run(reader.offset_store.load())
    assert codes == []
    world.run(reader.update_consume_offset_to_broker(MessageQueue("T", BROKER, 0), 2, oneway=False))
    assert codes[-1] == RequestCode.UPDATE_CONSUMER_OFFSET

    local = PullConsumer(
        PullConsumerConfig(group="L", model=MessageModel.BROADCASTING), world.instance("DEFAULT", stream=True)
    )
    world.run(local.start())
    codes.clear()
    world.run(local.update_consume_offset_to_broker(MessageQueue("T", BROKER, 0), 2, oneway=False))
    assert codes == []
