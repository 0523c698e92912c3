"""The pull thread: times and contents of pulls, and its reactions to responses."""

from itertools import pairwise
from typing import Any

import pytest

from sandbox.client.config import ConsumeFromWhere, PushConsumerConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.journal.events import LockDenied, MessagesConsumed, PullAnswered
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import LockBatchBody
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import PullHeader
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.seed.stage import Caller, Frame, Listener, WireLog, application, broker_address, member

PULL = RequestCode.PULL_MESSAGE
GROUP = "clerks"
QUEUE = "orders/broker-a/0"
COMMIT_FLAG, SUSPEND_FLAG, SUBSCRIPTION_FLAG = 1, 2, 4
FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
world = world_with({"orders": 1}, changes={"pull_threshold_for_queue": 10}, seconds=1)


def join(world: World, **fields: Any) -> None:
    world.act(
        "StartConsumer", **{"actor": "A", "group": GROUP, "subscriptions": [["orders", "*"]], "work_ms": [1], **fields}
    )
    world.run(1)


def header_of(frame: Frame) -> PullHeader:
    return PullHeader.from_ext(frame.command.ext or {})


def pulls(wire: WireLog, topic: str = "orders") -> list[Frame]:
    return [frame for frame in wire.requests(PULL) if header_of(frame).topic == topic]


def looked_ms(world: World, seconds: float) -> list[int]:
    """When the pull thread had a look at the queue's request, as the page of the client shows it."""
    client_id = world.cluster.actors.get("A").client_id.replace("@", "%40").replace("#", "%23")
    seen: dict[int, None] = {}
    for _ in range(round(seconds * 100)):
        seen[world.read(f"client/{client_id}").data["queues"][QUEUE]["last_pull_ms"]] = None
        world.run(0.01)
    return list(seen)


def gaps(times_ms: list[int]) -> set[int]:
    return {later - earlier for earlier, later in pairwise(times_ms)}


@pytest.mark.seed("4.14")
def test_a_pull_interval_is_kept_after_messages_only(world: World) -> None:
    config = PushConsumerConfig(group=GROUP, pull_interval_ms=700, from_where=FIRST)
    world.act("SendMessages", topic="orders", count=70)
    world.run(1)
    wire = WireLog(world)
    member(world, application(world), config, "orders")
    world.run(30)
    starts = [frame.at_ms - pulls(wire)[0].at_ms for frame in pulls(wire)]
    assert starts[:4] == [0, 700, 1_400, 2_100], "three with messages"
    [nothing] = [frame for frame in wire.answers(PULL) if frame.command.opaque == pulls(wire)[3].command.opaque]
    assert nothing.command.code == ResponseCode.PULL_NOT_FOUND
    assert pulls(wire)[4].at_ms == nothing.at_ms


@pytest.mark.seed("4.14", "1.29")
def test_flow_control_looks_again_every_fifty_milliseconds(world: World) -> None:
    world.act("SendMessages", topic="orders", count=12)
    world.run(1)
    wire = WireLog(world)
    join(world, threads=1, work_ms=[3_000], from_where="CONSUME_FROM_FIRST_OFFSET")
    asked = len(pulls(wire))
    times = looked_ms(world, 1.0)
    assert gaps(times) == {50}
    assert len(pulls(wire)) == asked == 1, "twelve are cached, ten are allowed: nobody pulls"
    world.run_until(lambda: len(pulls(wire)) == 2, within_s=10, step_s=0.01)
    tenth_ms = sorted(entry.at_ms for entry in world.entries(MessagesConsumed))[1]
    assert 0 < pulls(wire)[1].at_ms - tenth_ms <= 50, "ten left: the next look pulls"


@pytest.mark.seed("4.14", "4.25")
def test_a_queue_without_its_lock_is_looked_at_every_second_and_not_pulled(world: World) -> None:
    join(world, listener="orderly")
    world.run(3)
    world.act("ForceUnlock", group=GROUP, topic="orders", broker="broker-a", queue_id=0)
    thief = Caller(world, broker_address(world))
    body = LockBatchBody(GROUP, "thief", (("orders", "broker-a", 0),)).encode()
    assert thief.ask(RequestCode.LOCK_BATCH_MQ, {}, body).code == 0
    world.run_until(lambda: bool(world.entries(LockDenied)), within_s=25)
    world.act("SendMessages", topic="orders", count=5)
    world.run(1)
    wire = WireLog(world)
    assert gaps(looked_ms(world, 5)) == {1_000}
    assert pulls(wire) == []
    assert pulls(wire, f"%RETRY%{GROUP}") == [], "the other queue's pull is kept by the broker"


@pytest.mark.seed("4.14")
def test_a_consumer_that_is_paused_by_a_reset_looks_again_every_second(world: World) -> None:
    """A reset of one topic takes ten seconds, in which the queues of all other topics wait."""
    world.act("CreateTopic", topic="payments", write_queues=1, read_queues=1)
    join(world, subscriptions=[["orders", "*"], ["payments", "*"]])
    world.act("SendMessages", topic="payments", count=3)
    world.run(20)
    began_ms = world.cluster.clock.now_ms()
    world.act("ResetOffsets", group=GROUP, topic="payments", target="earliest")
    wire = WireLog(world)
    world.act("SendMessages", topic="orders", count=1)
    world.run(0.1)
    assert gaps(looked_ms(world, 9)) == {1_000}
    assert pulls(wire) == []
    world.run(3)
    assert 10_000 <= pulls(wire)[0].at_ms - began_ms <= 11_100
    assert header_of(pulls(wire)[0]).queue_offset == 1


