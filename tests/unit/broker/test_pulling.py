"""Responses to a consumer's pulls."""

import pytest

from sandbox.journal.events import OffsetMoved, PullAnswered, PullSuspended
from sandbox.message.queue import MessageQueue
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.stage import Client, Stage, messages, small_store

SEE = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."


def fill(client: Client, count: int, *, tags: str = "") -> None:
    for n in range(count):
        client.send("orders", b"%d" % n, properties=f"TAGS\x01{tags}" if tags else "")


def test_messages_come_as_they_lie_in_the_log(client: Client, stage: Stage) -> None:
    fill(client, 3)
    answer = client.pull("g", "orders", 1)
    assert (answer.code, answer.remark) == (0, "FOUND")
    assert answer.ext == {"suggestWhichBrokerId": "0", "nextBeginOffset": "3", "minOffset": "0", "maxOffset": "3"}
    assert [(m.queue_offset, m.body) for m in messages(answer)] == [(1, b"1"), (2, b"2")]
    event = stage.events(PullAnswered)[-1]
    assert (event.asked, event.next_offset, event.count, event.code) == (1, 3, 2, 0)


def test_no_more_messages_than_asked_for(client: Client) -> None:
    fill(client, 5)
    assert len(messages(client.pull("g", "orders", 0, count=2))) == 2


@pytest.mark.parametrize(
    ("stored", "offset", "code", "remark", "following"),
    [
        (0, 0, 19, "NO_MESSAGE_IN_QUEUE", 0),
        (0, 5, 21, "NO_MESSAGE_IN_QUEUE", 0),
        (3, 3, 19, "OFFSET_OVERFLOW_ONE", 3),
        (3, 9, 21, "OFFSET_OVERFLOW_BADLY", 3),
        (3, -1, 21, "OFFSET_TOO_SMALL", 0),
    ],
)
def test_each_status_has_its_code_and_next_offset(
    client: Client, stored: int, offset: int, code: int, remark: str, following: int
) -> None:
    fill(client, stored)
    answer = client.pull("g", "orders", offset)
    assert (answer.code, answer.remark) == (code, remark)
    assert answer.ext is not None
    assert answer.ext["nextBeginOffset"] == str(following)


def test_an_offset_that_had_to_move_is_reported_to_the_journal_and_to_a_topic(client: Client, stage: Stage) -> None:
    fill(client, 3)
    client.pull("g", "orders", 9)
    assert [(e.group, e.asked, e.given) for e in stage.events(OffsetMoved)] == [("g", 9, 3)]
    [reported] = messages(client.pull("g", "OFFSET_MOVED_EVENT", 0))
    assert reported.properties["TAGS"] == reported.properties["KEYS"] == "g"
    assert b'"offsetNew":3' in reported.body


def test_messages_of_other_tags_are_passed_over(client: Client, stage: Stage) -> None:
    fill(client, 2, tags="A")
    fill(client, 1, tags="B")
    answer = client.pull("g", "orders", 0, subscription="B")
    assert [m.properties["TAGS"] for m in messages(answer)] == ["B"]
    assert stage.events(PullAnswered)[-1].skipped_by_hash == 2
    nothing = client.pull("g", "orders", 0, subscription="C")
    assert (nothing.code, nothing.remark) == (20, "NO_MATCHED_MESSAGE")
    assert nothing.ext is not None
    assert nothing.ext["nextBeginOffset"] == "3"


def test_the_registered_subscription_counts_when_the_pull_brings_none(client: Client) -> None:
    fill(client, 1, tags="A")
    fill(client, 1, tags="B")
    client.heartbeat("c1", "g", "orders", expression="A", version=7)
    assert len(messages(client.pull("g", "orders", 0, flags=0, subscription=None, sub_version=7))) == 1
    late = client.pull("g", "orders", 0, flags=0, subscription=None, sub_version=8)
    assert (late.code, late.remark) == (25, "the consumer's subscription not latest")
    unknown = client.pull("g", "TBW102", 0, flags=0, subscription=None)
    assert (unknown.code, unknown.remark) == (24, f"the consumer's subscription not exist{SEE}")


