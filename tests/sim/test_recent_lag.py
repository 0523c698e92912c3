"""The lag of the last five minutes is there, whether or not anyone looked."""

from pathlib import Path
from typing import Any

from sandbox.simulation.world import World

GROUP = "order-svc"


def stage(home: Path, **member: Any) -> World:
    world = World(home)
    world.act("CreateTopic", topic="orders", write_queues=2, read_queues=2)
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], **({"work_ms": [10, 20]} | member))
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=4)
    return world


def lag_now(world: World, key: str) -> int:
    row = world.read(f"board/{GROUP}/orders").data["queues"][key]
    return int(row["max"]) - int(row["committed"])


def recent(world: World) -> dict[str, Any]:
    return world.ask("recent-lag", group=GROUP, topic="orders")


def test_a_board_opened_late_knows_every_second_of_the_last_five_minutes(tmp_path: Path) -> None:
    with stage(tmp_path) as world:
        world.run(60)
        world.act("HangActor", actor="A")
        world.run(40)
        hung_s = world.cluster.clock.now_ms() // 1000
        lag = {key: lag_now(world, key) for key in ("broker-a:0", "broker-a:1")}
        world.act("ResumeActor", actor="A")
        world.run(250)
        kept = recent(world)
        assert kept["second"] == world.cluster.clock.now_ms() // 1000
        assert set(kept["queues"]) == set(lag)
        for key, values in kept["queues"].items():
            assert len(values) == 300, "five minutes, and no more"
            assert None not in values
            assert abs(values[hung_s - kept["second"] - 1] - lag[key]) <= 4, "at that second the board said the same"
            assert max(values) >= 70
            assert abs(values[-1] - lag_now(world, key)) <= 4


def test_it_is_counted_in_seconds_of_the_sandbox_at_any_rate(tmp_path: Path) -> None:
    with stage(tmp_path) as world:
        world.run(60)
        world.act("SetRate", rate=20)
        world.run(10)
        kept = recent(world)
        assert all(values[-200:].count(None) <= 20 for values in kept["queues"].values())
        assert all(len(values) >= 250 for values in kept["queues"].values())


def test_it_outlives_sleep_and_what_no_one_knows_stays_unknown(tmp_path: Path) -> None:
    with stage(tmp_path) as world:
        world.run(100)
        before = recent(world)
        world.sleep()
        world.wake()
        world.run(2)
        after = recent(world)
        ago = after["second"] - before["second"]
        for key, values in before["queues"].items():
            assert after["queues"][key][:-ago] == values[-(300 - ago) :]
        world.act("KillBroker", broker="broker-a")
        world.run(30)
        assert all(values[-20:] == [None] * 20 for values in recent(world)["queues"].values()), "never 0"


def test_queues_that_are_gone_are_forgotten_after_five_minutes(tmp_path: Path) -> None:
    with stage(tmp_path, model="BROADCASTING") as world:
        world.run(30)
        assert all("@" in key for key in recent(world)["queues"])
        world.act("RemoveActor", actor="A")
        world.run(200)
        assert recent(world)["queues"]
        world.run(200)
        assert recent(world)["queues"] == {}
