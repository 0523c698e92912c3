"""The Topology page: nodes, connections, and each name server's state of each broker."""

from typing import Any

import orjson
import pytest

from sandbox.remoting.codes import RequestCode
from sandbox.simulation.world import World
from tests.beginnings import world_of
from tests.seed.stage import WireLog, application

world = world_of("cluster", seconds=40)


def read(world: World) -> dict[str, Any]:
    return dict(world.read("topology").data)


def ends(world: World, kind: str) -> set[tuple[str, str]]:
    return {(row["a"], row["b"]) for row in read(world)["links"].values() if row["kind"] == kind}


@pytest.mark.seed("3.2")
def test_every_role_is_there_and_connected_with_those_it_needs(world: World) -> None:
    data = read(world)
    assert {name: row["state"] for name, row in data["name_servers"].items()} == {"ns-1": "running", "ns-2": "running"}
    assert {name: row["role"] for name, row in data["brokers"].items()} == {
        "broker-a": "master",
        "broker-a.1": "slave",
        "broker-b": "master",
    }
    assert {name: row["kind"] for name, row in data["clients"].items()} == {
        **dict.fromkeys("ABCDE", "consumer"),
        "shop": "producer",
    }
    assert ends(world, "register") == {(broker, server) for broker in data["brokers"] for server in ("ns-1", "ns-2")}
    assert ends(world, "route") == {(name, row["name_server"]) for name, row in data["clients"].items()}, "one each"
    consumers = {(label, broker) for label in "ABCDE" for broker in data["brokers"]}
    assert ends(world, "data") == {("shop", "broker-a"), ("shop", "broker-b")} | consumers, "slaves take no messages"
    assert ends(world, "replica") == {("broker-a.1", "broker-a")}
    slave = data["links"]["broker-a.1~broker-a"]
    assert (slave["connections"], slave["logs"]) == (2, 1), "one for the log, one for the tables"


def test_everything_is_plain_and_a_hidden_tab_may_fetch_it_whole(world: World) -> None:
    assert len(orjson.dumps(read(world))) < 16_384


def test_the_links_are_those_of_the_network(world: World) -> None:
    counted = sum(row["connections"] for row in read(world)["links"].values())
    assert counted == len(world.cluster.network.connections())


def test_a_name_server_hears_of_a_broker_every_thirty_seconds(world: World) -> None:
    wire = WireLog(world)
    before = read(world)["views"]
    assert len(before) == 6
    world.run(30)
    after = read(world)["views"]
    for key, row in after.items():
        assert row["last_update_ms"] - before[key]["last_update_ms"] == 30_000
        heard = [frame.at_ms for frame in wire.requests(RequestCode.REGISTER_BROKER)]
        assert row["last_update_ms"] in heard, "the moment of a frame, no reckoned one"
    assert read(world)["lives"] == {"expiry_ms": 120_000, "scan_ms": 10_000, "register_ms": 30_000}


def test_the_next_scan_is_known_beforehand(world: World) -> None:
    planned_ms = read(world)["name_servers"]["ns-1"]["next_scan_ms"]
    now_ms = world.cluster.clock.now_ms()
    assert 0 < planned_ms - now_ms <= 10_000
    world.run((planned_ms - now_ms) / 1000 + 0.1)
    assert read(world)["name_servers"]["ns-1"]["next_scan_ms"] == planned_ms + 10_000


@pytest.mark.seed("3.6")
def test_a_hung_broker_is_believed_in_for_two_minutes_and_at_most_one_scan(world: World) -> None:
    world.act("HangBroker", broker="broker-b")
    assert read(world)["brokers"]["broker-b"]["state"] == "hung"
    last_ms = {name: read(world)["views"][f"{name}~broker-b"]["last_update_ms"] for name in ("ns-1", "ns-2")}
    reported_ms: dict[str, int] = {}
    gone_ms: dict[str, int] = {}

    def is_forgotten() -> bool:
        data, now_ms = read(world), world.cluster.clock.now_ms()
        for name, server in data["name_servers"].items():
            if data["views"][f"{name}~broker-b"]["last_update_ms"] is not None:
                reported_ms[name] = server["next_scan_ms"]
            else:
                gone_ms.setdefault(name, now_ms)
        return len(gone_ms) == 2

    world.run_until(is_forgotten, within_s=135)
    for name, at_ms in gone_ms.items():
        assert 120_000 < at_ms - last_ms[name] <= 130_250
        assert 0 <= at_ms - reported_ms[name] <= 250, "at the scan that was told beforehand"
    assert read(world)["views"]["ns-1~broker-a"]["last_update_ms"] is not None


def test_a_link_cut_one_way_says_which_way_and_one_without_a_connection_stays(world: World) -> None:
    server = read(world)["clients"]["A"]["name_server"]
    world.act("CutLink", a="ns-2", b="broker-b", one_way=True)
    world.act("DelayLink", a="A", b="broker-a", delay_ms=700)
    links = read(world)["links"]
    cut, slow = links["broker-b~ns-2"], links["A~broker-a"]
    assert (cut["there_cut"], cut["back_cut"]) == (False, True), "from the broker to the name server bytes still pass"
    assert (slow["there_ms"], slow["back_ms"], slow["there_cut"]) == (700, 700, False)
    other = "ns-1" if server == "ns-2" else "ns-2"
    world.act("CutLink", a=other, b="A")
    row = read(world)["links"][f"A~{other}"]
    assert (row["connections"], row["there_cut"], row["back_cut"], row["kind"]) == (0, True, True, "route")
    world.act("HealLink", a="A", b=other)
    assert f"A~{other}" not in read(world)["links"]


