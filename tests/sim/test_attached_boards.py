"""A real cluster behind the pages: what admin codes report is drawn, the rest is unknown."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.attached.member_says import MemberSays
from sandbox.control.limits import AttachedLimits
from sandbox.control.readings import Refusal
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import retry_topic
from sandbox.remoting.codes import RequestCode
from sandbox.simulation.world import World
from tests.sim.attached_stage import SLUG, CountingBell, Office


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """No one sends any more, everything is consumed, every offset is where it stays.  For tests that only look."""
    with World(tmp_path_factory.mktemp("calm"), "orders") as made:
        made.run(20)
        made.act("StopActor", actor="shop")
        made.run(15)
        office = Office(made)
        office.attach()
        yield office


def masters(world: World) -> dict[str, Any]:
    return {node.name: node.running for node in world.cluster.nodes.masters()}


def test_the_first_look_finds_every_node(calm: Office) -> None:
    office, world = calm, calm.world
    snapshot = office.snapshot()
    assert snapshot["sandbox"]["state"] == "live"
    assert snapshot["sandbox"]["template"] == "attached"
    assert snapshot["sandbox"]["trouble"] is None
    [server] = snapshot["name_servers"]
    assert (server["name"], server["state"], server["address"]) == ("ns-1", "running", office.name_servers[0])
    nodes = {node.name: node.record.address for node in world.cluster.nodes.brokers}
    assert {row["broker"]: row["address"] for row in snapshot["brokers"]} == nodes
    assert {row["state"] for row in snapshot["brokers"]} == {"running"}


def test_a_broker_reports_its_version_and_the_ends_of_its_log(calm: Office) -> None:
    office, world = calm, calm.world
    rows = {row["broker"]: row for row in office.snapshot()["brokers"]}
    for name, broker in masters(world).items():
        assert rows[name]["version"] == "4.9.8"
        assert rows[name]["log"]["max"] == str(broker.store.max_physical_offset)
        assert rows[name]["log"]["flushed"] is None  # no code reports it
        assert rows[name]["flush"] is None


def test_topics_have_the_ends_of_their_queues(calm: Office) -> None:
    office, world = calm, calm.world
    [orders] = [topic for topic in office.snapshot()["topics"] if topic["topic"] == "orders"]
    stores = {name: broker.store for name, broker in masters(world).items()}
    assert {(row["broker"], row["queue_id"]): row["max"] for row in orders["queues"]} == {
        (name, number): str(store.max_offset("orders", number)) for name, store in stores.items() for number in range(4)
    }


def test_a_queues_rate_is_unknown_until_it_was_seen_twice(office: Office, world: World) -> None:
    def rates() -> list[float | None]:
        return [
            queue["rate_per_s"]
            for topic in office.snapshot()["topics"]
            if topic["topic"] == "orders"
            for queue in topic["queues"]
        ]

    assert set(rates()) == {None}
    world.run(25)
    assert sum(rate for rate in rates() if rate is not None) == pytest.approx(6, abs=0.6)


def test_committed_offsets_are_the_brokers_own(calm: Office) -> None:
    office, world = calm, calm.world
    queues = {(row["broker"], row["queue_id"]): row["committed"] for row in office.group("order-svc")["queues"]}
    kept = {
        (name, number): broker.consumer_offsets.get("order-svc", "orders", number)
        for name, broker in masters(world).items()
        for number in range(4)
    }
    assert queues == {place: str(offset) for place, offset in kept.items()}
    assert len(queues) == 8


def test_a_group_that_never_committed_has_no_offset_there(office: Office, world: World) -> None:
    """208 and 14 call that 0; the table of all offsets (43) does not."""
    world.act("CreateTopic", topic="fresh", write_queues=2, read_queues=2)
    world.act("StartConsumer", group="newcomer", subscriptions=[{"topic": "fresh"}])
    world.run(25)  # two slow rounds find the topic, the group, and its members
    rows = office.read("board/newcomer/fresh")["queues"]
    assert {row["max"] for row in rows.values()} == {"0"}
    known = {
        mq.row: broker.consumer_offsets.get("newcomer", "fresh", mq.queue_id)
        for name, broker in masters(world).items()
        for mq in (MessageQueue("fresh", name, 0), MessageQueue("fresh", name, 1))
    }
    assert {key: row["committed"] for key, row in rows.items()} == {
        key: None if offset is None else str(offset) for key, offset in known.items()
    }


def test_members_say_which_queues_they_hold(calm: Office) -> None:
    office, world = calm, calm.world
    board = office.read("board/order-svc/orders")
    holders = {
        mq.row: actor.client_id
        for actor in world.cluster.actors.consumers("order-svc")
        for mq in actor.consumer.process_queues
        if mq.topic == "orders"
    }
    assert {key: row["owner"] for key, row in board["queues"].items()} == holders
    assert {key: row["assigned"] for key, row in board["queues"].items()} == holders
    members = board["members"]
    assert {member["transport"] for member in members.values()} == {"tcp"}
    assert {member["kind"] for member in members.values()} == {"push"}
    assert sum(member["queues"] for member in members.values()) == 8
    assert board["header"]["listener"] == "concurrent"


def test_what_only_members_and_brokers_know_is_unknown(calm: Office) -> None:
    board = calm.read("board/order-svc/orders")
    for row in board["queues"].values():
        for field in ("next_pull", "oldest", "oldest_stored_ms", "flow_control", "held_until_ms", "cells"):
            assert row[field] is None
    for field in ("e2e_p50_ms", "e2e_p99_ms", "redelivered_on_crash", "delivered_again", "oldest_since_ms"):
        assert board["header"][field] is None


def test_a_stuck_message_shows_as_offsets_held_in_memory(office: Office, world: World) -> None:
    world.act("StopActor", actor="shop")
    world.act("ChangeActor", actor="A", work_ms=[600_000, 600_000])
    world.act("SendMessages", topic="orders", count=40)
    world.run(10)
    rows = office.read("board/order-svc/orders")["queues"]
    client = world.cluster.actors.get("A")
    for mq, pq in client.consumer.process_queues.items():
        if mq.topic == "orders" and pq.count:
            cached = rows[mq.row]["cached"]
            first, _, last = pq.ends()[0][0], None, pq.ends()[0][1]
            assert (cached["count"], cached["min"], cached["max"]) == (pq.count, str(first), str(last))
            assert rows[mq.row]["cells_from"] == str(first)
    assert any(row["cached"] for row in rows.values())


def test_dead_letters_and_retries_are_counted(tmp_path: Path) -> None:
    with World(tmp_path, "retries") as world:
        world.run(60)
        office = Office(world)
        office.attach()
        office.read(f"board/order-svc/{retry_topic('order-svc')}")
        counts = office.group("order-svc")["counts"]
        expected = world.snapshot()["groups"][0]["counts"]
        assert counts["dead_letters"] == expected["dead_letters"]
        assert abs(counts["retrying"] - expected["retrying"]) <= 3
        assert counts["delivered_again"] is None


def test_locks_are_known_from_their_holders(tmp_path: Path) -> None:
    with World(tmp_path, "payments") as world:
        world.run(30)
        office = Office(world)
        office.attach()
        locks = office.read("locks/payment-fifo")
        own = world.read("locks/payment-fifo").data["queues"]
        assert locks["lives"]["assumed"] is True
        for key, row in own.items():
            lock = locks["queues"][key]["lock"]
            assert lock["holder"] == row["lock"]["holder"]
            assert lock["trusted_until_ms"] == pytest.approx(row["lock"]["trusted_until_ms"], abs=20_000)
            assert lock["known_by"] == "holder"
            assert lock["granted_at_ms"] is None
        assert locks["attempts"] == {}
        assert locks["told"]["waiting"] is None


def test_broadcasting_members_show_their_own_offsets(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        world.act("CreateTopic", topic="news", write_queues=2, read_queues=2)
        world.act("StartConsumer", group="everybody", subscriptions=[{"topic": "news"}], model="BROADCASTING", copies=2)
        world.act("SendMessages", topic="news", count=10)
        world.run(20)
        office = Office(world)
        office.attach()
        board = office.read("board/everybody/news")
        assert board["header"]["model"] == "BROADCASTING"
        clients = {actor.client_id for actor in world.cluster.actors.consumers("everybody")}
        assert {key.partition("@")[2] for key in board["queues"]} == clients
        assert {row["committed"] for row in board["queues"].values()} == {"5"}


def test_the_topology_has_who_is_connected_where(calm: Office) -> None:
    office, world = calm, calm.world
    drawn = office.read("topology")
    assert set(drawn["brokers"]) == {"broker-a", "broker-b"}
    clients = {actor.client_id for actor in world.cluster.actors.consumers("order-svc")}
    assert clients <= set(drawn["clients"])
    for client_id in clients:
        assert drawn["links"][f"{client_id}~broker-a"]["kind"] == "data"
    assert drawn["links"]["broker-a~ns-1"]["kind"] == "register"
    assert drawn["views"]["ns-1~broker-b"] == {"last_update_ms": None, "known_as": "broker-b"}


def test_a_slave_is_there_and_its_master_reports_the_rest(tmp_path: Path) -> None:
    with World(tmp_path, "cluster") as world:
        world.run(40)
        office = Office(world)
        office.attach()
        rows = {(row["broker"], row["broker_id"]): row for row in office.snapshot()["brokers"]}
        assert {place: row["role"] for place, row in rows.items()} == {
            ("broker-a", 0): "master",
            ("broker-a", 1): "slave",
            ("broker-b", 0): "master",
        }
        assert rows["broker-a", 1]["state"] == "running"
        assert office.read("topology")["links"]["broker-a.1~broker-a"]["kind"] == "replica"


def test_the_computed_assignment_is_held_against_what_members_hold(office: Office, world: World) -> None:
    drawn = office.read("rebalance/order-svc")
    assert {row["trouble"] for row in drawn["queues"].values()} == {None}
    assert all(row["due"] == list(row["held"]) for row in drawn["queues"].values())
    world.act("HangActor", actor="C")
    world.act("CreateTopic", topic="orders-2", write_queues=1, read_queues=1)
    gone = world.cluster.actors.get("B").client_id
    world.act("CrashActor", actor="B")
    world.run(3)
    after = office.read("rebalance/order-svc")
    assert gone not in after["members"]
    no_one = [key for key, row in after["queues"].items() if row["due"] and row["due"] != list(row["held"])]
    assert no_one  # C hangs and takes nothing over, and what it should hold, no one does


def test_the_pages_of_sandboxes_only_are_unknown(calm: Office) -> None:
    for kind, rest in (
        ("store", ["broker-a"]),
        ("index", ["broker-a"]),
        ("wire", []),
        ("connect", []),
        ("client", ["x"]),
        ("board", ["nobody", "orders"]),
        ("board", ["order-svc", "nothing"]),
    ):
        assert calm.clusters.read(SLUG, kind, rest) == Refusal("unknown")


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Office]:
    """A cluster without traffic, so that minutes pass quickly."""
    with World(tmp_path) as made:
        made.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
        made.run(2)
        office = Office(made)
        office.attach()
        yield office


def test_nothing_is_asked_while_no_one_looks(empty: Office) -> None:
    office, world = empty, empty.world
    world.run(70)
    office.asked.clear()
    world.run(300)
    assert office.asked == []
    office.snapshot()
    world.run(1)
    assert office.asked


def test_a_watched_cluster_is_asked_on_and_rings(empty: Office) -> None:
    office, world, bell = empty, empty.world, CountingBell()
    office.clusters.get(SLUG).subscribe(bell)
    world.run(120)
    office.asked.clear()
    rung = bell.rung
    world.run(30)
    assert bell.rung > rung
    assert {code for _, code in office.asked} >= {RequestCode.GET_BROKER_CLUSTER_INFO, RequestCode.GET_TOPIC_STATS_INFO}


def test_a_round_is_spread_out(office: Office, world: World) -> None:
    office.clusters.get(SLUG).subscribe(CountingBell())
    world.run(15)
    office.asked.clear()
    counts: list[int] = []
    for _ in range(20):
        world.run(0.5)
        counts.append(sum(code == RequestCode.GET_TOPIC_STATS_INFO for _, code in office.asked))
    assert counts[-1] == 4  # two topics on two brokers
    assert max(after - before for before, after in zip([0, *counts], counts, strict=False)) <= 2


def test_what_is_polled_in_one_round_is_limited_and_all_are_reached(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        for number in range(12):
            world.act("CreateTopic", topic=f"t-{number:02}", write_queues=1, read_queues=1)
        world.run(2)
        office = Office(world, limits=AttachedLimits(topics_per_round=5))
        office.attach()
        first = [code for _, code in office.asked if code == RequestCode.GET_TOPIC_STATS_INFO]
        assert len(first) == 5

        def known() -> int:
            return sum(queue["max"] is not None for topic in office.snapshot()["topics"] for queue in topic["queues"])

        assert known() == 5
        world.run(16)  # the second round begins after ten seconds and is spread over five
        assert known() == 10
        world.run(10)
        assert known() == 12


def test_beyond_a_limit_topics_are_named_and_not_shown(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        for number in range(6):
            world.act("CreateTopic", topic=f"t-{number}", write_queues=1, read_queues=1)
        world.run(2)
        office = Office(world, limits=AttachedLimits(topics=4))
        office.attach()
        snapshot = office.snapshot()
        assert len(snapshot["topics"]) == 4
        assert "4 of 6 topics are shown" in snapshot["sandbox"]["trouble"]


def test_the_same_settings_attach_once_and_others_anew(office: Office) -> None:
    epoch = office.snapshot()["epoch"]
    asked = len(office.asked)
    office.attach()
    assert (office.snapshot()["epoch"], len(office.asked)) == (epoch, asked)
    office.attach(access_key="key", secret_key="secret")
    assert office.snapshot()["epoch"] != epoch
    assert "secret" not in repr(office.cluster.settings)


def test_a_concurrent_group_has_no_locks_whatever_its_members_say(office: Office, world: World) -> None:
    """RocketMQ's own client begins every queue with `locked` set."""
    for actor in world.cluster.actors.consumers("order-svc"):
        for pq in actor.consumer.process_queues.values():
            pq.locked = True
    board = office.read("board/order-svc/orders")
    assert all(held.locked for _, held in office.cluster.picture.held_by("order-svc").values())
    assert {row["lock"] for row in board["queues"].values()} == {None}
    assert {row["lock"] for row in office.read("locks/order-svc")["queues"].values()} == {None}
    assert {row["lock"] for row in office.read("rebalance/order-svc")["queues"].values()} == {None}
    assert "locked_by" not in {
        note["code"]
        for row in office.ask("plan-reset", group="order-svc", topic="orders", target="latest")["rows"]
        for note in row["notes"]
    }


