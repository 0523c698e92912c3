"""A lite pull consumer against a scripted cluster: what it asks, and when."""

import asyncio
from typing import Any

import pytest

from sandbox.client.config import ConsumeFromWhere
from sandbox.client.lite_pull_config import LitePullConsumerConfig
from sandbox.client.lite_pull_consumer import LitePullConsumer
from sandbox.journal.events import FlowControlChanged
from sandbox.kernel.errors import ClientError
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.codes import RequestCode as Code
from sandbox.remoting.headers import PullHeader
from tests.unit.client.fake_cluster import BROKER, FakeCluster

FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
Q = [MessageQueue("T", BROKER, number) for number in range(4)]


def lite(cluster: FakeCluster, name: str = "lite", **config: Any) -> LitePullConsumer:
    config.setdefault("from_where", FIRST)
    return LitePullConsumer(LitePullConsumerConfig(group="L", **config), cluster.instance(name, stream=True))


def assigned(cluster: FakeCluster, *queues: MessageQueue, **config: Any) -> LitePullConsumer:
    consumer = lite(cluster, **config)
    consumer.assign(queues or [Q[0]])
    cluster.run(consumer.start())
    return consumer


def pulls(cluster: FakeCluster) -> list[PullHeader]:
    return [PullHeader.from_ext(command.ext) for command in cluster.requests(Code.PULL_MESSAGE)]


def test_a_pull_says_suspend_subscription_and_lite_and_never_commits(cluster: FakeCluster) -> None:
    consumer = assigned(cluster)
    for number in range(12):
        cluster.store("T", 0, b"%d" % number)
    cluster.loop.run_for(1)
    for _ in range(2):
        cluster.run(consumer.poll())
    cluster.loop.run_for(30)
    headers = pulls(cluster)
    assert {(h.sys_flag, h.max_messages, h.suspend_timeout_ms, h.sub_version, h.commit_offset) for h in headers} == {
        (22, 10, 20_000, 0, 0)
    }
    assert all((command.ext or {})["ReqT"] == "0" for command in cluster.requests(Code.PULL_MESSAGE))
    assert consumer.client_id.endswith("@STREAM")


def test_an_empty_queue_is_asked_again_when_the_broker_gives_up_after_20_s(cluster: FakeCluster) -> None:
    assigned(cluster)
    cluster.loop.run_for(45)
    assert cluster.times(Code.PULL_MESSAGE) == pytest.approx([0, 20, 40], abs=0.1)


def test_more_queues_than_threads_take_turns(cluster: FakeCluster) -> None:
    """A suspended pull holds its thread: the third queue is asked when one is free, and then another has to wait."""
    assigned(cluster, *Q[:3], pull_threads=2)
    cluster.loop.run_for(19)
    assert [header.queue_id for header in pulls(cluster)] == [0, 1]
    cluster.loop.run_for(2)
    assert sorted(header.queue_id for header in pulls(cluster)[2:]) == [0, 2]


def test_subscribe_and_assign_exclude_each_other(cluster: FakeCluster) -> None:
    consumer = lite(cluster)
    cluster.run(consumer.subscribe("T"))
    with pytest.raises(ClientError, match="mutually exclusive"):
        consumer.assign([Q[0]])
    with pytest.raises(ClientError, match="can not be null or empty"):
        lite(cluster, "other").assign([])


@pytest.mark.parametrize(
    "where",
    [
        ConsumeFromWhere.CONSUME_FROM_MIN_OFFSET,
        ConsumeFromWhere.CONSUME_FROM_MAX_OFFSET,
        ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST,
    ],
)
def test_the_deprecated_beginnings_are_refused(where: ConsumeFromWhere) -> None:
    with pytest.raises(ClientError, match="Invalid ConsumeFromWhere"):
        LitePullConsumerConfig(group="L", from_where=where)


def test_an_offset_outside_the_queue_is_simply_moved(cluster: FakeCluster) -> None:
    for number in range(10):
        cluster.store("T", 0, b"%d" % number)
    cluster.min_offset = 7
    consumer = assigned(cluster)
    messages = cluster.run(consumer.poll())
    assert [message.body for message in messages] == [b"7", b"8", b"9"]
    assert [header.queue_offset for header in pulls(cluster)] == [0, 7, 10]
    assert cluster.loop.time() < 1


