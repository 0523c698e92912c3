"""Two processes of the sandbox with one client id, as copied containers have (case C11): what they read and commit."""

from collections import Counter
from typing import Any

import pytest

from sandbox.journal.events import MessagesConsumed, QueueLocked
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.world import World
from tests.beginnings import world_with

GROUP, TOPIC = "clerks", "orders"
world = world_with({TOPIC: 4, "mails": 1}, seconds=1)


def start(world: World, actor: str, **fields: Any) -> None:
    world.act(
        "StartConsumer",
        actor=actor,
        group=GROUP,
        subscriptions=[[TOPIC, "*"]],
        work_ms=[10, 10],
        from_where="CONSUME_FROM_FIRST_OFFSET",
        **fields,
    )


def two(world: World, **fields: Any) -> None:
    start(world, "A", **fields)
    world.run(5)
    start(world, "B", client_id_of="A", **fields)
    world.run(45)


def queues(world: World, label: str) -> list[int]:
    consumer = world.cluster.actors.by_label[label].consumer  # type: ignore[union-attr]
    return sorted(mq.queue_id for mq in consumer.process_queues if mq.topic == TOPIC) if consumer else []


def known(world: World) -> list[str]:
    [broker] = world.cluster.nodes.masters()
    group = broker.running.consumers.groups.get(GROUP)
    return [] if group is None else group.client_ids()


def committed(world: World) -> list[int | None]:
    [broker] = world.cluster.nodes.masters()
    return [broker.running.consumer_offsets.get(GROUP, TOPIC, queue) for queue in range(4)]


def times_consumed(world: World) -> Counter[tuple[int, int]]:
    """(queue, offset) → how often a listener accepted it."""
    return Counter(
        (entry.event.queue_id, offset)
        for entry in world.entries()
        if isinstance(entry.event, MessagesConsumed)
        for offset in entry.event.offsets
    )


def send(world: World, count: int = 8) -> None:
    world.act("SendMessages", topic=TOPIC, count=count)
    world.run(15)


def test_both_take_the_first_half_and_each_of_its_messages_is_consumed_twice(world: World) -> None:
    two(world)
    a, b = (world.cluster.actors.by_label[label] for label in "AB")
    assert a.client_id == b.client_id
    assert a.instance is not b.instance
    assert a.slot != b.slot
    assert known(world) == [a.client_id] * 2, "38 has it twice"
    send(world)
    assert (queues(world, "A"), queues(world, "B")) == ([0, 1], [0, 1])
    assert times_consumed(world) == {(queue, offset): 2 for queue in (0, 1) for offset in (0, 1)}
    assert committed(world)[:2] == [2, 2]
    assert world.cluster.actors.group_stats[GROUP].again_by_cause == {"shared_client_id": 4}


def test_a_member_with_its_own_id_in_place_of_the_copy_reads_the_other_half(world: World) -> None:
    two(world)
    send(world)
    world.act("StopActor", actor="B")
    world.run(1)
    assert known(world) == [world.cluster.actors.by_label["A"].client_id], "its connection alone is unregistered"
    start(world, "C")
    world.run(60)
    assert sorted(queues(world, "A") + queues(world, "C")) == [0, 1, 2, 3]
    assert committed(world) == [2, 2, 2, 2]
    assert len(times_consumed(world)) == 8


@pytest.mark.parametrize("victim", ["A", "B"])
def test_of_two_one_crashes_and_the_other_goes_on(world: World, victim: str) -> None:
    two(world)
    other = "B" if victim == "A" else "A"
    world.act("CrashActor", actor=victim)
    world.run(30)
    assert known(world) == [world.cluster.actors.by_label[other].client_id]
    send(world)
    assert queues(world, other) == [0, 1, 2, 3]
    assert committed(world) == [2, 2, 2, 2]
    assert set(times_consumed(world).values()) == {1}


