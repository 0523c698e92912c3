"""Spans, counters, entries and corrections: what administrators ask about traffic."""

from collections.abc import Iterator

import pytest

from sandbox.broker.consumer_offsets import OffsetKey
from sandbox.broker.processors import admin_statistics
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import (
    ConsumeStatsList,
    ConsumeTimeSpans,
    CorrectionOffsets,
    QueueEntries,
    StatsData,
    StatsSpan,
)
from sandbox.remoting.codes import RequestCode, ResponseCode
from tests.unit.broker.stage import Client, Stage, messages, stage_with

NEVER = 2**63 - 1
stage = stage_with(queues=2)


def counter(admin: Client, name: str, key: str) -> StatsData:
    return StatsData.decode(admin.call(RequestCode.VIEW_BROKER_STATS_DATA, {"statsName": name, "statsKey": key}).body)


# 303.


def test_a_span_reports_oldest_newest_and_consumed_and_how_long_the_next_waits(admin: Client, stage: Stage) -> None:
    first_ms = stage.time.clock.now_ms()
    for _ in range(3):
        admin.send("orders")
        stage.pass_s(5)
    stage.broker.consumer_offsets.commit("g", "orders", 0, 2, "timer")
    answer = admin.call(RequestCode.QUERY_CONSUME_TIME_SPAN, {"topic": "orders", "group": "g"})
    span, empty = ConsumeTimeSpans.decode(answer.body).spans
    assert span.queue == MessageQueue("orders", "broker-a", 0)
    assert (span.min_ms, span.consumed_ms, span.max_ms) == (first_ms, first_ms + 5_000, first_ms + 10_000)
    assert span.delay_ms == 5_000, "since the third was stored"
    assert (empty.min_ms, empty.max_ms, empty.consumed_ms) == (-1, -1, -1)


def test_a_group_without_lag_has_no_pending_messages(admin: Client, stage: Stage) -> None:
    admin.send("orders")
    stage.pass_s(60)
    stage.broker.consumer_offsets.commit("g", "orders", 0, 1, "timer")
    answer = admin.call(RequestCode.QUERY_CONSUME_TIME_SPAN, {"topic": "orders", "group": "g"})
    assert ConsumeTimeSpans.decode(answer.body).spans[0].delay_ms == 0


def test_spans_of_a_topic_no_one_made_are_refused(admin: Client) -> None:
    answer = admin.call(RequestCode.QUERY_CONSUME_TIME_SPAN, {"topic": "none", "group": "g"})
    assert (answer.code, answer.remark) == (ResponseCode.TOPIC_NOT_EXIST, "topic[none] not exist")


# 315.


def test_a_counter_shows_nothing_before_its_first_sample_and_then_all_since(admin: Client, stage: Stage) -> None:
    for _ in range(3):
        admin.send("orders", b"x" * 10)
    assert counter(admin, "TOPIC_PUT_NUMS", "orders").minute == StatsSpan(0, 0.0, 0.0)
    stage.pass_s(10)
    assert counter(admin, "TOPIC_PUT_NUMS", "orders").minute == StatsSpan(3, 0.3, 1.0)
    stage.pass_s(10)
    assert counter(admin, "TOPIC_PUT_NUMS", "orders").minute == StatsSpan(3, 0.15, 1.0)
    stage.pass_s(60)
    assert counter(admin, "TOPIC_PUT_NUMS", "orders").minute == StatsSpan(0, 0.0, 0.0), "it is over a minute ago"


def test_the_hour_is_sampled_every_ten_minutes_and_the_day_every_hour(admin: Client, stage: Stage) -> None:
    admin.send("orders")

    def after_s(seconds: int) -> StatsData:
        stage.pass_s(seconds)
        return counter(stage.client(), "TOPIC_PUT_NUMS", "orders")  # a new one: idle connections are closed

    assert after_s(599).hour.sum == 0
    sampled = after_s(1)
    assert (sampled.hour, sampled.day.sum) == (StatsSpan(1, 1 / 600, 1.0), 0)
    assert after_s(3_000).day == StatsSpan(1, 1 / 3600, 1.0)