def test_a_paused_queue_looks_again_every_second(cluster: FakeCluster) -> None:
    cluster.store("T", 0, b"one")
    consumer = assigned(cluster)
    consumer.pause([Q[0]])
    cluster.loop.run_for(10)
    assert pulls(cluster) == []
    consumer.resume_queues([Q[0]])
    cluster.loop.run_for(1.1)
    assert len(cluster.run(consumer.poll())) == 1


def test_seeking_throws_away_what_was_fetched_and_the_pull_under_way(cluster: FakeCluster) -> None:
    for number in range(25):
        cluster.store("T", 0, b"%d" % number)
    consumer = assigned(cluster)
    cluster.loop.run_for(1)
    assert [len(cluster.run(consumer.poll())) for _ in range(2)] == [10, 10]
    cluster.run(consumer.seek(Q[0], 3))
    first = cluster.run(consumer.poll())
    assert [message.queue_offset for message in first] == [*range(3, 13)]
    with pytest.raises(ClientError, match="Seek offset illegal, seek offset = 26, min offset = 0, max offset = 25"):
        cluster.run(consumer.seek(Q[0], 26))
    with pytest.raises(ClientError, match="not in assigned list"):
        cluster.run(consumer.seek(Q[1], 0))


def test_a_queue_can_be_read_again_from_its_beginning_or_left_for_its_end(cluster: FakeCluster) -> None:
    for number in range(5):
        cluster.store("T", 0, b"%d" % number)
    consumer = assigned(cluster)
    assert len(cluster.run(consumer.poll())) == 5
    cluster.run(consumer.seek_to_begin(Q[0]))
    assert [message.queue_offset for message in cluster.run(consumer.poll())] == [0, 1, 2, 3, 4]
    cluster.run(consumer.seek_to_begin(Q[0]))
    cluster.run(consumer.seek_to_end(Q[0]))
    assert cluster.run(consumer.poll(1_000)) == []


def test_fetching_stops_over_a_thousand_cached_messages_of_a_queue(cluster: FakeCluster) -> None:
    for number in range(1_100):
        cluster.store("T", 0, b"%d" % number)
    consumer = assigned(cluster)
    cluster.loop.run_for(5)
    assert consumer.process_queues[Q[0]].count == 1_010
    changed = cluster.events(FlowControlChanged)
    assert [(event.limit, event.value, event.allowed) for event in changed] == [("count", 1_010, 1_000)]
    cluster.run(consumer.poll())
    cluster.run(consumer.poll())
    cluster.loop.run_for(0.06)
    assert consumer.process_queues[Q[0]].count > 990


def test_fetched_batches_of_all_queues_have_a_limit_together(cluster: FakeCluster) -> None:
    for number in range(200):
        cluster.store("T", number % 4, b"%d" % number)
    consumer = assigned(cluster, *Q, threshold_for_all=50)
    cluster.loop.run_for(5)
    assert len(consumer.fetched) * 10 > 50
    assert len(consumer.fetched) < 11
    assert {event.allowed for event in cluster.events(FlowControlChanged)} == {50}


def test_a_failed_pull_is_repeated_after_a_second_a_busy_broker_after_20_ms(cluster: FakeCluster) -> None:
    cluster.refuse[Code.PULL_MESSAGE] = [1, 215]
    assigned(cluster)
    cluster.loop.run_for(5)
    assert cluster.times(Code.PULL_MESSAGE) == pytest.approx([0, 1, 1.02], abs=0.01)


def test_without_a_beginning_it_asks_again_after_three_seconds(cluster: FakeCluster) -> None:
    cluster.refuse[Code.GET_MAX_OFFSET] = [1]
    assigned(cluster, from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET)
    cluster.loop.run_for(5)
    assert cluster.times(Code.GET_MAX_OFFSET) == pytest.approx([0, 3], abs=0.01)
    assert cluster.times(Code.PULL_MESSAGE) == pytest.approx([3], abs=0.01)


def test_a_poll_waits_five_seconds_for_a_message(cluster: FakeCluster) -> None:
    consumer = assigned(cluster)
    began_s = cluster.loop.time()
    assert cluster.run(consumer.poll()) == []
    assert cluster.loop.time() - began_s == pytest.approx(5)
    waiting = cluster.loop.create_task(consumer.poll())
    cluster.loop.run_for(2)
    cluster.store("T", 0, b"late")
    cluster.loop.run_for(0.1)
    assert [message.body for message in waiting.result()] == [b"late"]
    with pytest.raises(ClientError, match="must not be negative"):
        cluster.run(consumer.poll(-1))


