"""Whatever outsiders name, a broker and a name server remember only so much of it."""

import json
from collections.abc import Callable

import pytest

from sandbox.broker import (
    broker_to_client,
    config_files,
    consumer_offsets,
    consumers,
    producers,
    pull_hold,
    pulls,
    rebalance_lock,
)
from sandbox.broker.config import BrokerLimits
from sandbox.broker.processors.send import MAX_BATCH_MESSAGES
from sandbox.broker.subscription_groups import MAX_SYSTEM_GROUPS
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import MAX_GROUP_LENGTH
from sandbox.namesrv import route_info
from sandbox.remoting import body_limits
from sandbox.remoting.codes import RequestCode
from sandbox.store import index_read
from tests.unit.broker.stage import NAME_SERVER, Stage

Narrow = Callable[..., None]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Narrow:
    """Limits, made small enough to be met."""

    def put(module: object, **values: float) -> None:
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)

    return put


def beat(client_id: str, *groups: str, producers: int = 0, expression: str = "*") -> bytes:
    rows = [
        {
            "groupName": group,
            "subscriptionDataSet": [
                {"topic": "orders", "subString": expression, "subVersion": 1, "tagsSet": expression.split("||")}
            ],
        }
        for group in groups
    ]
    made = [{"groupName": f"{client_id}-{n}"} for n in range(producers)]
    return json.dumps({"clientID": client_id, "producerDataSet": made, "consumerDataSet": rows}).encode()


def test_queues_someone_commits_for_are_counted_over_all_groups(stage: Stage, narrow: Narrow) -> None:
    narrow(consumer_offsets, MAX_OFFSETS=10)
    client, table = stage.client(), stage.broker.consumer_offsets
    for n in range(30):
        ext = {"consumerGroup": f"g{n % 3}", "topic": "orders", "queueId": str(n), "commitOffset": "7"}
        assert client.call(RequestCode.UPDATE_CONSUMER_OFFSET, ext).code == 0
    assert table.entries() == 10
    table.commit("g0", "orders", 0, 99, "admin")
    assert table.get("g0", "orders", 0) == 99, "what is known goes on"
    table.remove_group("g0")
    table.commit("g7", "orders", 1, 5, "admin")
    assert table.get("g7", "orders", 1) == 5, "there is room again"


def test_a_row_of_an_endless_name_is_none(stage: Stage) -> None:
    stage.broker.consumer_offsets.commit("g" * 60_000, "orders", 0, 1, "admin")
    assert stage.broker.consumer_offsets.table == {}


def test_a_group_has_a_name_of_some_length(stage: Stage) -> None:
    name, client = "g" * (MAX_GROUP_LENGTH + 1), stage.client()
    assert client.pull(name, "orders", 0).code == 26
    assert client.call(RequestCode.HEART_BEAT, None, beat("c", name)).code == 0
    body = json.dumps({"groupName": name}).encode()
    answer = client.call(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body)
    assert answer.code == 1
    assert answer.remark == f"a group's name has at most {MAX_GROUP_LENGTH} characters, not {len(name)}"
    assert name not in stage.broker.subscription_groups.table
    assert name not in stage.broker.consumers.groups


def test_groups_an_administrator_makes_count_as_those_that_make_themselves() -> None:
    stage = Stage(limits=BrokerLimits(groups=3))
    client = stage.client()
    codes = [
        client.call(
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, json.dumps({"groupName": f"g{n % 5}"}).encode()
        ).code
        for n in range(10)
    ]
    assert codes == [0, 0, 0, 1, 1] * 2, "those that are there can be changed"


def test_names_like_those_of_the_system_are_no_way_around_a_limit() -> None:
    stage = Stage(limits=BrokerLimits(topics=2, groups=3))
    client = stage.client()
    for n in range(MAX_SYSTEM_GROUPS + 20):
        client.pull(f"CID_RMQ_SYS_{n}", "TBW102", 0)
    made = [name for name in stage.broker.subscription_groups.table if name.startswith("CID_RMQ_SYS_")]
    assert len(made) == MAX_SYSTEM_GROUPS
    assert [client.send(f"rmq_sys_{n}").code for n in range(4)] == [0, 0, 17, 17]
    ext = {"readQueueNums": "1", "writeQueueNums": "1", "perm": "6"}
    codes = [client.call(RequestCode.UPDATE_AND_CREATE_TOPIC, {**ext, "topic": f"%RETRY%{n}"}).code for n in range(100)]
    assert codes == [0] * 70 + [1] * 30, "two for each group, and 64"


