"""A real cluster has the findings of a sandbox, as far as its brokers and members report what they need."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sim.attached_stage import Office
from tests.sim.finding_stage import FindingStage

Plant = Callable[[FindingStage], None]


class Both:
    """A sandbox, and the same cluster seen from outside with the board of its group open."""

    def __init__(self, home: Path) -> None:
        self.stage = FindingStage(home)
        self.office: Office | None = None
        self.outside: dict[str, str] = {}

    def attach(self) -> None:
        self.office = Office(self.stage.world)
        self.office.attach()

    def run(self, seconds: float) -> None:
        assert self.office is not None
        for _ in range(round(seconds / 2)):
            self.stage.run(2)
            self.office.glance("board/svc/orders")
            for row in self.office.glance("findings").data["findings"]:
                self.outside.setdefault(row["code"], row["text"])


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    both = Both(tmp_path)
    for label in "AB":
        both.stage.member(label)
    both.stage.producer(5)
    both.stage.run(30)
    both.attach()
    both.run(40)
    yield both
    both.stage.world.close()


def act(*acts: dict[str, Any]) -> Plant:
    def plant(stage: FindingStage) -> None:
        for fields in acts:
            stage.act(**fields)

    return plant


def commit_beyond(stage: FindingStage) -> None:
    stage.act("StopActor", actor="shop")
    for label in "AB":
        stage.act("StopActor", actor=label)
    stage.run(6)
    broker = stage.world.cluster.nodes.masters()[0].running
    broker.consumer_offsets.commit("svc", "orders", 0, 100_000, "admin")


SLOW = [{"action": "ChangeActor", "actor": label, "work_ms": [9_000, 9_000]} for label in "AB"]
PLANTS: dict[str, Plant] = {
    "consumers_too_slow": act(*SLOW, {"action": "ChangeActor", "actor": "shop", "rate_per_s": 20}),
    "more_members_than_queues": act({"action": "StartConsumer", "group": "svc", "copies": 3}),
    "hot_queue": act(
        {"action": "StopActor", "actor": "shop"},
        {
            "action": "StartProducer",
            "actor": "keyed",
            "topic": "orders",
            "rate_per_s": 10,
            "keys": ["whale"] * 5 + ["small"],
            "selector": "hash",
        },
    ),
    "offset_pinned": act(
        *({"action": "ChangeActor", "actor": label, "slow_key": "stuck", "slow_ms": 600_000} for label in "AB"),
        {"action": "SendMessages", "topic": "orders", "count": 1, "key": "stuck"},
    ),
    "broker_down": act({"action": "KillBroker", "broker": "broker-a"}),
    "subscriptions_differ": act(
        {
            "action": "StartConsumer",
            "actor": "C",
            "group": "svc",
            "subscriptions": [{"topic": "orders", "expression": "paid"}],
        }
    ),
    "same_client_id": act(
        {
            "action": "StartConsumer",
            "actor": "C",
            "group": "svc",
            "subscriptions": [{"topic": "orders"}],
            "client_id_of": "A",
        }
    ),
    "permission": act({"action": "ChangeTopic", "topic": "orders", "permission": 4}),
    "beyond_max": commit_beyond,
}


def test_a_healthy_cluster_has_no_finding(both: Both) -> None:
    both.run(120)
    assert both.outside == {}


@pytest.mark.parametrize("code", PLANTS)
def test_a_trouble_is_found_inside_and_outside(both: Both, code: str) -> None:
    PLANTS[code](both.stage)
    both.run(110)
    assert code in [line.code for line in both.stage.opened], "inside"
    assert code in both.outside, f"outside: {both.outside}"


def test_what_members_do_not_report_is_unknown(both: Both) -> None:
    assert both.office is not None
    checks = {row["code"]: row for row in both.office.glance("findings").data["checks"]}
    assert checks["member_hung"]["known"] == 0, "brokers report no heartbeats"
    assert checks["member_hung"]["all"] == 2
    assert checks["offset_pinned"]["known"] == checks["offset_pinned"]["all"]