def test_two_polls_at_once_both_end(cluster: FakeCluster) -> None:
    consumer = assigned(cluster)

    async def two() -> tuple[list[Message], list[Message]]:
        return await asyncio.gather(consumer.poll(), consumer.poll(2_000))

    cluster.loop.call_later(3, cluster.store, "T", 0, b"news")
    long, short = cluster.run(two())
    assert ([message.body for message in long], short) == ([b"news"], [])


def test_what_a_poll_gave_counts_as_done_with_a_later_poll_and_reaches_the_broker_by_timer(
    cluster: FakeCluster,
) -> None:
    for number in range(12):
        cluster.store("T", 0, b"%d" % number)
    consumer = assigned(cluster)
    assert len(cluster.run(consumer.poll())) == 10  # the first poll committed nothing, there was nothing
    assert len(cluster.run(consumer.poll())) == 2
    cluster.loop.run_for(4.5)
    cluster.run(consumer.poll(0))
    assert consumer.offset_store.read_memory(Q[0]) is None  # not five seconds yet
    cluster.loop.run_for(1)
    cluster.run(consumer.poll(0))
    assert consumer.offset_store.read_memory(Q[0]) == 12
    assert ("L", "T", 0) not in cluster.offsets
    cluster.loop.run_for(5)
    assert cluster.offsets["L", "T", 0] == 12


def test_a_failed_message_is_nobodys_business(cluster: FakeCluster) -> None:
    """There is no listener to fail: no retry topic is wanted and nothing is ever sent back."""
    consumer = lite(cluster)
    cluster.run(consumer.subscribe("T"))
    cluster.run(consumer.start())
    cluster.store("T", 0, b"x")
    cluster.loop.run_for(40)
    cluster.run(consumer.poll())
    cluster.loop.run_for(40)
    assert [data.topic for data in consumer.data().subscriptions] == ["T"]
    assert cluster.requests(Code.CONSUMER_SEND_MSG_BACK) == []
    assert {command.ext["topic"] for command in cluster.requests(Code.PULL_MESSAGE) if command.ext} == {"T"}


def test_subscribed_topics_are_divided_and_what_was_lost_is_dropped(cluster: FakeCluster) -> None:
    first, second = lite(cluster, "a"), lite(cluster, "b")
    for consumer in (first, second):
        cluster.run(consumer.subscribe("T"))
    cluster.run(first.start())
    cluster.loop.run_for(2)
    cluster.notify("L")
    cluster.loop.run_for(1)
    assert first.assigned.queues() == Q
    cluster.run(second.start())
    cluster.loop.run_for(2)
    cluster.notify("L")
    cluster.loop.run_for(1)
    assert (first.assigned.queues(), second.assigned.queues()) == (Q[:2], Q[2:])
    cluster.seen.clear()
    cluster.loop.run_for(25)
    by_queue = {(command.ext or {})["queueId"] for command in cluster.requests(Code.PULL_MESSAGE)}
    assert by_queue == {"0", "1", "2", "3"}


def test_an_unsubscribed_topic_is_neither_pulled_nor_kept(cluster: FakeCluster) -> None:
    consumer = lite(cluster)
    cluster.run(consumer.subscribe("T"))
    cluster.run(consumer.start())
    cluster.loop.run_for(25)
    consumer.unsubscribe("T")
    cluster.loop.run_for(25)
    assert (consumer.assigned.queues(), consumer.process_queues) == ([], {})


def test_a_change_of_queues_is_heard_after_10_s_and_then_every_30_s(cluster: FakeCluster) -> None:
    consumer = lite(cluster)
    heard: list[tuple[float, int]] = []
    consumer.assign([Q[0]])
    cluster.run(consumer.listen_to_topic("T", lambda _topic, queues: heard.append((cluster.loop.time(), len(queues)))))
    cluster.run(consumer.start())
    cluster.topics["T"] = 6
    cluster.loop.run_for(15)
    cluster.topics["T"] = 8
    cluster.loop.run_for(60)
    assert [(round(at_s), count) for at_s, count in heard] == [(10, 6), (40, 8)]
