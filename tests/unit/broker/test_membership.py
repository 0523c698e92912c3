"""Members of a group, notifications, and expiry."""

import pytest

from sandbox.broker.config import BrokerLimits
from sandbox.journal.events import (
    ClientConnected,
    ClientDisconnected,
    MemberJoined,
    MemberLeft,
    MembersNotified,
    SubscriptionChanged,
)
from sandbox.remoting.bodies import ConsumerData, ConsumerList, HeartbeatData
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.stage import Client, Stage


def members(client: Client, group: str = "g") -> list[str]:
    answer = client.call(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
    return sorted(ConsumerList.decode(answer.body).client_ids) if answer.code == 0 else []


def reported(client: Client) -> int:
    """Return how often a change of members was notified since the last call."""
    notices = [c for c in client.requests if c.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]
    client.requests.clear()
    return len(notices)


def test_a_heartbeat_makes_member_group_rules_and_retry_topic(stage: Stage) -> None:
    client = stage.client()
    answer = client.heartbeat("c1", "g", "orders")
    assert (answer.code, answer.version) == (0, 409)
    assert members(client) == ["c1"]
    assert stage.broker.subscription_groups.table["g"].retry_max_times == 16
    retry = stage.broker.topics.table["%RETRY%g"]
    assert (retry.read_queues, retry.write_queues, retry.permission) == (1, 1, 6)
    assert "P" in stage.broker.producers.groups
    assert [(e.client_id, e.kind, e.model) for e in stage.events(MemberJoined)] == [
        ("c1", "CONSUME_PASSIVELY", "CLUSTERING")
    ]


def test_everyone_hears_of_a_new_member_the_new_one_too(stage: Stage) -> None:
    first, second = stage.client(), stage.client()
    first.heartbeat("c1", "g", "orders")
    assert reported(first) == 1
    second.heartbeat("c2", "g", "orders")
    assert (reported(first), reported(second)) == (1, 1)
    notice = stage.events(MembersNotified)[-1]
    assert (notice.members, notice.why) == (("c1", "c2"), "member")


def test_a_notice_is_one_way_and_names_the_group(stage: Stage) -> None:
    client = stage.client()
    client.heartbeat("c1", "g", "orders")
    [notice] = client.requests
    assert notice.is_oneway
    assert notice.ext == {"consumerGroup": "g"}


def test_a_heartbeat_that_says_nothing_new_notifies_no_one(stage: Stage) -> None:
    client = stage.client()
    client.heartbeat("c1", "g", "orders")
    reported(client)
    client.heartbeat("c1", "g", "orders")
    assert reported(client) == 0


@pytest.mark.seed("1.3", "D14")
def test_a_newer_version_of_a_subscription_replaces_it_and_notifies_no_one(stage: Stage) -> None:
    client = stage.client()
    client.heartbeat("c1", "g", "orders", expression="A", version=5)
    reported(client)
    client.heartbeat("c1", "g", "orders", expression="B", version=6)
    client.heartbeat("c1", "g", "orders", expression="C", version=4)
    assert reported(client) == 0
    assert stage.broker.consumers.groups["g"].subscriptions["orders"].sub_string == "B"
    changes = [(e.expression, e.replaced) for e in stage.events(SubscriptionChanged)]
    assert changes == [("A", None), ("B", "A")]


def test_another_set_of_topics_is_announced(stage: Stage) -> None:
    client = stage.client()
    client.heartbeat("c1", "g", "orders")
    reported(client)
    client.heartbeat("c1", "g", "orders", "payments")
    assert reported(client) == 1
    client.heartbeat("c1", "g", "payments")
    assert reported(client) == 1
    assert list(stage.broker.consumers.groups["g"].subscriptions) == ["payments"]
    assert stage.events(MembersNotified)[-1].why == "topics"


def test_the_last_heartbeat_decides_model_and_start(stage: Stage) -> None:
    client = stage.client()
    client.heartbeat("c1", "g", "orders")
    client.heartbeat("c1", "g", "orders", model="BROADCASTING")
    assert stage.broker.consumers.groups["g"].model == "BROADCASTING"


def test_a_group_that_wants_no_notices_gets_none(stage: Stage) -> None:
    stage.broker.subscription_groups.find("g")
    stage.broker.subscription_groups.change("g", notify_ids_changed=False)
    client = stage.client()
    client.heartbeat("c1", "g", "orders")
    assert reported(client) == 0


def test_who_unregisters_is_gone_and_the_others_are_notified(stage: Stage) -> None:
    first, second = stage.client(), stage.client()
    first.heartbeat("c1", "g", "orders")
    second.heartbeat("c2", "g", "orders")
    reported(first)
    ext = {"clientID": "c2", "consumerGroup": "g", "producerGroup": ""}
    answer = second.call(RequestCode.UNREGISTER_CLIENT, ext)
    assert (answer.code, answer.ext) == (0, {})
    assert reported(first) == 1
    assert members(first) == ["c1"]
    assert [(e.client_id, e.reason) for e in stage.events(MemberLeft)] == [("c2", "unregistered")]


def test_unregistering_from_a_group_no_one_knows_is_ignored(stage: Stage) -> None:
    answer = stage.client().call(RequestCode.UNREGISTER_CLIENT, {"clientID": "c2", "consumerGroup": "nobody"})
    assert answer.code == 0


def test_a_closed_connection_leaves_at_once(stage: Stage) -> None:
    first, second = stage.client(), stage.client()
    first.heartbeat("c1", "g", "orders")
    second.heartbeat("c2", "g", "orders")
    reported(first)
    second.close()
    assert reported(first) == 1
    assert members(first) == ["c1"]
    assert [(e.client_id, e.reason) for e in stage.events(MemberLeft)] == [("c2", "closed")]
    assert [(e.client_id, e.reason) for e in stage.events(ClientDisconnected)] == [("c2", "closed")]


def test_with_the_last_member_the_subscriptions_go(stage: Stage) -> None:
    client = stage.client()
    client.heartbeat("c1", "g", "orders")
    client.close()
    assert stage.broker.consumers.groups == {}
    assert stage.broker.producers.groups == {}
    answer = stage.client().call(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "g"})
    assert (answer.code, answer.remark) == (1, "no consumer for this group, g")


