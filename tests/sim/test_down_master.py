"""A dead master's queues stay on Board, Locks and in the whole sandbox, as it knew them last, until it is back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.simulation.world import World

BOARD, LOCKS = "board/{group}/orders", "locks/invoice-fifo"
ROUTES_LEARNED_S = 35  # clients ask for routes every 30 s


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[World]:
    """`broker-a` with a slave and `broker-b` without; a concurrent and an orderly group, both behind."""
    with World(tmp_path, "cluster", seed=11) as world:
        for actor in ("A", "D"):
            world.act("ChangeActor", actor=actor, work_ms=[3_000, 6_000])
        world.run(60)
        yield world


def board(world: World, group: str = "order-svc") -> dict[str, Any]:
    data: dict[str, Any] = world.read(BOARD.format(group=group)).data
    return data


def rows_of(data: dict[str, Any], broker: str) -> dict[str, Any]:
    return {key: row for key, row in data["queues"].items() if key.startswith(f"{broker}:")}


def lag(row: dict[str, Any]) -> int:
    return int(row["max"]) - int(row["committed"])


@pytest.mark.parametrize("group", ["order-svc", "invoice-fifo"])
@pytest.mark.parametrize("action", ["KillBroker", "StopBroker", "PowerCut"])
def test_the_board_keeps_the_queues_of_a_dead_master_with_its_last_word(
    cluster: World, action: str, group: str
) -> None:
    before, now_ms = board(cluster, group), cluster.cluster.clock.now_ms()
    cluster.act(action, broker="broker-b")
    after, reads = board(cluster, group), {"order-svc": "nobody", "invoice-fifo": "no_lock"}[group]
    assert list(after["queues"]) == list(before["queues"]), "none has gone"
    for key, row in rows_of(after, "broker-b").items():
        was = before["queues"][key]
        for name in ("min", "max", "committed", "oldest_stored_ms", "owner"):
            assert row[name] == was[name], name
        assert row["down"] == {"known_at_ms": now_ms, "reads": reads, "lag": str(lag(was)), "behind": None}
        assert row["lock"] is None
    assert all(row["down"] is None for row in rows_of(after, "broker-a").values())
    assert after["header"]["lag"] == before["header"]["lag"] != "0"
    assert (after["header"]["queues_known"], after["header"]["queues_all"]) == (4, 8)
    share = sum(lag(row) for row in rows_of(before, "broker-b").values())
    assert after["header"]["lag_last_known"] == str(share)
    assert before["header"]["lag_last_known"] == "0"


def test_a_concurrent_group_reads_a_dead_master_s_queues_from_the_slave(cluster: World) -> None:
    for actor in ("shop", "A", "B", "C"):
        cluster.act("StopActor", actor=actor)
    cluster.act("SendMessages", topic="orders", count=80)
    cluster.run(15)  # the slave has all by now
    before = {key: lag(row) for key, row in rows_of(board(cluster), "broker-a").items()}
    assert sum(before.values()) >= 40
    cluster.act("KillBroker", broker="broker-a")
    cluster.run(ROUTES_LEARNED_S)
    assert {key: row["down"]["reads"] for key, row in rows_of(board(cluster), "broker-a").items()} == dict.fromkeys(
        before, "slave_idle"
    )
    for actor in ("B", "C"):
        cluster.act("RestartActor", actor=actor)
    cluster.run(30)
    rows = rows_of(board(cluster), "broker-a")
    assert {row["down"]["reads"] for row in rows.values()} == {"slave"}
    assert all(row["owner"] == row["assigned"] is not None for row in rows.values())
    assert sum(lag(row) for row in rows.values()) < sum(before.values()), "what the slave was told counts"
    assert all(row["down"]["lag"] == str(lag(row)) for row in rows.values())


def test_an_orderly_group_waits_for_the_master_whether_there_is_a_slave_or_not(cluster: World) -> None:
    cluster.act("KillBroker", broker="broker-a")
    cluster.run(ROUTES_LEARNED_S)
    before = {key: row["down"]["lag"] for key, row in rows_of(board(cluster, "invoice-fifo"), "broker-a").items()}
    cluster.run(60)
    rows = rows_of(board(cluster, "invoice-fifo"), "broker-a")
    assert {row["down"]["reads"] for row in rows.values()} == {"no_lock"}
    assert {key: row["down"]["lag"] for key, row in rows.items()} == before, "nobody commits"
    locks = cluster.read(LOCKS).data
    assert {key: row["lock"] for key, row in rows_of(locks, "broker-a").items()} == dict.fromkeys(rows)
    assert {key: row["down"] for key, row in rows_of(locks, "broker-a").items()} == {
        key: row["down"] for key, row in rows.items()
    }
    assert locks["known"] == {"queues_known": 4, "queues_all": 8, "lag_last_known": str(sum(map(int, before.values())))}


def test_when_the_master_is_back_its_own_word_counts_again(cluster: World) -> None:
    cluster.act("KillBroker", broker="broker-b")
    cluster.run(20)
    cluster.act("StartBroker", broker="broker-b")
    for data in (board(cluster), board(cluster, "invoice-fifo"), cluster.read(LOCKS).data):
        assert all(row["down"] is None for row in data["queues"].values())
    header = board(cluster)["header"]
    assert (header["queues_known"], header["queues_all"]) == (8, 8)


@pytest.mark.parametrize("end", ["kill", "sleep"])
def test_a_server_s_restart_brings_no_dead_broker_back_and_its_last_word_is_kept(cluster: World, end: str) -> None:
    cluster.act("KillBroker", broker="broker-b")
    cluster.run(5)
    before = {group: rows_of(board(cluster, group), "broker-b") for group in ("order-svc", "invoice-fifo")}
    getattr(cluster, end)()
    cluster.wake()
    states = {row["broker"]: row["state"] for row in cluster.snapshot()["brokers"] if row["broker_id"] == 0}
    assert states == {"broker-a": "running", "broker-b": "killed"}
    for group, was in before.items():
        rows = rows_of(board(cluster, group), "broker-b")
        assert {key: row["down"] for key, row in rows.items()} == {key: row["down"] for key, row in was.items()}
        assert [row["max"] for row in rows.values()] == [row["max"] for row in was.values()]
    cluster.act("StartBroker", broker="broker-b")
    assert all(row["down"] is None for row in board(cluster)["queues"].values())


def test_the_whole_sandbox_says_what_the_board_says(cluster: World) -> None:
    cluster.act("KillBroker", broker="broker-b")
    whole = cluster.snapshot()
    [topic] = [row for row in whole["topics"] if row["topic"] == "orders"]
    assert [(row["broker"], row["known_at_ms"] is None) for row in topic["queues"]] == [
        *[("broker-a", True)] * 4,
        *[("broker-b", False)] * 4,
    ]
    for group in ("order-svc", "invoice-fifo"):
        [row] = [row for row in whole["groups"] if row["group"] == group]
        data = board(cluster, group)
        for name in ("lag", "queues_known", "queues_all", "lag_last_known"):
            assert row[name] == data["header"][name], name
        assert [queue["down"] for queue in row["queues"]] == [queue["down"] for queue in data["queues"].values()]


def test_with_the_only_master_dead_the_boards_of_its_groups_stay(tmp_path: Path) -> None:
    with World(tmp_path, "payments", seed=3) as world:
        world.run(30)
        before = world.read("board/payment-fifo/payments").data
        world.act("KillBroker", broker="broker-a")
        world.run(60)
        after = world.read("board/payment-fifo/payments").data
        assert list(after["queues"]) == list(before["queues"])
        assert (after["header"]["queues_known"], after["header"]["queues_all"]) == (0, 8)
        assert len(world.read("locks/payment-fifo").data["queues"]) >= 8
        assert [row["group"] for row in world.snapshot()["groups"]] == ["payment-fifo"]
