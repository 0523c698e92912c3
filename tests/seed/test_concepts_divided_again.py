"""Triggers of a rebalance when brokers and links fail: the route, the timer, a member's silence.

Brokers notify of members and topics only (see `test_concepts_routes`), so a broker that comes or goes is found by the
route and then by the next rebalance.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.client.push_consumer import PushConsumer
from sandbox.journal.events import MemberLeft, QueuesAssigned, RouteLearned
from sandbox.remoting.codes import RequestCode
from sandbox.simulation.world import World
from tests.seed.stage import WireLog

GROUP = "order-svc"
NOTICE = RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
ROUTE_MS, REBALANCE_MS = 30_000, 20_000


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[World]:
    """Two brokers with four queues each, three members that share them."""
    with World(tmp_path, "orders", seed=2) as made:
        made.act("StopActor", actor="shop")
        made.run(40)
        assert held(made) == {f"{broker}:{n}" for broker in ("broker-a", "broker-b") for n in range(4)}
        yield made


def members(world: World) -> list[PushConsumer]:
    found = [actor.consumer for actor in world.cluster.actors.consumers(GROUP) if actor.consumer is not None]
    return [consumer for consumer in found if isinstance(consumer, PushConsumer)]


def held(world: World, *labels: str) -> set[str]:
    """Queues of orders that members have process queues for."""
    chosen = [world.cluster.actors.get(label).consumer for label in labels] if labels else members(world)
    return {
        mq.row
        for consumer in chosen
        if isinstance(consumer, PushConsumer)
        for mq in consumer.process_queues
        if mq.topic == "orders"
    }


def rounds_since(world: World, since: int) -> list[tuple[int, str, str]]:
    """When, by whom and why the queues of orders were divided anew."""
    return [
        (entry.at_ms, world.cluster.label_of(entry.event.client_id), entry.event.trigger)
        for entry in world.entries(QueuesAssigned, since=since)
        if entry.event.topic == "orders"
    ]


def routes_since(world: World, since: int) -> dict[str, int]:
    """When each member learned the first other route of orders."""
    found: dict[str, int] = {}
    for entry in world.entries(RouteLearned, since=since):
        if entry.event.topic == "orders":
            found.setdefault(world.cluster.label_of(entry.event.client_id), entry.at_ms)
    return found


def assert_by_route_then_timer(world: World, since: int, known_ms: int) -> None:
    """From `known_ms`, when name servers knew: each member polled its route within 30 s, divided within 20 s more."""
    routes, rounds = routes_since(world, since), rounds_since(world, since)
    assert sorted(routes) == ["A", "B", "C"]
    assert sorted(who for _, who, _ in rounds) == ["A", "B", "C"], "once each"
    assert {trigger for _, _, trigger in rounds} == {"timer"}
    for at_ms, who, _ in rounds:
        assert known_ms <= routes[who] <= known_ms + ROUTE_MS
        assert routes[who] <= at_ms <= routes[who] + REBALANCE_MS


@pytest.mark.seed("3.38", "4.5", "D25")
@pytest.mark.parametrize("wait_s", [0, 38, 67])
def test_a_dead_broker_s_queues_leave_by_the_route_without_a_notification(pair: World, wait_s: float) -> None:
    """However the broker's death falls among the polls and rounds of its readers."""
    pair.run(wait_s)
    wire = WireLog(pair)
    since = pair.act("KillBroker", broker="broker-b")
    killed_ms = pair.cluster.clock.now_ms()
    pair.run(1)
    assert "broker-b:0" in held(pair), "still theirs, though nobody can read them"
    pair.run(ROUTE_MS / 1000 + REBALANCE_MS / 1000)
    assert held(pair) == {f"broker-a:{n}" for n in range(4)}
    assert wire.requests(NOTICE) == []
    assert_by_route_then_timer(pair, since, killed_ms)


@pytest.mark.seed("3.38", "4.5", "D25")
def test_a_broker_that_is_back_gives_its_queues_by_the_route(pair: World) -> None:
    pair.act("KillBroker", broker="broker-b")
    pair.run(60)
    since = pair.act("StartBroker", broker="broker-b")
    started_ms = pair.cluster.clock.now_ms()
    pair.run(1)
    assert held(pair) == {f"broker-a:{n}" for n in range(4)}
    pair.run(60)
    assert len(held(pair)) == 8
    routes = routes_since(pair, since)
    assert sorted(routes) == ["A", "B", "C"]
    for who, at_ms in routes.items():
        assert started_ms <= at_ms <= started_ms + ROUTE_MS
        assert not [round_ms for round_ms, whose, _ in rounds_since(pair, since) if whose == who and round_ms < at_ms]


@pytest.mark.seed("3.38", "4.5", "D25")
def test_a_broker_cut_from_the_name_server_loses_its_readers_when_it_is_forgotten(pair: World) -> None:
    """Its readers could go on: nothing is wrong between them and it."""
    wire = WireLog(pair)
    server = pair.cluster.nodes.name_servers[0]
    since = pair.act("CutLink", a="ns-1", b="broker-b")
    pair.run(90)
    assert len(held(pair)) == 8, "not before two minutes of silence"

    def known() -> set[str]:
        assert server.name_server is not None
        return {live.broker for live in server.name_server.route_info.live.values()}

    pair.run_until(lambda: "broker-b" not in known(), within_s=60, step_s=0.1)
    forgotten_ms = pair.cluster.clock.now_ms()
    pair.run(ROUTE_MS / 1000 + REBALANCE_MS / 1000)
    assert held(pair) == {f"broker-a:{n}" for n in range(4)}
    assert wire.requests(NOTICE) == []
    assert_by_route_then_timer(pair, since, forgotten_ms - 100)


@pytest.mark.seed("3.38", "4.5")
def test_a_member_cut_from_its_broker_keeps_its_queues_until_it_has_been_silent_for_two_minutes(tmp_path: Path) -> None:
    """An expired member is found by the timer without a notification; a closed idle connection is announced."""
    with World(tmp_path, "payments", seed=2) as world:
        world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], copies=3)
        world.act("CreateTopic", topic="orders", write_queues=6, read_queues=6)
        labels = [actor.label for actor in world.cluster.actors.consumers(GROUP)]
        *others, cut = labels
        world.run(60)
        mine = held(world, cut)
        assert len(mine) == 2
        wire = WireLog(world)
        since = world.act("CutLink", a=cut, b="broker-a")
        cut_ms = world.cluster.clock.now_ms()
        world.run(80)
        assert not held(world, *others) & mine
        took_s = world.run_until(lambda: held(world, *others) >= mine, within_s=80, step_s=0.1)
        [left] = [entry for entry in world.entries(MemberLeft, since=since) if entry.event.group == GROUP]
        assert cut_ms + 90_000 <= left.at_ms <= cut_ms + 130_000, "120 s after its last heartbeat, scanned every 10 s"
        why = {"expired": "timer", "closed": "notified"}[left.event.reason]
        assert {trigger for _, who, trigger in rounds_since(world, since) if who in others} == {why}
        assert bool(wire.requests(NOTICE)) == (why == "notified")
        assert cut_ms + 80_000 + took_s * 1_000 <= left.at_ms + REBALANCE_MS + 100
        assert held(world, cut) == mine, "who hears nothing keeps what it has"
        world.act("HealLink", a=cut, b="broker-a")
        world.run(60)
        assert held(world, cut) == mine
        assert not held(world, *others) & mine
