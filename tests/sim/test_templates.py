"""Every template builds its stage, and what the page promises of it is there."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.templates import COLLIDING_KEYS, POISON_KEY, TEMPLATES
from sandbox.journal.events import MessageRetried, MessagesConsumed, SendFailed
from sandbox.message.string_hash import index_key_hash
from sandbox.simulation.world import World


@pytest.mark.parametrize("name", [name for name in TEMPLATES if name != "flights"])
def test_a_template_runs_without_failures(tmp_path: Path, name: str) -> None:
    with World(tmp_path, name, seed=2) as world:
        world.run(30)
        assert not world.entries(SendFailed)
        snapshot = world.snapshot()
        states = {member["state"] for group in snapshot["groups"] for member in group["members"]}
        assert states <= {"running"}
        assert {node.node for node in world.cluster.nodes.brokers} == set(TEMPLATES[name].brokers)
        assert {broker["state"] for broker in snapshot["brokers"]} == {"running"}


def test_orders_are_spread_over_two_brokers(tmp_path: Path) -> None:
    with World(tmp_path, "orders", seed=2) as world:
        world.run(30)
        rows = world.read("board/order-svc/orders").data["queues"]
        assert len(rows) == 8
        assert {queue.split(":")[0] for queue in rows} == {"broker-a", "broker-b"}
        assert min(int(row["max"]) for row in rows.values()) > 10
        assert world.read("board/order-svc/orders").data["header"]["in_per_s"] == pytest.approx(6, abs=1)


def test_a_cluster_has_a_slave_that_follows_and_two_name_servers_that_know_the_same(tmp_path: Path) -> None:
    with World(tmp_path, "cluster", seed=2) as world:
        world.run(30)
        snapshot = world.snapshot()
        rows = [(row["broker"], row["broker_id"], row["role"]) for row in snapshot["brokers"]]
        assert rows == [("broker-a", 0, "master"), ("broker-a", 1, "slave"), ("broker-b", 0, "master")]
        master, slave, lonely = snapshot["brokers"]
        assert int(slave["log"]["max"]) > 0
        assert int(master["log"]["replicated"]) <= int(master["log"]["max"])
        assert (slave["log"]["replicated"], lonely["log"]["replicated"]) == (None, None)
        known = [
            [(row["broker"], row["broker_id"]) for row in server["brokers"]] for server in snapshot["name_servers"]
        ]
        assert known == [[("broker-a", 0), ("broker-a", 1), ("broker-b", 0)]] * 2
        [topic] = [topic for topic in snapshot["topics"] if topic["topic"] == "orders"]
        assert sorted((queue["broker"], queue["queue_id"]) for queue in topic["queues"]) == [
            (broker, number) for broker in ("broker-a", "broker-b") for number in range(4)
        ]
        assert {group["group"]: group["listener"] for group in snapshot["groups"]} == {
            "order-svc": "concurrent",
            "invoice-fifo": "orderly",
        }


def test_the_index_template_has_two_keys_of_one_hash(tmp_path: Path) -> None:
    assert len({index_key_hash(f"orders#{key}") for key in COLLIDING_KEYS}) == 1
    with World(tmp_path, "index", seed=2) as world:
        world.run(5)
        files = world.read("index/broker-a").data["files"].values()
        assert sum(file["count"] - 1 for file in files) == 400, "a unique key and a key for each of 200 messages"
        assert {file["slots"] for file in files} == {97}
        walk = world.ask("walk-index", topic="orders", key=COLLIDING_KEYS[0])
        verdicts = [step["verdict"] for file in walk["files"] for step in file["chain"]]
        assert verdicts.count("match") == 5
        assert verdicts.count("other_key") == 5, "the collision is rejected by the real key"
        assert {message["keys"] for message in walk["found"]} == {COLLIDING_KEYS[0]}
        nothing = world.ask("walk-index", topic="orders", key="nobody")
        assert nothing["found"] == []
        assert nothing["ended"]["code"] in ("slot_empty", "only_other_hashes")


def test_retries_retry_and_the_poison_never_succeeds(tmp_path: Path) -> None:
    with World(tmp_path, "retries", seed=2) as world:
        world.run(120)
        assert len(world.entries(MessageRetried)) > 20
        outcomes: dict[str, set[str]] = {}
        for entry in world.entries(MessagesConsumed):
            for key in entry.event.keys:
                outcomes.setdefault(key, set()).add(entry.event.outcome)
        assert "SUCCESS" not in outcomes[POISON_KEY]
        assert sum("SUCCESS" in seen for seen in outcomes.values()) > 300


def test_the_poison_reaches_the_dead_letters_when_time_runs(tmp_path: Path) -> None:
    with World(tmp_path, "retries", seed=2) as world:
        world.act("ChangeActor", actor="shop", rate_per_s=0)
        world.act("SetRate", rate=60)
        world.run(310)

        def counts() -> dict[str, Any]:
            return next(g["counts"] for g in world.snapshot()["groups"] if g["group"] == "order-svc")

        assert counts()["dead_letters"] == 1
        assert counts()["retrying"] == 0
