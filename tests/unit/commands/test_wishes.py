"""Whatever is asked for either happens or is refused with a sentence: nothing is silently ignored."""

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.cluster.actors.listener import Slow
from sandbox.journal.events import ActionTaken
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.world import World

GROUP = "order-svc"
ORDERS = [["orders", "*"]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One for all: a refused action leaves nothing behind."""
    with World(tmp_path_factory.mktemp("home")) as made:
        made.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        made.act("StartConsumer", actor="A", group=GROUP, subscriptions=ORDERS)
        made.act("StartConsumer", actor="W", group="watchers", subscriptions=ORDERS, model="BROADCASTING")
        made.act("StartConsumer", actor="L", group="pullers", subscriptions=ORDERS, kind="lite_pull")
        made.act("StartProducer", actor="shop", topic="orders", rate_per_s=1)
        made.act("StartProducer", actor="gates", topic="orders", feed="flights", speed=0)
        made.run(1)
        yield made


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("StartConsumer", {"group": "g", "subscriptions": ORDERS, "kind": "pull", "threads": 4}, "threads"),
    ("StartConsumer", {"group": "g", "subscriptions": ORDERS, "kind": "lite_pull", "fail_percent": 5}, "fail_percent"),
    ("StartConsumer", {"group": "g", "subscriptions": ORDERS, "timestamp": 1}, "timestamp"),
    (
        "StartConsumer",
        {"group": "g", "subscriptions": ORDERS, "from_where": "CONSUME_FROM_TIMESTAMP", "timestamp": -1},
        "timestamp",
    ),
    ("StartConsumer", {"group": "g", "subscriptions": ORDERS, "strategy": "CONFIG"}, "strategy"),
    ("StartConsumer", {"group": "g", "subscriptions": ORDERS, "strategy": "MACHINE_ROOM"}, "strategy"),
    ("StartConsumer", {"group": "g", "subscriptions": [["orders", "||"]]}, "subscriptions"),
    ("StartConsumer", {"group": "g", "subscriptions": [["orders", "*"], ["orders", "b"]]}, "subscriptions"),
    ("StartConsumer", {"group": "g", "subscriptions": ORDERS, "work_ms": [1, 2, 3]}, "work_ms"),
    (
        "StartConsumer",
        {"group": "g", "subscriptions": ORDERS, "model": "BROADCASTING", "strategy": "AVG_BY_CIRCLE"},
        "strategy",
    ),
    ("StartConsumer", {"group": "g", "subscriptions": ORDERS, "model": "BROADCASTING", "room": "east"}, "room"),
    ("StartProducer", {"topic": "orders", "transactional": True, "selector": "hash"}, "selector"),
    (
        "StartProducer",
        {"topic": "orders", "transactional": True, "selector": "queue", "queue": "broker-a:1"},
        "selector",
    ),
    ("ChangeActor", {"actor": "shop", "fail_percent": 5}, "fail_percent"),
    ("ChangeActor", {"actor": "shop", "handler": "undecided"}, "handler"),
    ("StartProducer", {"topic": "orders", "selector": "queue"}, "queue"),
    ("StartProducer", {"topic": "orders", "queue": "broker-a:1"}, "queue"),
    ("StartProducer", {"topic": "orders", "selector": "queue", "queue": "third"}, "queue"),
    ("StartProducer", {"topic": "orders", "speed": 60}, "speed"),
    ("StartProducer", {"topic": "orders", "feed": "flights", "rate_per_s": 3}, "rate_per_s"),
    ("StartProducer", {"topic": "orders", "feed": "flights", "key": "x"}, "key"),
    ("StartProducer", {"topic": "orders", "feed": "flights", "body_bytes": 1}, "body_bytes"),
    ("StartProducer", {"topic": "orders", "key": "x", "keys": ["a", "b"]}, "keys"),
    ("ChangeActor", {"actor": "A"}, "actor"),
    ("ChangeActor", {"actor": "A", "rate_per_s": 2}, "rate_per_s"),
    ("ChangeActor", {"actor": "A", "slow_ms": 500}, "slow_key"),
    ("ChangeActor", {"actor": "A", "slow_key": "k", "slow_queue": "broker-a:0", "slow_ms": 500}, "slow_queue"),
    *(
        (
            "StartConsumer",
            {"group": "g", "subscriptions": [["orders", "*"]], "from_where": f"CONSUME_FROM_{old}"},
            "from_where",
        )
        for old in ("LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST", "MIN_OFFSET", "MAX_OFFSET")
    ),
    ("ChangeActor", {"actor": "A", "expression": "||"}, "expression"),
    ("ChangeActor", {"actor": "A", "work_ms": [1, 2, 3]}, "work_ms"),
    ("ChangeActor", {"actor": "L", "fail_percent": 5}, "fail_percent"),
    ("ChangeActor", {"actor": "L", "handler": "reject order-7"}, "handler"),
    ("ChangeActor", {"actor": "shop", "speed": 2}, "speed"),
    ("ChangeActor", {"actor": "gates", "rate_per_s": 2}, "rate_per_s"),
    ("SendMessages", {"topic": "orders", "rows": [{"body": "x"}], "count": 3}, "count"),
    ("SendMessages", {"topic": "orders", "rows": [{"body": "x"}], "tag": "vip"}, "tag"),
    ("SendMessages", {"topic": "orders", "body": "x", "body_bytes": 9}, "body_bytes"),
    ("SendMessages", {"topic": "orders", "count": 3, "batch": True, "selector": "hash"}, "selector"),
    ("SendMessages", {"topic": "orders", "queue": "broker-a:1", "selector": "hash"}, "selector"),
    ("SendMessages", {"topic": "orders", "batch": True, "rows": [{"body": "x", "born_ms": 5}]}, "born_ms"),
    ("SendMessages", {"topic": "orders", "rows": [{"body": "x", "born_ms": -5}]}, "born_ms"),
    ("SetStrategy", {"group": GROUP, "strategy": "AVG", "rooms": ["east"]}, "rooms"),
    ("SetStrategy", {"group": GROUP, "strategy": "AVG", "virtual_nodes": 3}, "virtual_nodes"),
    ("SetStrategy", {"group": GROUP, "strategy": "AVG", "queues_by_member": {"A": []}}, "queues_by_member"),
    ("SetStrategy", {"group": GROUP, "strategy": "CONFIG"}, "queues_by_member"),
    (
        "SetStrategy",
        {"group": GROUP, "strategy": "CONFIG", "queues_by_member": {"Z": ["broker-a:0"]}},
        "queues_by_member",
    ),
    (
        "SetStrategy",
        {"group": GROUP, "strategy": "CONFIG", "queues_by_member": {"A": ["broker-a:9"]}},
        "queues_by_member",
    ),
    ("SetStrategy", {"group": GROUP, "strategy": "CONFIG", "queues_by_member": {"A": 7}}, "queues_by_member"),
    ("SetStrategy", {"group": GROUP, "strategy": "MACHINE_ROOM"}, "rooms"),
    ("SetStrategy", {"group": GROUP, "strategy": "MACHINE_ROOM", "rooms": ["east"]}, "rooms"),
    ("SetStrategy", {"group": GROUP, "strategy": "MACHINE_ROOM", "rooms": ["east@broker-z"]}, "rooms"),
    ("SetStrategy", {"group": GROUP, "strategy": "MACHINE_ROOM_NEARBY"}, "rooms"),
    ("SetStrategy", {"group": "watchers", "strategy": "AVG_BY_CIRCLE"}, "group"),
    ("ChangeGroup", {"group": GROUP, "changes": {}}, "changes"),
    ("ChangeGroup", {"group": GROUP, "changes": {"colour": "red"}}, "colour"),
    ("ChangeGroup", {"group": GROUP, "changes": {"consume_enable": "perhaps"}}, "consume_enable"),
    ("ChangeBroker", {"broker": "broker-a", "changes": {}}, "changes"),
    ("ChangeBroker", {"broker": "broker-a", "changes": {"colour": "red"}}, "colour"),
    ("ChangeBroker", {"broker": "broker-a", "changes": {"replication": "SYNC_MASTER"}}, "replication"),
    ("AgeFiles", {"broker": "broker-a", "hours": 0}, "hours"),
]


@pytest.mark.parametrize(("action", "fields", "field"), REFUSED, ids=lambda value: str(value)[:60])
def test_what_cannot_be_done_as_asked_is_refused_with_a_sentence(
    world: World, action: str, fields: dict[str, Any], field: str
) -> None:
    before = len(world.entries(ActionTaken))
    with pytest.raises(ActionRefused) as refusal:
        world.act(action, **fields)
    assert refusal.value.status == 422
    assert refusal.value.field == field
    assert str(refusal.value).endswith("."), "a whole sentence"
    assert refusal.value.hint, "and what to do instead"
    assert len(world.entries(ActionTaken)) == before
    assert len(world.cluster.actors.by_label) == 5


def test_a_group_that_is_not_there_cannot_be_changed(world: World) -> None:
    with pytest.raises(ActionRefused) as refusal:
        world.act("ChangeGroup", group="nobody", changes={"retry_queues": 2})
    assert refusal.value.status == 404


def test_an_empty_key_ends_the_slow_one(world: World) -> None:
    actor = world.cluster.actors.get("A")
    world.act("ChangeActor", actor="A", slow_key="order-7", slow_ms=900)
    assert actor.slow == Slow("order-7", 900)
    world.act("ChangeActor", actor="A", slow_key="")
    assert actor.slow is None


@pytest.mark.parametrize("work_ms", [[7], [7, 9]])
def test_work_takes_one_number_of_ms_or_from_and_to(world: World, work_ms: list[int]) -> None:
    assert world.act("ChangeActor", actor="A", work_ms=work_ms)