def test_what_a_group_gets_and_gives_back_is_counted(admin: Client, stage: Stage) -> None:
    for _ in range(4):
        admin.send("orders")
    [first, *_] = messages(admin.pull("g", "orders", 0))
    admin.call(
        RequestCode.CONSUMER_SEND_MSG_BACK,
        {"offset": str(first.physical_offset), "group": "g", "delayLevel": "0", "originTopic": "orders"},
    )
    stage.pass_s(15)
    [again] = messages(admin.pull("g", "%RETRY%g", 0))
    admin.call(
        RequestCode.CONSUMER_SEND_MSG_BACK,
        {"offset": str(again.physical_offset), "group": "g", "delayLevel": "0", "originTopic": "%RETRY%g"},
    )
    stage.pass_s(5)
    assert counter(admin, "GROUP_GET_NUMS", "orders@g").minute == StatsSpan(4, 0.2, 4.0)
    assert counter(admin, "SNDBCK_PUT_NUMS", "orders@g").minute.sum == 2, "also what came from the retry topic"
    assert counter(admin, "BROKER_GET_NUMS", "DefaultCluster").minute.sum == 5
    assert counter(admin, "BROKER_PUT_NUMS", "DefaultCluster").minute.sum == 5, "four sent, one delivered"


@pytest.mark.parametrize(("name", "key"), [("TOPIC_PUT_NUMS", "none"), ("NO_SUCH_NAME", "orders")])
def test_a_counter_no_one_counts_is_refused(admin: Client, name: str, key: str) -> None:
    answer = admin.call(RequestCode.VIEW_BROKER_STATS_DATA, {"statsName": name, "statsKey": key})
    assert (answer.code, answer.remark) == (1, f"The stats <{name}> <{key}> not exist")


def test_counters_of_a_deleted_topic_are_gone(admin: Client, stage: Stage) -> None:
    admin.send("orders")
    admin.call(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "orders"})
    answer = admin.call(RequestCode.VIEW_BROKER_STATS_DATA, {"statsName": "TOPIC_PUT_NUMS", "statsKey": "orders"})
    assert answer.code == 1


# 317.


def test_all_groups_are_listed_with_what_they_lack(admin: Client, stage: Stage) -> None:
    for _ in range(5):
        admin.send("orders")
    admin.pull("g", "orders", 0)
    stage.broker.consumer_offsets.commit("g", "orders", 0, 2, "timer")
    found = ConsumeStatsList.decode(admin.call(RequestCode.GET_BROKER_CONSUME_STATS, {"isOrder": "false"}).body)
    groups = dict(found.groups)
    assert found.lag == 3
    assert groups["TOOLS_CONSUMER"] == ()
    [stats] = groups["g"]
    assert stats.queues[MessageQueue("orders", "broker-a", 0)][:2] == (5, 2)
    ordered = ConsumeStatsList.decode(admin.call(RequestCode.GET_BROKER_CONSUME_STATS, {"isOrder": "true"}).body)
    assert (dict(ordered.groups)["g"], ordered.lag) == ((), 0)


class Walked(dict[OffsetKey, dict[int, int]]):
    """Counts how often someone goes through all of it."""

    walks = 0

    def __iter__(self) -> Iterator[OffsetKey]:
        self.walks += 1
        return super().__iter__()


def test_however_many_groups_there_are_their_offsets_are_walked_through_once(admin: Client, stage: Stage) -> None:
    for n in range(50):
        admin.pull(f"g{n}", "orders", 0)
        stage.broker.consumer_offsets.commit(f"g{n}", "orders", 0, n, "timer")
    table = stage.broker.consumer_offsets.table = Walked(stage.broker.consumer_offsets.table)
    found = ConsumeStatsList.decode(admin.call(RequestCode.GET_BROKER_CONSUME_STATS, {"isOrder": "false"}).body)
    assert sum(bool(stats) for _, stats in found.groups) == 50
    assert table.walks == 1


# 308.


def test_the_smallest_offset_of_all_groups_counts_but_not_that_of_filtered_ones(admin: Client, stage: Stage) -> None:
    offsets = stage.broker.consumer_offsets
    for group, offset in (("slow", 1), ("fast", 7), ("ours", 3)):
        offsets.commit(group, "orders", 0, offset, "timer")

    def corrected(compare: str, filtered: str = "") -> dict[int, int]:
        ext = {"topic": "orders", "compareGroup": compare, "filterGroups": filtered}
        return CorrectionOffsets.decode(admin.call(RequestCode.QUERY_CORRECTION_OFFSET, ext).body).offsets

    assert corrected("none") == {0: 1}
    assert corrected("none", "slow,ours") == {0: 7}
    assert corrected("ours", "slow,ours") == {0: NEVER}, "ours stands before all that count"
    assert offsets.get("slow", "orders", 0) == 1, "asking forgets nobody"