def test_orderly_members_share_the_locks_of_their_id(world: World) -> None:
    two(world, listener="orderly")
    send(world)
    assert (queues(world, "A"), queues(world, "B")) == ([0, 1], [0, 1])
    assert not [entry for entry in world.entries() if type(entry.event).__name__ == "LockDenied"]
    grants = {entry.event.client_id for entry in world.entries() if isinstance(entry.event, QueueLocked)}
    assert grants == {world.cluster.actors.by_label["A"].client_id}
    assert times_consumed(world) == {(queue, offset): 2 for queue in (0, 1) for offset in (0, 1)}


def test_the_clean_stop_of_an_orderly_copy_takes_the_locks_of_its_original(world: World) -> None:
    two(world, listener="orderly")
    [broker] = world.cluster.nodes.masters()
    held = [entry for mq, entry in broker.running.locks.table[GROUP].items() if mq.topic == TOPIC]
    assert len(held) == 2
    world.act("StopActor", actor="B")
    world.run(1)
    left = broker.running.locks.table.get(GROUP, {})
    assert not [mq for mq in left if mq.topic == TOPIC and mq.queue_id < 2], "42 names a client id, not a connection"
    world.run(45)
    assert sum(mq.topic == TOPIC for mq in broker.running.locks.table[GROUP]) == 4, "A asks for them again"


def test_after_sleep_both_have_one_id_again(world: World) -> None:
    two(world)
    world.sleep()
    world.wake()
    world.run(45)
    assert len(set(known(world))) == 1
    assert len(known(world)) == 2
    assert (queues(world, "A"), queues(world, "B")) == ([0, 1], [0, 1])


def test_a_copy_starts_again_with_the_id_that_its_original_has_then(world: World) -> None:
    two(world)
    by_label = world.cluster.actors.by_label
    world.act("RestartActor", actor="A")
    world.run(5)
    assert by_label["A"].client_id != by_label["B"].client_id, "a new process, a new id"
    world.act("RestartActor", actor="B")
    world.run(5)
    assert by_label["A"].client_id == by_label["B"].client_id
    world.act("RemoveActor", actor="A")
    before = by_label["B"].client_id
    world.act("RestartActor", actor="B")
    world.run(5)
    assert by_label["B"].client_id == before == known(world)[0], "its copied configuration stays"


def test_a_member_like_the_newest_one_has_an_id_of_its_own(world: World) -> None:
    two(world)
    world.act("StartConsumer", group=GROUP)
    world.run(45)
    ids = [actor.client_id for actor in world.cluster.actors.consumers(GROUP)]
    assert len(ids) == 3
    assert len(set(ids)) == 2
    assert len(known(world)) == 3


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"client_id_of": "Z"}, "Actor Z does not exist."),
        ({"client_id_of": "P"}, "P is not a member of clerks."),
        ({"client_id_of": "M"}, "M is not a member of clerks."),
        (
            {"client_id_of": "A", "instance": "A"},
            "shares the process of another member, or has its own process with that client ID",
        ),
        ({"client_id_of": "A", "kind": "pull"}, "have clients with different IDs"),
        ({"client_id_of": "A", "model": "BROADCASTING"}, "read all queues, regardless of their client IDs"),
        ({"client_id_of": "10.9.9.9@app"}, "10.9.9.9@app connected over a real network"),
    ],
)
def test_an_id_that_cannot_be_taken_is_refused_with_the_reason(
    world: World, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], says: str
) -> None:
    start(world, "A")
    world.act("StartProducer", actor="P", topic=TOPIC, rate_per_s=0)
    world.act("StartConsumer", actor="M", group="mailers", subscriptions=[["mails", "*"]])
    monkeypatch.setattr(world.cluster.actors, "is_wire_client", lambda client: client == "10.9.9.9@app")
    with pytest.raises(ActionRefused, match=says) as refused:
        start(world, "B", **fields)
    assert refused.value.field == "client_id_of"


def test_an_actor_that_never_started_has_no_id_to_take(world: World) -> None:
    start(world, "A")
    world.cluster.actors.by_label["A"].client_id = ""
    with pytest.raises(ActionRefused, match="A has no client yet"):
        start(world, "B", client_id_of="A")