def test_a_connection_silent_for_two_minutes_is_closed_with_notice(stage: Stage) -> None:
    hung, alive = stage.client(), stage.client()
    hung.heartbeat("c1", "g", "orders")
    alive.heartbeat("c2", "g", "orders")  # its notice is the last the hung one was sent
    for _ in range(5):
        stage.pass_s(20)
        alive.heartbeat("c2", "g", "orders")
    stage.pass_s(19.9)
    reported(alive)
    assert members(alive) == ["c1", "c2"]
    stage.pass_s(0.2)
    assert hung.closed
    assert members(alive) == ["c2"]
    assert reported(alive) == 1


def test_a_client_that_only_pulls_is_dropped_by_the_scan_without_notice(stage: Stage) -> None:
    lazy, alive = stage.client(), stage.client()
    lazy.heartbeat("c1", "g", "orders")
    alive.heartbeat("c2", "g", "orders")
    for _ in range(12):
        stage.pass_s(10)
        lazy.pull("g", "orders", 0)
        alive.heartbeat("c2", "g", "orders")
    reported(alive)
    stage.pass_s(10)
    assert members(alive) == ["c2"]
    assert lazy.closed
    assert reported(alive) == 0
    assert [(e.client_id, e.reason) for e in stage.events(MemberLeft)] == [("c1", "expired")]


def test_the_journal_reports_who_connected(stage: Stage) -> None:
    client = stage.client()
    client.heartbeat("c1", "g", "orders", client_version=395)
    client.heartbeat("c1", "g", "orders", client_version=395)
    [connected] = stage.events(ClientConnected)
    assert (connected.client_id, connected.language, connected.version) == ("c1", "JAVA", 395)
    assert connected.address.startswith("127.0.0.1:")


def test_a_heartbeat_of_a_cpp_client_with_numbers_is_understood(stage: Stage) -> None:
    body = (
        b'{"clientID":"9-10.0.0.1@DEFAULT","consumerDataSet":[{"consumeFromWhere":4,"consumeType":1,'
        b'"groupName":"g","messageModel":1,"subscriptionDataSet":[{"codeSet":["0"],"subString":"A",'
        b'"subVersion":"17","tagsSet":["A"],"topic":"orders"}]}],"producerDataSet":[]}'
    )
    client = stage.client()
    assert client.call(RequestCode.HEART_BEAT, None, body, version=63).code == 0
    group = stage.broker.consumers.groups["g"]
    assert (group.consume_type, group.model, group.from_where) == (
        "CONSUME_PASSIVELY",
        "CLUSTERING",
        "CONSUME_FROM_FIRST_OFFSET",
    )


def test_requests_to_a_client_go_out_in_the_type_it_last_used(stage: Stage) -> None:
    client = stage.client()
    body = HeartbeatData("c1", (), (ConsumerData("g"),)).encode()
    client.post(RequestCode.HEART_BEAT, None, body, serialize_type=1)
    stage.settle()
    assert [c.serialize_type for c in client.requests] == [1]


def test_one_client_cannot_have_any_number_of_groups(stage: Stage) -> None:
    body = HeartbeatData("c1", (), tuple(ConsumerData(f"g{n}") for n in range(257))).encode()
    assert stage.client().call(RequestCode.HEART_BEAT, None, body).code == 1
    assert stage.broker.consumers.groups == {}


def test_a_group_too_many_is_not_registered() -> None:
    stage = Stage(limits=BrokerLimits(groups=1))
    client = stage.client()
    client.heartbeat("c1", "one", "orders")
    client.heartbeat("c1", "two", "orders")
    assert list(stage.broker.consumers.groups) == ["one"]
    assert client.send("%RETRY%two").code == 26
    assert client.send("%DLQ%two").code == 26