# 321.


def test_entries_of_a_queue_come_with_the_subscription_of_the_group(admin: Client, stage: Stage) -> None:
    places = []
    for _ in range(3):
        admin.send("orders", properties="TAGS\x01A\x02WAIT\x01true")
    places = [m.physical_offset for m in messages(admin.pull("g", "orders", 0))]
    admin.heartbeat("c1", "g", "orders")
    ext = {"topic": "orders", "queueId": "0", "index": "1", "count": "5", "consumerGroup": "g"}
    answer = admin.call(RequestCode.QUERY_CONSUME_QUEUE, ext)
    body = QueueEntries.decode(answer.body)
    assert [entry.physical_offset for entry in body.entries] == places[1:]
    assert (body.min_offset, body.max_offset, body.filter_data) == (0, 3, "null")
    assert body.subscription is not None
    assert body.subscription.topic == "orders"
    offline = QueueEntries.decode(admin.call(RequestCode.QUERY_CONSUME_QUEUE, {**ext, "consumerGroup": "x"}).body)
    assert (offline.subscription, offline.filter_data) == (None, "x@orders is not online!")


def test_a_place_without_an_entry_is_a_success_without_a_body(admin: Client) -> None:
    admin.send("orders")
    ext = {"topic": "orders", "queueId": "0", "index": "9", "count": "1"}
    answer = admin.call(RequestCode.QUERY_CONSUME_QUEUE, ext)
    assert (answer.code, answer.body, answer.remark) == (0, None, "Index 9 of 0@orders is not exist!")


def test_a_queue_that_never_was_is_refused(admin: Client, stage: Stage) -> None:
    ext = {"topic": "orders", "queueId": "77", "index": "0", "count": "1"}
    answer = admin.call(RequestCode.QUERY_CONSUME_QUEUE, ext)
    assert (answer.code, answer.remark) == (1, "77@orders is not exist!")
    assert ("orders", 77) not in stage.broker.store.queues()


def test_one_answer_holds_only_so_many_entries(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_statistics, "MAX_QUEUE_ENTRIES", 2)
    for _ in range(3):
        admin.send("orders")
    ext = {"topic": "orders", "queueId": "0", "index": "0", "count": str(2**31 - 1)}
    assert len(QueueEntries.decode(admin.call(RequestCode.QUERY_CONSUME_QUEUE, ext).body).entries) == 2


# What 5.x asks.


def test_one_topic_and_one_group_can_be_asked_for(admin: Client, stage: Stage) -> None:
    topic = admin.call(RequestCode.GET_TOPIC_CONFIG, {"topic": "orders"})
    assert b'"topicName":"orders"' in (topic.body or b"")
    group = admin.call(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "TOOLS_CONSUMER"})
    assert b'"groupName":"TOOLS_CONSUMER"' in (group.body or b"")
    missing = admin.call(RequestCode.GET_TOPIC_CONFIG, {"topic": "none"})
    assert (missing.code, missing.remark) == (17, "No topic in this broker. topic: none")


def test_a_group_that_may_not_make_itself_is_missing() -> None:
    admin = Stage(auto_create_subscription_group=False).client()
    answer = admin.call(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "none"})
    assert (answer.code, answer.remark) == (26, "No group in this broker")


def test_topics_and_the_subscription_of_a_group_can_be_asked_for(admin: Client, stage: Stage) -> None:
    stage.broker.consumer_offsets.commit("g", "orders", 0, 1, "timer")
    admin.heartbeat("c1", "g", "orders", expression="A||B")
    topics = admin.call(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": "g"})
    assert b'"orders"' in (topics.body or b"")
    sub = admin.call(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, {"group": "g", "topic": "orders"})
    assert b'"subString":"A||B"' in (sub.body or b"")
    unknown = admin.call(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, {"group": "x", "topic": "orders"})
    assert (unknown.code, unknown.body) == (0, b'{"group":"x","topic":"orders"}')