def test_a_connection_produces_in_so_many_groups_in_however_many_heartbeats(stage: Stage, narrow: Narrow) -> None:
    narrow(producers, MAX_GROUPS_PER_CHANNEL=10)
    client, other = stage.client(), stage.client()
    for n in range(5):
        client.call(RequestCode.HEART_BEAT, None, beat(f"c{n}", producers=4))
    other.call(RequestCode.HEART_BEAT, None, beat("other", producers=4))
    assert len(stage.broker.producers.groups) == 14
    client.close()
    assert len(stage.broker.producers.groups) == 4


def test_groups_subscribe_to_so_much_together(stage: Stage, narrow: Narrow) -> None:
    narrow(consumers, MAX_SUBSCRIPTION_BYTES=180_000)
    client = stage.client()
    much = "||".join(f"tag{n}" for n in range(400))
    codes = [client.call(RequestCode.HEART_BEAT, None, beat("c", f"g{n}", expression=much)).code for n in range(4)]
    assert codes == [0, 0, 1, 1]
    assert client.call(RequestCode.HEART_BEAT, None, beat("c", "g0", expression=much)).code == 0, "it wants nothing new"
    client.close()
    again = stage.client()
    assert again.call(RequestCode.HEART_BEAT, None, beat("c", "g3", expression=much)).code == 0


def test_hashes_without_tags_weigh_as_much(stage: Stage, narrow: Narrow) -> None:
    narrow(consumers, MAX_SUBSCRIPTION_BYTES=180_000)
    client = stage.client()
    rows = [
        [
            {
                "groupName": f"g{n}",
                "subscriptionDataSet": [
                    {"topic": "orders", "subString": "A", "subVersion": 1, "tagsSet": [], "codeSet": [*range(1_000)]}
                ],
            }
        ]
        for n in range(3)
    ]
    bodies = [json.dumps({"clientID": "c", "producerDataSet": [], "consumerDataSet": row}).encode() for row in rows]
    assert [client.call(RequestCode.HEART_BEAT, None, body).code for body in bodies] == [0, 1, 1]


def test_so_many_pulls_wait_and_no_body_waits_with_them(stage: Stage, narrow: Narrow) -> None:
    narrow(pull_hold, MAX_HELD_BYTES=4 * pull_hold.PULL_BYTES)
    client = stage.client()
    ext = client.pull_ext("g", "orders", 0, flags=6, patience_ms=2**62)
    waiting = [client.post(RequestCode.PULL_MESSAGE, ext, bytes(60_000)) for _ in range(6)]
    stage.settle()
    assert [client.answers[opaque].code for opaque in waiting if opaque in client.answers] == [19] * 3
    assert len(stage.broker.hold.held) == 3
    client.close()
    assert stage.broker.hold.held == []
    other = stage.client()
    assert other.park("g", "orders", 0) not in other.answers, "there is room again"
    other.send("orders")
    assert other.park("g", "orders", 1) not in other.answers


def test_parked_pulls_weigh_what_they_want_once_for_all_that_want_the_same(stage: Stage, narrow: Narrow) -> None:
    narrow(pull_hold, MAX_HELD_BYTES=1024 * 1024)
    client, held = stage.client(), stage.broker.hold
    for n in range(4):
        client.heartbeat("c", "g", "orders", expression="||".join(f"{n}-{tag}" for tag in range(2_000)), version=n)
        client.park("g", "orders", 0, flags=0, subscription=None)
    assert len(held.held) == 2, "each keeps the filter of its time"
    assert all(client.park("g", "orders", 0, subscription="0-7") not in client.answers for _ in range(20))
    client.send("orders", properties="TAGS\x010-7")
    assert len(held.held) == 1
    client.park("g", "orders", 0, flags=0, subscription=None, queue=1)
    assert len(held.held) == 2, "there is room again"


def test_the_last_pulls_of_so_many_queues_are_known(stage: Stage, narrow: Narrow) -> None:
    narrow(pulls, MAX_STATES=3)
    for n in range(5):
        stage.client().pull(f"g{n}", "orders", 0)
    known = [n for n in range(5) if stage.broker.pulls.get(f"g{n}", MessageQueue("orders", "broker-a", 0))]
    assert known == [2, 3, 4]