def test_a_group_no_one_registered_must_bring_its_subscription(client: Client) -> None:
    answer = client.pull("nobody", "orders", 0, flags=0, subscription=None)
    assert (answer.code, answer.remark) == (24, f"the consumer's group info not exist{SEE}")


def test_an_unknown_topic_is_refused(client: Client) -> None:
    answer = client.pull("g", "NoSuchTopicZ", 0)
    assert (answer.code, answer.remark) == (17, f"topic[NoSuchTopicZ] not exist, apply first please! {SEE}")
    assert answer.ext == {}


def test_a_queue_beyond_the_read_count_is_refused(client: Client) -> None:
    answer = client.pull("g", "orders", 0, queue=77)
    assert answer.code == 1
    assert answer.remark is not None
    assert answer.remark.startswith("queueId[77] is illegal, topic:[orders] topicConfig.readQueueNums:[4] consumer:[/")


def test_an_expression_may_be_long() -> None:
    stage = Stage(wire=True)
    stage.topic("orders")
    client = stage.client()
    fill(client, 1, tags="tag-4999")
    fill(client, 1, tags="other")
    wanted = " || ".join(f"tag-{n:04}-xxxxxxxxx" for n in range(4_999)) + " || tag-4999"
    assert len(wanted) > 95_000
    answer = client.pull("g", "orders", 0, subscription=wanted)
    assert [m.properties["TAGS"] for m in messages(answer)] == ["tag-4999"]


def test_the_pulls_of_a_subscription_share_its_filter(client: Client, stage: Stage) -> None:
    """A member may hold very many queues, and want very many tags."""
    client.heartbeat("c1", "g", "orders", expression="A || B")
    for queue in range(4):
        client.park("g", "orders", 0, queue=queue, flags=0, subscription=None)
    [first, *others] = [pull.wanted for pull in stage.broker.hold.held]
    assert all(each is first for each in others)
    client.heartbeat("c1", "g", "orders", expression="C", version=2)
    client.send("orders", queue=0, properties="TAGS\x01C")
    assert len(messages(client.pull("g", "orders", 0, flags=0, subscription=None, sub_version=2))) == 1


def test_an_expression_that_does_not_parse_is_refused(client: Client) -> None:
    answer = client.pull("g", "orders", 0, subscription="||")
    assert (answer.code, answer.remark) == (23, "parse the consumer's subscription failed")


def test_sql_is_refused_while_it_is_off(client: Client) -> None:
    ext = {**client.pull_ext("g", "orders", 0, subscription="a > 1"), "expressionType": "SQL92"}
    assert client.call(RequestCode.PULL_MESSAGE, ext).code == 1


def test_a_group_that_may_not_consume_is_refused(client: Client, stage: Stage) -> None:
    client.pull("g", "orders", 0)
    stage.broker.subscription_groups.change("g", consume_enable=False)
    answer = client.pull("g", "orders", 0)
    assert (answer.code, answer.remark) == (16, "subscription group no permission, g")


def test_a_group_is_refused_where_groups_do_not_make_themselves() -> None:
    stage = Stage(auto_create_subscription_group=False)
    assert stage.client().pull("g", "TBW102", 0).code == 26


def test_a_topic_that_may_not_be_read_is_refused(client: Client, stage: Stage) -> None:
    stage.broker.create_topic(stage.broker.topics.table["orders"]._replace(permission=2))
    assert client.pull("g", "orders", 0).code == 16


def test_a_five_x_lite_pull_is_a_pull(client: Client) -> None:
    fill(client, 1)
    assert client.call(RequestCode.LITE_PULL_MESSAGE, client.pull_ext("g", "orders", 0)).code == 0


def test_a_held_pull_is_answered_by_the_message_it_waited_for(client: Client, stage: Stage) -> None:
    opaque = client.park("g", "orders", 0)
    assert opaque not in client.answers
    assert [(e.offset, e.patience_ms) for e in stage.events(PullSuspended)] == [(0, 15_000)]
    stage.pass_s(4)
    stage.client().send("orders", b"at last")
    assert [m.body for m in messages(client.answers[opaque])] == [b"at last"]
    assert stage.events(PullAnswered)[-1].held_ms == 4_000
    assert stage.broker.hold.held == []


