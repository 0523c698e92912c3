"""Reported cases of RocketMQ users and the broker's responses: C12 to C19, on the wire alone."""

import json

from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ConsumeStats, ResetOffsetBody
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.stage import Client, Stage, messages, small_store


def committed_and_max(admin: Client, group: str, queue: int = 0) -> tuple[int, int]:
    answer = admin.call(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group})
    found = ConsumeStats.decode(answer.body).queues[MessageQueue("orders", "broker-a", queue)]
    return found[1], found[0]


def test_c12_a_queue_without_a_committed_offset_counts_from_0(admin: Client, stage: Stage) -> None:
    for _ in range(10):
        admin.send("orders", queue=1)
    stage.broker.consumer_offsets.commit("g", "orders", 0, 0, "timer")
    assert committed_and_max(admin, "g", queue=1) == (0, 10)


def test_c13_a_time_after_the_last_message_is_the_last_message_and_latest_is_its_end(
    admin: Client, stage: Stage
) -> None:
    for _ in range(20):
        admin.send("orders")
    for queue in range(4):
        stage.broker.consumer_offsets.commit("g", "orders", queue, 0, "timer")
    stage.client().heartbeat("c1", "g", "orders")
    found = []
    for at_ms in (stage.time.clock.now_ms() + 60_000, -1):
        answer = admin.call(
            RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
            {"topic": "orders", "group": "g", "timestamp": str(at_ms), "isForce": "true"},
        )
        offsets = ResetOffsetBody.decode(answer.body).offsets
        found.append({queue[2]: offset for queue, offset in offsets.items()}[0])
    assert found == [19, 20]


def test_c14_a_reset_of_members_needs_one_that_is_online(admin: Client, stage: Stage) -> None:
    admin.send("orders")
    for queue in range(4):
        stage.broker.consumer_offsets.commit("g", "orders", queue, queue == 0, "timer")
    answer = admin.call(
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
        {"topic": "orders", "group": "g", "timestamp": "0", "isForce": "true"},
    )
    assert answer.code == 206
    admin.oneway(
        RequestCode.UPDATE_CONSUMER_OFFSET,
        {"consumerGroup": "g", "topic": "orders", "queueId": "0", "commitOffset": "0"},
    )
    assert committed_and_max(admin, "g") == (0, 1), "while it is offline an offset can be written"


def test_c15_a_commit_beyond_the_end_is_shown_as_it_is(admin: Client) -> None:
    for _ in range(5):
        admin.send("orders")
    admin.oneway(
        RequestCode.UPDATE_CONSUMER_OFFSET,
        {"consumerGroup": "g", "topic": "orders", "queueId": "0", "commitOffset": "500"},
    )
    assert committed_and_max(admin, "g") == (500, 5)


def test_c16_a_delay_offset_beyond_its_queue_is_put_right(stage: Stage, client: Client) -> None:
    client.send("orders", properties="DELAY\x011")
    stage.pass_s(2)
    stage.stop_broker()
    stage.disk.write("config/delayOffset.json", json.dumps({"offsetTable": {1: 500}}).encode())
    stage.start_broker()
    again = stage.client()
    again.send("orders", properties="DELAY\x011")
    stage.pass_s(2.5)
    assert len(messages(again.pull("g", "orders", 0))) == 2


def test_c17_a_level_beyond_the_last_is_the_last_and_there_may_be_nineteen(client: Client) -> None:
    client.send("orders", properties="DELAY\x0199")
    assert len(messages(client.pull("g", "SCHEDULE_TOPIC_XXXX", 0, queue=17))) == 1
    levels = tuple(range(1_000, 20_000, 1_000))
    more = Stage(store=small_store(delay_levels_ms=levels))
    more.topic("orders")
    more.client().send("orders", properties="DELAY\x0119")
    assert len(messages(more.client().pull("g", "SCHEDULE_TOPIC_XXXX", 0, queue=18))) == 1


def test_c19_each_of_three_keys_finds_its_message_alone(admin: Client) -> None:
    """A broker returns both of two keys with one hash, and the client compares: `test_of_a_key_only_equal_ones_…`."""
    for key in ("k1 k2 k3", "k4"):
        admin.send("orders", key.encode(), properties=f"KEYS\x01{key}")
    asked = {"topic": "orders", "maxNum": "32", "beginTimestamp": "0", "endTimestamp": str(2**63 - 1)}
    for key in ("k1", "k2", "k3"):
        answer = admin.call(RequestCode.QUERY_MESSAGE, {**asked, "key": key})
        assert [one.body for one in messages(answer)] == [b"k1 k2 k3"]