def test_a_limit_of_one_queue_stands_beside_the_fullest_one(office: Office, world: World) -> None:
    world.act("ChangeActor", actor="A", work_ms=[600_000, 600_000])
    world.act("SendMessages", topic="orders", count=160)
    world.run(10)
    board = office.read("board/order-svc/orders")
    client = world.cluster.actors.get("A")
    row = board["members"][client.client_id]
    counts = [
        int(queue["cached"]["count"])
        for queue in board["queues"].values()
        if queue["owner"] == client.client_id and queue["cached"]
    ]
    assert (row["fullest"], row["buffered"]) == (max(counts), sum(counts))
    assert row["fullest"] < row["buffered"]
    for snapshot in world.snapshot(), office.snapshot():
        group = next(group for group in snapshot["groups"] if group["group"] == "order-svc")
        [said] = [member for member in group["members"] if member["client_id"] == client.client_id]
        assert (said["fullest"], said["buffered"]) == (max(counts), sum(counts))


def test_a_go_member_has_no_pool_of_threads() -> None:
    assert MemberSays({"PROP_THREADPOOL_CORE_SIZE": "-1"}, {}, 0).threads is None
    assert MemberSays({"PROP_THREADPOOL_CORE_SIZE": "20"}, {}, 0).threads == 20