def test_heartbeats_are_those_a_broker_heard(world: World) -> None:
    def heard() -> int:
        return int(read(world)["links"]["A~broker-b"]["heard_ms"])

    first_ms, rounds = heard(), read(world)["clients"]["A"]["heartbeat_runs"]
    world.run(30)
    assert heard() - first_ms == 30_000
    assert read(world)["clients"]["A"]["heartbeat_runs"] == rounds + 1
    world.act("CutLink", a="A", b="broker-b", one_way=True)
    last_ms = heard()
    world.run(35)
    assert heard() == last_ms, "it spoke, and nobody heard it"


def test_a_wrong_clock_of_a_broker_shifts_no_heartbeat(world: World) -> None:
    world.act("SkewClock", broker="broker-b", skew_ms=3_600_000)
    world.run(31)
    data = read(world)
    assert 0 <= world.cluster.clock.now_ms() - data["links"]["A~broker-b"]["heard_ms"] <= 31_000
    assert data["brokers"]["broker-b"]["skew_ms"] == 3_600_000


def test_rounds_of_a_silent_client_do_not_change(world: World) -> None:
    world.act("HangActor", actor="A")
    before = read(world)["clients"]["A"]
    world.run(65)
    after = read(world)["clients"]["A"]
    assert after["state"] == "hung"
    assert (after["route_runs"], after["heartbeat_runs"]) == (before["route_runs"], before["heartbeat_runs"])


def test_a_slave_is_behind_by_what_its_master_has_not_been_answered(world: World) -> None:
    assert (read(world)["brokers"]["broker-a.1"]["replica"], read(world)["brokers"]["broker-a"]["replica"]) == (
        "connected",
        None,
    )
    world.act("CutLink", a="broker-a", b="broker-a.1")
    world.run(5)
    data = read(world)
    behind = int(data["brokers"]["broker-a"]["max"]) - int(data["brokers"]["broker-a"]["replicated"])
    assert behind > 0
    assert int(data["brokers"]["broker-a.1"]["behind"]) == behind
    world.act("KillBroker", broker="broker-a")
    dead = read(world)["brokers"]["broker-a"]
    assert (dead["state"], dead["max"], dead["locks"], dead["disk"]) == ("killed", None, None, None), "not reported"


def test_a_broker_counts_the_locks_that_hold(world: World) -> None:
    locks = {name: row["locks"] for name, row in read(world)["brokers"].items()}
    assert locks == {"broker-a": 5, "broker-b": 5, "broker-a.1": 0}, "four queues and the retry queue"
    for label in "DE":
        world.act("CrashActor", actor=label)
    world.run(61)
    assert read(world)["brokers"]["broker-a"]["locks"] == 0, "run out, though nobody has asked"


def test_consumers_of_one_process_are_one_node(world: World) -> None:
    world.act("StartConsumer", actor="A2", group="audit", subscriptions=[["orders", "*"]], instance="A")
    world.run(3)
    data = read(world)
    assert "A2" not in data["clients"]
    assert [(row["label"], row["group"]) for row in data["clients"]["A"]["members"]] == [
        ("A", "order-svc"),
        ("A2", "audit"),
    ]


def test_a_name_server_that_is_down_has_no_opinion(world: World) -> None:
    world.act("StopNameServer", name_server="ns-2")
    data = read(world)
    assert {key.partition("~")[0] for key in data["views"]} == {"ns-1"}
    assert data["name_servers"]["ns-2"]["next_scan_ms"] is None
    world.act("StartNameServer", name_server="ns-2")
    assert [row["last_update_ms"] for key, row in read(world)["views"].items() if key.startswith("ns-2")] == [None] * 3
    world.run(31)
    assert None not in [row["last_update_ms"] for row in read(world)["views"].values()]


def test_a_promoted_machine_is_known_by_its_former_name_until_it_has_registered(world: World) -> None:
    world.act("KillBroker", broker="broker-a")
    world.act("CutLink", a="broker-a.1", b="ns-2")
    world.act("PromoteSlave", broker="broker-a", broker_id=1)
    world.run(2)
    data = read(world)
    assert data["brokers"]["broker-a"]["state"] == "running"
    assert data["views"]["ns-1~broker-a"]["known_as"] == "broker-a"
    assert data["links"]["broker-a~ns-2"]["there_cut"], "the link goes with the machine"


def test_what_is_sent_by_hand_has_a_node_of_its_own_and_so_has_a_strange_client(world: World) -> None:
    world.act("SendMessages", topic="orders", count=1)

    async def learn() -> None:
        instance = application(world, "app", ip="10.0.8.1")
        await instance.name_servers.learn_route("orders")

    world.environment.sim.run(learn())
    world.run(1)
    clients = read(world)["clients"]
    assert clients["console"]["kind"] == "producer"
    assert clients["10.0.8.1"]["kind"] == "wire"
