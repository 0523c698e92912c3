"""A broker that filters by properties: what it asks at heartbeats, what it gives out, whom it refuses."""

from typing import Any

import pytest

from sandbox.broker.bloom_positions import bloom_positions
from sandbox.broker.consumer_filters import MAX_FILTERS, ConsumerFilterManager
from sandbox.journal.events import PullAnswered
from sandbox.message.filter import SQL92
from sandbox.remoting.bodies import CheckClientBody, ConsumerData, HeartbeatData, SubscriptionData
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from tests.unit.broker.stage import Client, Stage, messages, stage_with
from tests.unit.broker.world import Time

FILE = "config/consumerFilter.json"
DAY_S = 24 * 3_600
stage = stage_with(queues=4, property_filter=True)


def sql(expression: str, *, topic: str = "orders", version: int = 1, kind: str = SQL92) -> SubscriptionData:
    return SubscriptionData(topic, expression, sub_version=version, expression_type=kind)


def beat(client: Client, *subs: SubscriptionData, group: str = "g") -> None:
    data = HeartbeatData("c1", (), (ConsumerData(group, subscriptions=subs),))
    assert client.call(RequestCode.HEART_BEAT, None, data.encode()).code == 0


def check(client: Client, expression: str, kind: str = SQL92) -> RemotingCommand:
    body = CheckClientBody("c1", "g", sql(expression, kind=kind))
    return client.call(RequestCode.CHECK_CLIENT_CONFIG, None, body.encode())


def asked(client: Client, text: str, *, kind: str = SQL92, offset: int = 0) -> RemotingCommand:
    """A pull that carries its expression."""
    ext = client.pull_ext("g", "orders", offset, subscription=text)
    return client.call(RequestCode.PULL_MESSAGE, {**ext, "expressionType": kind})


def registered(client: Client, *, sub_version: int = 0, offset: int = 0, group: str = "g") -> RemotingCommand:
    """A pull that relies on the heartbeat."""
    return client.pull(group, "orders", offset, flags=0, subscription=None, sub_version=sub_version)


def fill(client: Client, *amounts: int) -> None:
    for amount in amounts:
        tag = "odd" if amount % 2 else "even"
        client.send("orders", b"%d" % amount, properties=f"amount\x01{amount}\x02TAGS\x01{tag}")


def bodies(answer: RemotingCommand) -> list[bytes]:
    return [message.body for message in messages(answer)]


# The check before a start (46).


def test_an_expression_is_checked_by_compiling_it(client: Client) -> None:
    assert check(client, "amount > 5").code == 0
    assert check(client, "||", "TAG").code == 0
    refused = check(client, "amount > 'five'")
    assert (refused.code, refused.remark) == (23, "> compares numbers (character 8)")


def test_a_kind_of_expression_that_no_one_compiles_is_refused(client: Client) -> None:
    assert check(client, "amount > 5", "XPATH").code == 23


def test_without_the_switch_no_expression_is_looked_at() -> None:
    refused = check(Stage().client(), "amount > 'five'")
    assert (refused.code, refused.remark) == (1, "The broker does not support consumer to filter message by SQL92")


# Pulls.


def test_a_pull_with_its_own_expression_brings_what_matches(client: Client, stage: Stage) -> None:
    fill(client, 1, 7, 3, 9, 2)
    answer = asked(client, "amount > 5")
    assert (answer.code, bodies(answer)) == (0, [b"7", b"9"])
    assert answer.ext is not None
    assert answer.ext["nextBeginOffset"] == "5"
    assert stage.events(PullAnswered)[-1].skipped_by_hash == 0  # no hash said so


def test_system_properties_count_as_any_other(client: Client) -> None:
    fill(client, 1, 2)
    assert bodies(asked(client, "TAGS = 'odd' AND amount IS NOT NULL")) == [b"1"]


def test_when_nothing_matches_the_reader_is_sent_on(client: Client) -> None:
    fill(client, 1, 2)
    answer = asked(client, "amount > 5")
    assert (answer.code, answer.remark) == (20, "NO_MATCHED_MESSAGE")
    assert answer.ext is not None
    assert answer.ext["nextBeginOffset"] == "2"


@pytest.mark.parametrize(("text", "kind"), [("", SQL92), ("amount >", SQL92), ("amount > 5", "XPATH")])
def test_a_pull_with_an_expression_that_does_not_compile_is_refused(client: Client, text: str, kind: str) -> None:
    answer = asked(client, text, kind=kind)
    assert (answer.code, answer.remark) == (23, "parse the consumer's subscription failed")


