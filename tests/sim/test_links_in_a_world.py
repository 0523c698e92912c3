"""Links that are cut or slowed: bytes vanish or take their time, and no one is notified."""

import json

import pytest

from sandbox.cluster import record as records
from sandbox.journal.events import LinkChanged, MemberLeft, SendFailed
from sandbox.simulation.world import World
from tests.beginnings import world_of
from tests.sim.fault_stage import broker, caused_by, refusal

world = world_of("orders", seconds=40, seed=3)


def first_attempts_failed(world: World) -> set[str]:
    """Brokers that did not answer a first attempt; later ones share the 3 s of the first."""
    return {entry.event.broker for entry in world.entries(SendFailed) if entry.event.attempt == 1}


def test_a_cut_link_says_nothing_and_its_connections_stay(world: World) -> None:
    seq = world.act("CutLink", a="shop", b="broker-a")
    assert caused_by(world, seq) == ["LinkChanged"]
    assert world.snapshot()["links"] == [
        {"a": "broker-a", "b": "shop", "state": "cut", "one_way": False, "delay_ms": 0}
    ]
    connected = len(broker(world).connections)
    before = len(world.entries(SendFailed))
    world.run(2)
    assert len(world.entries(SendFailed)) == before, "a send waits 3 s before it gives up"
    assert len(broker(world).connections) == connected
    world.run(10)
    assert first_attempts_failed(world) == {"broker-a"}
    world.act("HealLink", a="broker-a", b="shop")
    assert world.snapshot()["links"] == []
    world.run(10)
    after = len(world.entries(SendFailed))
    world.run(20)
    assert len(world.entries(SendFailed)) == after


def test_a_one_way_cut_lets_the_other_way_pass(world: World) -> None:
    """Requests arrive and are stored; the producer never hears of it, and sends again."""
    world.act("CutLink", a="broker-a", b="shop", one_way=True)
    [row] = world.snapshot()["links"]
    assert (row["a"], row["b"], row["one_way"]) == ("broker-a", "shop", True)
    before = broker(world).store.max_physical_offset
    world.run(2)
    assert broker(world).store.max_physical_offset > before
    world.run(5)
    assert first_attempts_failed(world) == {"broker-a"}


def test_a_client_cut_off_from_a_broker_is_dropped_after_two_minutes(world: World) -> None:
    """The broker notices by the silence alone."""
    victim = world.cluster.actors.by_label["A"].client_id
    world.act("CutLink", a="A", b="broker-a")
    world.run(100)
    assert not [entry for entry in world.entries(MemberLeft) if entry.event.client_id == victim]
    world.run(50)
    left = [entry.event for entry in world.entries(MemberLeft) if entry.event.client_id == victim]
    assert {(event.broker, event.reason) for event in left} == {("broker-a", "expired")}


def test_a_delayed_link_takes_its_time_each_way(world: World) -> None:
    world.act("StopActor", actor="shop")
    world.run(3)
    world.act("DelayLink", a="console", b="broker-a", delay_ms=400)
    world.run(1)
    store = broker(world).store
    before = store.max_offset("orders", 0)
    world.act("SendMessages", topic="orders", queue="broker-a:0", count=1)
    waited = world.run_until(lambda: store.max_offset("orders", 0) > before, within_s=5, step_s=0.05)
    assert waited == pytest.approx(1.2, abs=0.06), "there and back to connect, there to send"
    [row] = world.snapshot()["links"]
    assert (row["state"], row["delay_ms"]) == ("delayed", 400)
    assert world.entries(LinkChanged)[-1].event == LinkChanged(
        a="console", b="broker-a", state="delayed", one_way=False, delay_ms=400
    )


def test_links_survive_sleep_and_old_sandboxes_have_none(world: World) -> None:
    world.act("CutLink", a="ns-1", b="broker-b", one_way=True)
    world.act("DelayLink", a="A", b="broker-a", delay_ms=50)
    before = world.snapshot()["links"]
    world.sleep()
    world.wake()
    assert world.snapshot()["links"] == before
    assert len(before) == 2


def test_a_sandbox_from_before_there_were_links_is_opened(world: World) -> None:
    world.sleep()
    path = world.sandbox.directory / records.FILE_NAME
    old = json.loads(path.read_text())
    for name in ("links", "skews"):
        del old[name]
    old["nodes"] = [node[:4] for node in old["nodes"]]
    path.write_text(json.dumps(old))
    world.wake()
    assert world.snapshot()["links"] == []
    assert {row["state"] for row in world.snapshot()["brokers"]} == {"running"}


def test_an_actor_takes_its_links_along_when_it_goes(world: World) -> None:
    world.act("CutLink", a="A", b="broker-a")
    world.act("CutLink", a="A", b="ns-1")
    world.act("CutLink", a="B", b="ns-1")
    seq = world.act("RemoveActor", actor="A")
    assert [row["a"] for row in world.snapshot()["links"]] == ["B"]
    assert caused_by(world, seq).count("LinkChanged") == 2


def test_a_link_is_found_by_client_id_and_by_a_client_that_shares_the_process(world: World) -> None:
    world.act("StartConsumer", actor="guest", group="audit", subscriptions=[["orders", "*"]], instance="A")
    world.run(2)
    world.act("CutLink", a="guest", b="broker-a")
    assert world.snapshot()["links"][0]["a"] == "A"
    client_id = world.cluster.actors.by_label["B"].client_id
    world.act("CutLink", a=client_id, b="broker-a")
    assert {row["a"] for row in world.snapshot()["links"]} == {"A", "B"}


def test_a_link_is_cut_once_and_slowed_only_while_it_is_whole(world: World) -> None:
    world.act("CutLink", a="A", b="broker-a", one_way=True)
    assert refusal(world, "CutLink", a="A", b="broker-a", one_way=True).status == 409
    assert refusal(world, "DelayLink", a="A", b="broker-a", delay_ms=5).status == 409
    world.act("CutLink", a="A", b="broker-a")  # the other way, too
    world.act("HealLink", a="A", b="broker-a")
    world.act("DelayLink", a="A", b="broker-a", delay_ms=5)
    assert refusal(world, "DelayLink", a="A", b="broker-a", delay_ms=5).field == "delay_ms"
