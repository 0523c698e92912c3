"""A message from `send` to its response."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.client.config import ConsumeFromWhere, ProducerConfig, PushConsumerConfig
from sandbox.client.producer import Producer
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus, SendResult
from sandbox.journal.events import MessagesStored, PullAnswered
from sandbox.kernel.errors import ClientError
from sandbox.message.message import Message
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import SendHeader
from sandbox.sim.loop import SimLoop
from sandbox.simulation.world import World
from tests.seed.stage import Caller, WireLog, application, broker_address
from tests.unit.broker.stage import Stage, small_store

SEND, ROUTE = RequestCode.SEND_MESSAGE_V2, RequestCode.GET_ROUTEINFO_BY_TOPIC
MIB = 1024 * 1024


def producer(world: World, **config: int) -> Producer:
    made = Producer(ProducerConfig(group="P", **config), application(world))
    world.environment.sim.run(made.start())
    return made


def send_header(world: World, topic: str = "orders") -> dict[str, str]:
    return SendHeader("P", topic, "TBW102", 4, 0, 0, world.cluster.clock.now_ms(), 0, "WAIT\x01true").to_ext()


@pytest.mark.seed("3.17")
def test_a_send_asks_for_the_route_once_and_goes_to_the_master(world: World) -> None:
    wire = WireLog(world)
    sender = producer(world)
    for _ in range(3):
        world.environment.sim.run(sender.send(Message.make("orders", b"body", keys="k", tags="vip")))
    name_server, broker = world.cluster.nodes.addresses[0], broker_address(world)
    scenario = [
        (frame.code, frame.receiver)
        for frame in wire.frames
        if not frame.answer and frame.code in (SEND, ROUTE) and frame.sender.startswith("10.0.9.8")
    ]
    assert scenario == [(ROUTE, name_server)] + [(SEND, broker)] * 3
    header = SendHeader.from_ext(wire.requests(SEND)[0].command.ext or {})
    assert (header.group, header.topic, header.sys_flag, header.batch) == ("P", "orders", 0, False)
    assert "KEYS\x01k" in header.properties
    assert "TAGS\x01vip" in header.properties
    assert "UNIQ_KEY\x01" in header.properties, "the client gives the message its id"
    answers = [frame.command for frame in wire.answers(SEND)]
    assert [answer.code for answer in answers] == [ResponseCode.SUCCESS] * 3
    assert all({"msgId", "queueId", "queueOffset"} <= set(answer.ext or {}) for answer in answers)


@pytest.mark.seed("3.18", "D1")
@pytest.mark.parametrize(("size", "compressed"), [(4_095, False), (4_096, True)])
def test_bodies_of_4096_bytes_and_more_travel_compressed(world: World, size: int, compressed: bool) -> None:
    bodies: list[bytes] = []

    async def note(messages: list[Message], context: object) -> ConsumeConcurrentlyStatus:
        bodies.extend(message.body for message in messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    reader = PushConsumer(
        PushConsumerConfig(group="G", from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET),
        application(world, "reader", ip="10.0.9.7"),
        note,
    )
    reader.subscribe("orders")
    world.environment.sim.run(reader.start())
    wire = WireLog(world)
    world.act("SendMessages", topic="orders", count=1, key="big", body_bytes=size)
    world.run(2)
    found = world.ask("find-messages", topic="orders", key="big")["rows"][0]
    record = world.ask("read-record", broker="broker-a", physical_offset=found["physical_offset"])
    assert record["fields"]["sys_flag"] & 1 == compressed
    assert record["message"]["body_bytes"] == size
    assert (record["message"]["stored_body_bytes"] < 1_000) is compressed, "mostly dots, so it shrinks well"
    sent = wire.requests(SEND)[0].command.body or b""
    assert len(sent) == record["message"]["stored_body_bytes"], "the broker stores the bytes as they come"
    assert [(len(body), body[:6]) for body in bodies] == [(size, b"big #1")], "the consumer sees the original"


@pytest.mark.seed("3.18", "D1")
def test_4_mib_is_where_a_message_is_too_large(world: World) -> None:
    sender = producer(world)
    with pytest.raises(ClientError):
        world.environment.sim.run(sender.send(Message.make("orders", bytes(4 * MIB + 1))))
    stage = Stage(store=small_store(commit_log_file_bytes=16 * MIB, max_message_bytes=4 * MIB))
    stage.topic("orders")
    client = stage.client()
    assert client.send("orders", bytes(4 * MIB)).code == ResponseCode.SUCCESS
    assert client.send("orders", bytes(4 * MIB + 1)).code == ResponseCode.MESSAGE_ILLEGAL


@pytest.mark.seed("3.20", "D33")
@pytest.mark.parametrize(("slow_s", "avoided_s"), [(0.3, 0), (0.7, 30), (1.2, 60), (2.5, 120)])
def test_a_slow_broker_is_left_alone_with_all_its_queues(tmp_path: Path, slow_s: float, avoided_s: float) -> None:
    with World(tmp_path, "orders") as world:
        world.act("StartProducer", actor="careful", topic="orders", rate_per_s=10, selector="avoid_faulty")
        world.run(5)
        wire = WireLog(world)
        ip = world.cluster.actors.get("careful").client_id.split("@")[0]
        slow = broker_address(world, "broker-b")

        def sent_to(chosen: Callable[[str], bool]) -> list[int]:
            return [frame.at_ms for frame in wire.requests(SEND, sender=f"{ip}:") if chosen(frame.receiver)]

        world.cluster.network.hold(ip, slow)
        world.run_until(lambda: bool(sent_to(slow.__eq__)), within_s=2, step_s=0.01)
        world.run(slow_s)
        released_ms = world.cluster.clock.now_ms()
        world.cluster.network.release()
        world.run(avoided_s + 3)
        again = [at_ms for at_ms in sent_to(slow.__eq__) if at_ms > released_ms]
        pause_s = (again[0] - released_ms) / 1000
        assert avoided_s <= pause_s < avoided_s + 1.5, "none of its queues was chosen meanwhile"
        others = sent_to(slow.__ne__)
        assert len(others) > 10 * avoided_s, "the other broker takes all"


@pytest.mark.seed("3.20", "D33")
def test_latency_is_not_looked_at_unless_asked_for(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world:
        world.act("StartProducer", actor="plain", topic="orders", rate_per_s=10)
        world.run(5)
        wire = WireLog(world)
        ip = world.cluster.actors.get("plain").client_id.split("@")[0]
        slow = broker_address(world, "broker-b")
        world.cluster.network.hold(ip, slow)
        world.run(2)
        world.cluster.network.release()
        world.run(3)
        newest = wire.requests(SEND, sender=f"{ip}:")[-16:]
        assert Counter(frame.receiver for frame in newest) == {broker_address(world, "broker-a"): 8, slow: 8}


class SlowFlusher:
    """A disk that takes its time for every flush."""

    def __init__(self, loop: SimLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds

    def submit(self, work: Callable[[], None], done: Callable[[BaseException | None], None]) -> None:
        def finish() -> None:
            work()
            done(None)

        self._loop.call_later(self._seconds, finish)


def answered_after(world: World, flush_s: float) -> tuple[float, int]:
    """Seconds until the answer of one send, and its code."""
    world.environment.flusher = SlowFlusher(world.environment.sim, flush_s)
    world.act("ChangeBroker", broker="broker-a", changes={"flush": "ASYNC_FLUSH"})
    world.run(1)
    caller = Caller(world, broker_address(world))
    opaque = caller.send_one_way(SEND, send_header(world), b"hello")
    took_s = world.run_until(lambda: caller.answer_to(opaque) is not None, within_s=10, step_s=0.01)
    answer = caller.answer_to(opaque)
    assert answer is not None
    return took_s, answer.code


@pytest.mark.seed("3.14")
def test_asynchronous_flushing_answers_before_anything_is_flushed(world: World) -> None:
    took_s, code = answered_after(world, 2)
    assert (took_s <= 0.02, code) == (True, ResponseCode.SUCCESS)
    log = world.snapshot()["brokers"][0]["log"]
    assert int(log["flushed"]) == 0 < int(log["max"])
    world.run(11 + 2)
    log = world.snapshot()["brokers"][0]["log"]
    assert log["flushed"] == log["max"], "a single page waits for the round of ten seconds"


@pytest.mark.seed("3.26")
def test_a_record_gets_its_queue_offset_then_its_place_and_then_its_entries(world: World) -> None:
    world.act("StartConsumer", group="G", subscriptions=[["orders", "*"]], work_ms=[1])
    world.run(10)
    caller = Caller(world, broker_address(world))
    since = world.cluster.journal.next_seq
    first = int(world.snapshot()["brokers"][0]["log"]["max"])
    opaques = [caller.send_one_way(SEND, send_header(world), f"m{n}".encode()) for n in range(3)]
    world.run(0.5)
    answers = [caller.answer_to(opaque) for opaque in opaques]
    assert [(answer.ext or {})["queueOffset"] for answer in answers if answer] == ["0", "1", "2"]
    stored = world.entries(MessagesStored, since=since)
    assert [(entry.event.first_offset, entry.event.count) for entry in stored] == [(0, 3)], "one dispatch for all"
    assert stored[0].event.physical_offset == first
    pulled = world.entries(PullAnswered, since=since)
    assert pulled[0].seq > stored[0].seq, "readers see it after the dispatch"
    place = first
    for offset in range(3):
        entry = world.ask("read-entry", topic="orders", broker="broker-a", queue_id=0, offset=offset)
        assert int(entry["physical_offset"]) == place, "one record after the other"
        record = world.ask("read-record", broker="broker-a", physical_offset=place)
        assert (record["fields"]["queue_offset"], record["message"]["body"]) == (str(offset), f"m{offset}")
        place += entry["bytes"]
    assert place == int(world.snapshot()["brokers"][0]["log"]["max"])


@pytest.mark.seed("3.45")
def test_round_robin_lets_sends_to_a_slow_broker_pile_up_in_the_producer_up_to_a_limit(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world:
        run = world.environment.sim.run

        async def send(sender: Producer) -> "asyncio.Future[SendResult]":
            return sender.send_async(Message.make("orders", b"body"), timeout_ms=600_000)

        waiting = {}
        for name, careful in (("plain", False), ("careful", True)):
            process = application(world, name, ip=f"10.0.9.{5 + careful}")
            sender = Producer(ProducerConfig(group=name, avoid_faulty=careful, async_sends=60), process)
            run(sender.start())
            slow = broker_address(world, "broker-b")
            for _ in range(8):
                run(send(sender))
            world.run(1)
            if careful:
                sender.faults.learn("broker-b", 5_000, failed=False)
            world.cluster.network.hold(f"10.0.9.{5 + careful}", slow)
            for _ in range(80):
                run(send(sender))
                world.run(0.01)
            waiting[name] = sender.async_sends.under_way
            if not careful:
                for _ in range(40):
                    run(send(sender))
                    world.run(0.01)
                with pytest.raises(ClientError, match="60 asynchronous sends are under way"):
                    run(send(sender))
            world.cluster.network.release()
            world.run(5)
            assert sender.async_sends.under_way == 0
        assert waiting == {"plain": 40, "careful": 0}, "every second one waits; who looks at latency chooses another"