def test_the_heartbeats_expression_counts_for_pulls_that_carry_none(client: Client) -> None:
    fill(client, 1, 7, 3)
    beat(client, sql("amount > 5"))
    assert bodies(registered(client, sub_version=1)) == [b"7"]


def test_a_bad_expression_is_not_registered(client: Client) -> None:
    beat(client, sql("amount >"))
    answer = registered(client)
    assert (answer.code, answer.remark) == (
        27,
        "The broker's consumer filter data is not exist!Your expression may be wrong!",
    )


def test_a_newer_bad_expression_drives_out_the_good_one(client: Client) -> None:
    beat(client, sql("amount > 5"))
    assert registered(client).code == 19
    beat(client, sql("amount >", version=2))
    assert registered(client).code == 27


def test_a_pull_newer_than_the_filter_is_refused(client: Client, stage: Stage) -> None:
    beat(client, sql("amount > 5", version=3))
    assert registered(client, sub_version=4).code == 25  # the subscription is older, too
    data = stage.broker.filters.get("orders", "g")
    assert data is not None
    data.version = 2
    answer = registered(client, sub_version=3)
    assert (answer.code, answer.remark) == (28, "the consumer's consumer filter data not latest")


def test_without_the_switch_a_registered_filter_is_refused_and_a_missing_one_is_missing() -> None:
    stage = Stage()
    stage.topic("orders")
    client = stage.client()
    beat(client, sql("amount > 5"))
    assert registered(client).code == 1
    beat(client, sql("amount >", version=2))
    assert registered(client).code == 27
    assert asked(client, "amount > 5").code == 1
    assert asked(client, "").code == 23


def test_only_the_newest_version_of_an_expression_counts(client: Client) -> None:
    fill(client, 1, 7)
    beat(client, sql("amount > 5", version=2))
    beat(client, sql("amount < 5", version=1))
    assert bodies(registered(client)) == [b"7"]
    beat(client, sql("amount < 5", version=3))
    assert bodies(registered(client)) == [b"1"]


# Parked pulls.


def park(client: Client, expression: str, *, offset: int = 0) -> int:
    beat(client, sql(expression))
    return client.park("g", "orders", offset, flags=0, subscription=None)


def test_a_parked_pull_is_woken_by_a_message_that_matches(client: Client, stage: Stage) -> None:
    waiting = park(client, "amount > 5")
    fill(stage.client(), 1)
    assert waiting not in client.answers
    fill(stage.client(), 7)
    answer = client.answers[waiting]
    assert (answer.code, bodies(answer)) == (0, [b"7"])


def test_messages_that_do_not_match_are_passed_over_at_the_next_scan(client: Client, stage: Stage) -> None:
    waiting = park(client, "amount > 5")
    fill(stage.client(), 1)
    stage.pass_s(5)
    answer = client.answers[waiting]
    assert answer.ext is not None
    assert (answer.code, answer.ext["nextBeginOffset"]) == (20, "1")


# What is remembered, and for how long.


def table(stage: Stage) -> dict[tuple[str, str], tuple[str, bool]]:
    """Expression and whether it is dead, by topic and group."""
    return {key: (data.filter.expression, data.dead) for key, data in stage.broker.filters.table.items()}


def test_a_topic_the_heartbeat_does_not_name_is_dead_and_revived_when_it_does(client: Client, stage: Stage) -> None:
    beat(client, sql("amount > 5"), sql("a = 1", topic="TBW102"))
    stage.pass_s(1)
    beat(client, sql("amount > 5"))
    assert table(stage) == {("orders", "g"): ("amount > 5", False), ("TBW102", "g"): ("a = 1", True)}
    beat(client, sql("a = 1", topic="TBW102"))
    assert table(stage)["TBW102", "g"] == ("a = 1", False)


@pytest.mark.parametrize("goodbye", [True, False])
def test_filters_of_a_group_are_dead_when_its_last_member_left(stage: Stage, goodbye: bool) -> None:
    one, two = stage.client(), stage.client("127.0.0.9")
    for member in (one, two):
        beat(member, sql("amount > 5"))
    stage.pass_s(1)
    for member, dead in ((one, False), (two, True)):
        if goodbye:
            member.call(RequestCode.UNREGISTER_CLIENT, {"clientID": "c1", "consumerGroup": "g"})
        else:
            member.close()
        assert table(stage)["orders", "g"] == ("amount > 5", dead)