def test_locks_of_so_many_groups_are_kept_and_expired_ones_give_way(stage: Stage, narrow: Narrow) -> None:
    narrow(rebalance_lock, MAX_GROUPS=3)
    locks, queue = stage.broker.locks, MessageQueue("orders", "broker-a", 0)
    assert [len(locks.try_lock_batch(f"g{n}", "c", [queue])) for n in range(5)] == [1, 1, 1, 0, 0]
    stage.pass_s(61)
    assert locks.try_lock_batch("g9", "c", [queue]) == [queue]
    assert list(locks.table) == ["g9"]


def test_bodies_passed_on_to_clients_take_so_much_memory(stage: Stage, narrow: Narrow) -> None:
    narrow(broker_to_client, MAX_CALL_BYTES=10_000)
    asker, replier = stage.client(), stage.client()
    asker.call(RequestCode.HEART_BEAT, None, beat("asker", producers=1))
    properties = "MSG_TYPE\x01reply\x02REPLY_TO_CLIENT\x01asker"
    ext = {"a": "P", "b": "orders", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "0", "h": "0", "i": properties}
    posted = [replier.post(RequestCode.SEND_REPLY_MESSAGE_V2, ext, bytes(4_000)) for _ in range(3)]
    stage.settle()
    assert [replier.answers[opaque].code for opaque in posted if opaque in replier.answers] == [1], "the third"
    stage.pass_s(11)
    assert len(replier.answers) == 3
    stage.settle()
    assert replier.post(RequestCode.SEND_REPLY_MESSAGE_V2, ext, bytes(9_000)) not in replier.answers


def test_a_long_table_that_changes_again_and_again_is_not_written_each_time(stage: Stage, narrow: Narrow) -> None:
    narrow(config_files, SPARE_ROWS=100, ROWS_PER_S=20)
    client = stage.client()
    stage.broker._files._spare_rows = 100.0
    for n in range(40):
        client.send(f"topic{n}")

    def written() -> int:
        table = stage.broker.store.config_file("topics").read()["topicConfigTable"]
        return sum(name.startswith("topic") for name in table)

    assert 2 < written() < 20
    stage.pass_s(30)
    assert written() == 40, "the last change comes in its turn"
    for n in range(40, 60):
        client.send(f"topic{n}")
    assert written() < 60
    stage.stop_broker()
    assert written() == 60, "and at the latest when the broker ends"


def test_a_killed_broker_writes_nothing_late(stage: Stage, narrow: Narrow) -> None:
    narrow(config_files, SPARE_ROWS=1, ROWS_PER_S=1)
    client = stage.client()
    for n in range(10):
        client.send(f"topic{n}")
    stage.stop_broker(kill=True)
    before = stage.disk.read("config/topics.json")
    stage.pass_s(1_000)
    assert stage.disk.read("config/topics.json") == before


LONG = {  # bodies that take longest to read
    "a long heartbeat": (RequestCode.HEART_BEAT, json.dumps({"clientID": "c", "x": "y" * 600_000}).encode()),
    "a loose map": (RequestCode.HEART_BEAT, b"{" + b",".join(b"%d:0" % n for n in range(20_000)) + b"}"),
    "settings": (RequestCode.UPDATE_BROKER_CONFIG, b"x=1\n" * 200_000),
    "locks": (RequestCode.LOCK_BATCH_MQ, json.dumps({"mqSet": [{}] * 200_000}).encode()),
}


@pytest.mark.parametrize("what", LONG)
def test_a_body_that_takes_long_to_read_is_not_read(stage: Stage, what: str) -> None:
    code, body = LONG[what]
    answer = stage.client().call(code, None, body)
    assert answer.code == 1
    assert (answer.remark or "").startswith(f"a body of {len(body)} bytes")
    assert len(body) > body_limits.MAX_LOOSE_BYTES


def test_a_batch_of_a_million_messages_is_not_counted_to_its_end(stage: Stage) -> None:
    item = (22).to_bytes(4, "big") + bytes(18)
    ext = {
        "a": "P",
        "b": "orders",
        "c": "TBW102",
        "d": "4",
        "e": "0",
        "f": "0",
        "g": "0",
        "h": "0",
        "i": "",
        "m": "true",
    }
    answer = stage.client().call(RequestCode.SEND_BATCH_MESSAGE, ext, item * 700_000 + b"no item")
    assert (answer.code, answer.remark) == (13, f"a batch holds at most {MAX_BATCH_MESSAGES} messages")