def test_a_held_pull_finds_all_that_arrived_in_the_turn(client: Client, stage: Stage) -> None:
    opaque = client.park("g", "orders", 0)
    producer = stage.client()
    for _ in range(3):
        producer.post(
            RequestCode.SEND_MESSAGE_V2,
            {
                "a": "P",
                "b": "orders",
                "c": "TBW102",
                "d": "4",
                "e": "0",
                "f": "0",
                "g": "0",
                "h": "0",
                "i": "",
                "j": "0",
                "k": "false",
            },
        )
    stage.settle()
    assert len(messages(client.answers[opaque])) == 3


def test_patience_ends_with_a_scan_and_the_answer_is_what_it_then_is(client: Client, stage: Stage) -> None:
    opaque = client.park("g", "orders", 0, patience_ms=3_000)
    stage.pass_s(4.9)
    assert opaque not in client.answers
    stage.pass_s(0.2)
    assert (client.answers[opaque].code, client.answers[opaque].remark) == (19, "NO_MESSAGE_IN_QUEUE")


def test_messages_of_another_tag_wake_with_the_scan_and_move_the_reader_on(client: Client, stage: Stage) -> None:
    opaque = client.park("g", "orders", 0, subscription="A")
    stage.client().send("orders", properties="TAGS\x01B")
    assert opaque not in client.answers
    stage.pass_s(5)
    answer = client.answers[opaque]
    assert (answer.code, answer.ext and answer.ext["nextBeginOffset"]) == (20, "1")


def test_a_pull_without_patience_is_answered_at_once(client: Client) -> None:
    assert client.pull("g", "orders", 0, flags=4).code == 19


def test_a_parked_pull_dies_with_its_connection(client: Client, stage: Stage) -> None:
    client.park("g", "orders", 0)
    client.close()
    assert stage.broker.hold.held == []


def test_a_pull_carries_an_offset_even_when_it_is_parked(client: Client, stage: Stage) -> None:
    fill(client, 3)
    client.park("g", "orders", 3, flags=5, commit=3)
    assert stage.broker.consumer_offsets.get("g", "orders", 0) == 3


def test_a_refused_pull_carries_nothing(client: Client, stage: Stage) -> None:
    client.pull("g", "orders", 0, queue=77, flags=5, commit=3)
    assert stage.broker.consumer_offsets.get("g", "orders", 77) is None


def test_boards_see_who_pulled_last_and_what_is_parked(client: Client, stage: Stage) -> None:
    fill(client, 2)
    client.heartbeat("c1", "g", "orders")
    mq = MessageQueue("orders", "broker-a", 0)
    client.pull("g", "orders", 0)
    state = stage.broker.pulls.get("g", mq)
    assert state is not None
    assert (state.next_offset, state.client_id, state.held_until_ms) == (2, "c1", None)
    client.park("g", "orders", 2)
    state = stage.broker.pulls.get("g", mq)
    assert state is not None
    assert state.held_until_ms == stage.time.clock.now_ms() + 15_000


def test_without_long_polling_a_pull_waits_one_second() -> None:
    stage = Stage(long_polling=False)
    stage.topic("orders")
    client = stage.client()
    opaque = client.park("g", "orders", 0)
    stage.pass_s(2)
    assert client.answers[opaque].code == 19


def test_what_the_disk_lost_is_code_20(stage: Stage) -> None:
    small = Stage(store=small_store(commit_log_file_bytes=4_096, max_message_bytes=2_048))
    small.topic("orders", 1)
    client = small.client()
    for _ in range(12):
        client.send("orders", bytes(1_000))
    small.broker.store.age_files(100)
    small.broker.store.clean(manual=True)
    answer = client.pull("g", "orders", 0)
    assert answer.code in (20, 21)
    assert answer.ext is not None
    assert int(answer.ext["nextBeginOffset"]) > 0