@pytest.mark.seed("4.14")
def test_a_refused_pull_is_tried_again_after_a_second(world: World) -> None:
    join(world)
    world.run(20)
    world.act("ChangeGroup", group=GROUP, changes={"consume_enable": False})
    world.run(30)
    wire = WireLog(world)
    world.run(10)
    assert {int(frame.command.code) for frame in wire.answers(PULL)} == {ResponseCode.NO_PERMISSION}
    assert gaps([frame.at_ms for frame in pulls(wire)]) == {1_000}


@pytest.mark.seed("4.14")
def test_a_pull_a_busy_broker_refuses_is_tried_again_after_twenty_milliseconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code 215 is what proxies and later brokers answer; ours never does, so it is put into its mouth."""
    join(world)
    broker = world.cluster.nodes.broker("broker-a").running
    answer = broker._answer

    def busy(command: RemotingCommand, channel: Channel) -> Any:
        return command.reply(ResponseCode.FLOW_CONTROL) if command.code == PULL else answer(command, channel)

    monkeypatch.setattr(broker, "_answer", busy)
    world.run(25)
    wire = WireLog(world)
    world.run(1)
    assert gaps([frame.at_ms for frame in pulls(wire)]) == {20}


@pytest.mark.seed("4.15", "D41")
def test_a_pull_says_what_rocketmq_s_says(world: World) -> None:
    """The batch a listener gets (10) is not what is pulled (32); without a wish the expression stays at home."""
    version_ms = world.cluster.clock.now_ms()
    world.act("SendMessages", topic="orders", count=5)
    world.run(1)
    wire = WireLog(world)
    clerk = member(
        world, application(world), PushConsumerConfig(group=GROUP, consume_batch=10, from_where=FIRST), "orders"
    )
    world.run(1)
    first, second = (header_of(frame) for frame in pulls(wire)[:2])
    assert (first.group, first.topic, first.queue_id, first.queue_offset, first.max_messages) == (
        GROUP,
        "orders",
        0,
        0,
        32,
    )
    assert (first.sys_flag, first.commit_offset, first.suspend_timeout_ms) == (SUSPEND_FLAG, 0, 15_000)
    assert (first.subscription or "", first.expression_type) == ("", "TAG")
    assert first.sub_version >= version_ms
    assert (second.queue_offset, second.max_messages) == (5, 32)
    world.run(20)
    later = header_of(pulls(wire)[2])
    assert (later.sys_flag, later.commit_offset) == (SUSPEND_FLAG | COMMIT_FLAG, 5), "what memory has goes along"
    assert clerk.status("orders") == {MessageQueue("orders", "broker-a", 0): 5}


@pytest.mark.seed("4.15", "D41")
@pytest.mark.parametrize(
    ("wished", "flag", "sent"), [(False, SUSPEND_FLAG, ""), (True, SUSPEND_FLAG | SUBSCRIPTION_FLAG, "red || blue")]
)
def test_the_expression_goes_along_only_when_that_is_wished(world: World, wished: bool, flag: int, sent: str) -> None:
    wire = WireLog(world)
    clerk = PushConsumer(
        PushConsumerConfig(group=GROUP, post_subscription_when_pull=wished),
        application(world),
        Listener(world).concurrently,
    )
    clerk.subscribe("orders", "red || blue")
    world.environment.sim.run(clerk.start())
    world.run(1)
    asked = header_of(pulls(wire)[0])
    assert (asked.sys_flag, asked.subscription or "") == (flag, sent)


@pytest.mark.seed("4.16", "4.14")
def test_what_was_found_is_put_submitted_and_the_next_pull_follows_before_it_is_consumed(world: World) -> None:
    join(world, work_ms=[500])
    world.run(1)
    wire, since = WireLog(world), world.cluster.journal.next_seq
    sent_ms = world.cluster.clock.now_ms()
    world.act("SendMessages", topic="orders", count=1, key="k")
    world.run(0.2)
    [answered] = [entry for entry in world.entries(PullAnswered, since=since) if entry.event.topic == "orders"]
    [following] = pulls(wire)
    row = world.read(f"client/{_quoted(world)}").data["queues"][QUEUE]
    assert (answered.event.count, answered.event.next_offset, answered.at_ms) == (1, 1, sent_ms)
    assert (following.at_ms, header_of(following).queue_offset) == (sent_ms, 1)
    assert (row["cached"], row["processing"], row["next_pull"]) == (1, 1, "1")
    assert world.entries(MessagesConsumed, since=since) == []
    world.run(0.5)
    [done] = world.entries(MessagesConsumed, since=since)
    assert (done.event.started_ms, done.at_ms, done.event.keys) == (sent_ms, sent_ms + 500, ("k",))
    assert world.read(f"client/{_quoted(world)}").data["queues"][QUEUE]["cached"] == 0


def _quoted(world: World) -> str:
    return str(world.cluster.actors.get("A").client_id.replace("@", "%40").replace("#", "%23"))