def test_an_answer_to_a_query_fits_into_a_frame(stage: Stage, narrow: Narrow) -> None:
    narrow(index_read, MAX_QUERY_BYTES=100_000)
    client = stage.client()
    for _ in range(5):
        client.send("orders", bytes(40_000), properties="KEYS\x01same")
    ext = {"topic": "orders", "key": "same", "maxNum": "64", "beginTimestamp": "0", "endTimestamp": str(2**62)}
    found = client.call(RequestCode.QUERY_MESSAGE, ext)
    assert (found.code, len(found.body or b"") // 40_000) == (0, 2)


def test_a_name_server_knows_so_many_brokers_clusters_and_topics(narrow: Narrow) -> None:
    narrow(route_info, MAX_ADDRESSES=4, MAX_ROUTES=20)
    stage = Stage()
    routes, client = stage.name_server.route_info, stage.client(address=NAME_SERVER)
    before = sum(map(len, routes.topic_queues.values()))
    narrow(route_info, MAX_ADDRESSES=4, MAX_ROUTES=before + 5)

    def register(broker: str, address: str, cluster: str, *topics: str) -> int:
        ext = {
            "brokerName": broker,
            "brokerAddr": address,
            "clusterName": cluster,
            "brokerId": "0",
            "haServerAddr": "10.0.0.1:1",
        }
        table = {name: {"topicName": name} for name in topics}
        wrapper = {"topicConfigTable": table, "dataVersion": {"counter": 1, "timestamp": 1}}
        body = json.dumps({"topicConfigSerializeWrapper": wrapper}).encode()
        return client.call(RequestCode.REGISTER_BROKER, ext, body).code

    assert [register(f"b{n}", f"10.0.0.1:{n}", "c", f"t{n}") for n in range(5)] == [0, 0, 0, 1, 1]
    assert register("another", "10.0.0.1:0", "c") == 1, "nor one by the address of another"
    assert [register("b0", "10.0.0.1:0", f"c{n}") for n in range(4)] == [0, 0, 1, 1]
    assert register("x" * 300, "10.0.0.1:0", "c") == 1
    assert register("b1", "10.0.0.1:1", "c", *(f"more{n}" for n in range(9)), "n" * 300) == 0
    assert sum(map(len, routes.topic_queues.values())) <= before + 5
    client.close()
    assert len(routes.live) == 1, "they go with their connection"
    assert routes._routes == sum(map(len, routes.topic_queues.values()))


def test_who_says_goodbye_under_a_wrong_name_leaves_no_room_taken(narrow: Narrow) -> None:
    narrow(route_info, MAX_ADDRESSES=3)
    stage = Stage()
    routes, client = stage.name_server.route_info, stage.client(address=NAME_SERVER)
    header = {"brokerAddr": "10.0.0.1:1", "clusterName": "c", "brokerId": "0", "haServerAddr": ""}
    for n in range(8):
        assert client.call(RequestCode.REGISTER_BROKER, {**header, "brokerName": f"b{n}"}).code == 0
        assert client.call(RequestCode.UNREGISTER_BROKER, {**header, "brokerName": "wrong"}).code == 0
    assert len(routes.brokers) <= 3
    assert client.call(RequestCode.REGISTER_BROKER, {**header, "brokerName": "a"}).code == 0
    assert client.call(RequestCode.REGISTER_BROKER, {**header, "brokerName": "z"}).code == 0
    assert "a" not in routes.brokers, "an address is one broker's"
    for name in ("wrong", "z", "z"):
        assert client.call(RequestCode.UNREGISTER_BROKER, {**header, "brokerName": name}).code == 0
    assert "z" not in routes.brokers


def test_a_member_may_be_asked_for_its_status_and_say_too_much(stage: Stage) -> None:
    client, asker = stage.client(), stage.client()
    client.heartbeat("c", "g", "orders")
    ext = {"topic": "orders", "group": "g"}
    opaque = asker.post(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, ext)
    stage.settle()
    asked = client.requests[-1]
    client.channel.send(asked.reply(0, body=b"{" + b"0:0," * 200_000 + b"0:0}"))
    stage.settle()
    assert asker.answers[opaque].code == 0
    assert json.loads(asker.answers[opaque].body or b"")["consumerTable"] == {"c": {}}