def test_the_dead_are_forgotten_after_a_day(stage: Stage) -> None:
    member = stage.client()
    beat(member, sql("amount > 5"))
    member.close()
    stage.pass_s(DAY_S - 20)
    assert len(table(stage)) == 1
    stage.pass_s(40)
    assert table(stage) == {}


def test_the_file_has_what_a_broker_of_apache_looks_for(client: Client, stage: Stage) -> None:
    stage.pass_s(20)
    assert stage.disk.read(FILE) is None  # no one filters by properties
    beat(client, sql("amount > 5", version=7), group="G")
    born_ms = stage.time.clock.now_ms()
    stage.pass_s(10)
    content: Any = stage.broker.store.config_file("consumerFilter").read()
    assert content == {
        "filterDataByTopic": {
            "orders": {
                "topic": "orders",
                "groupFilterData": {
                    "G": {
                        "bloomFilterData": {"bitNum": 112, "bitPos": list(bloom_positions("G", "orders"))},
                        "bornTime": born_ms,
                        "clientVersion": 7,
                        "consumerGroup": "G",
                        "dead": False,
                        "deadTime": 0,
                        "expression": "amount > 5",
                        "expressionType": "SQL92",
                        "topic": "orders",
                    }
                },
            }
        }
    }


def test_what_a_restart_finds_is_dead_until_the_next_heartbeat(client: Client, stage: Stage) -> None:
    fill(client, 7)
    beat(client, sql("amount > 5"))
    stage.stop_broker()
    stage.start_broker()
    assert table(stage) == {("orders", "g"): ("amount > 5", True)}
    again = stage.client()
    beat(again, sql("amount > 5"))
    assert table(stage) == {("orders", "g"): ("amount > 5", False)}
    assert bodies(registered(again)) == [b"7"]


def test_a_killed_broker_remembers_what_it_wrote_every_ten_seconds(client: Client, stage: Stage) -> None:
    beat(client, sql("amount > 5"))
    stage.pass_s(10)
    beat(client, sql("amount > 6", version=2))
    stage.stop_broker(kill=True)
    stage.start_broker()
    assert table(stage)["orders", "g"] == ("amount > 5", True)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({}, 1),
        ({"bloomFilterData": {"bitNum": 64, "bitPos": [1, 2, 3]}}, 0),
        ({"bloomFilterData": None}, 0),
        ({"bloomFilterData": {"bitNum": 112, "bitPos": [1, 2]}}, 0),
        ({"expression": "a >"}, 0),
    ],
)
def test_rows_of_another_bloom_filter_or_without_an_expression_are_not_taken_over(
    change: dict[str, Any], left: int
) -> None:
    time = Time()
    filters = ConsumerFilterManager(time.clock)
    filters.register("g", [sql("amount > 5")])
    content = filters.to_json()
    content["filterDataByTopic"]["orders"]["groupFilterData"]["g"].update(change)
    again = ConsumerFilterManager(time.clock)
    again.load(content)
    assert len(again.table) == left


def test_a_full_table_gives_up_its_longest_dead_and_no_one_who_lives() -> None:
    time = Time()
    filters = ConsumerFilterManager(time.clock)
    for number in range(MAX_FILTERS):
        filters.register(f"g{number}", [sql("amount > 5")])
    filters.register("late", [sql("amount > 5")])
    assert filters.get("orders", "late") is None
    filters.unregister("g8")
    time.pass_s(1)
    filters.unregister("g3")
    filters.register("late", [sql("amount > 5")])
    assert len(filters.table) == MAX_FILTERS
    assert filters.get("orders", "late") is not None
    assert (filters.get("orders", "g8"), filters.get("orders", "g3") is None) == (None, False)


@pytest.mark.parametrize(
    ("group", "topic", "positions"),
    [
        ("G", "T", (24, 26, 83)),
        ("filtering", "orders", (11, 21, 31)),
        ("red", "orders", (74, 98, 101)),
        ("顺序", "订单", (85, 48, 20)),
    ],
)
def test_bloom_positions_are_those_of_rocketmq(group: str, topic: str, positions: tuple[int, ...]) -> None:
    """Worked out by RocketMQ's own class."""
    assert bloom_positions(group, topic) == positions
