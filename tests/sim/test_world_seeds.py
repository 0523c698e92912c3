"""Whatever people do to a sandbox: what a broker promises holds.  Six seeds, and 14 more marked wide; virtual time."""

from pathlib import Path

import pytest

from sandbox.client.consume_orderly import ConsumeMessageOrderlyService
from sandbox.client.producer import Producer
from sandbox.client.results import SendResult
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.journal.events import BrokerStopped, SendFailed
from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue
from sandbox.simulation.world import World
from tests.wide import seeds

SEEDS = seeds(6, 20)
ROUNDS = 5
CONCURRENT, ORDERLY = "order-svc", "order-fifo"
GROUPS = (CONCURRENT, ORDERLY)
BROKERS = ("broker-a", "broker-b")
STEPS = (
    "add",
    "crash",
    "hang",
    "hang",
    "resume",
    "stop",
    "restart",
    "slow",
    "reset",
    "strategy",
    "kill",
    "start",
    "start",
    "burst",
)
LOST_LOCKS_MS = 65_000  # a restarted broker has forgotten its locks; until then two members may trust theirs
SPREAD = [5, 1_500]  # so that later messages are done before earlier ones
HANDED_OVER_S = 20  # after an action: who gives a queue away may still commit for so long
STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")


@pytest.fixture
def acknowledged(monkeypatch: pytest.MonkeyPatch) -> list[SendResult]:
    """Every answer a producer got for a message that was stored."""
    results: list[SendResult] = []
    send = Producer.send

    async def noting(self: Producer, *args: object, **fields: object) -> SendResult:
        result = await send(self, *args, **fields)  # type: ignore[arg-type]
        results.append(result)
        return result

    monkeypatch.setattr(Producer, "send", noting)
    return results


def begun(home: Path, seed: int) -> World:
    world = World(home, "orders", seed=seed)
    world.act("RemoveActor", actor="shop")
    for label in "ABC":
        world.act("ChangeActor", actor=label, work_ms=SPREAD)
    world.act(
        "StartConsumer", group=ORDERLY, subscriptions=[["orders", "*"]], copies=2, listener="orderly", work_ms=[10, 60]
    )
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=5)
    world.run(15)
    return world


class Mischief:
    """Does something, if the world allows it."""

    def __init__(self, world: World, chance: Chance) -> None:
        self._world = world
        self._chance = chance

    def one(self) -> None:
        act, chance = self._world.act, self._chance
        group = chance.choice(GROUPS)
        actor = chance.choice([actor.label for actor in self._world.cluster.actors.consumers()])
        try:
            match chance.choice(STEPS):
                case "add":
                    act("StartConsumer", group=group)
                case "crash":
                    act("CrashActor", actor=actor)
                case "hang":
                    act("HangActor", actor=actor)
                case "resume":
                    act("ResumeActor", actor=actor)
                case "stop":
                    act("StopActor", actor=actor)
                case "restart":
                    act("RestartActor", actor=actor)
                case "slow":
                    act("ChangeActor", actor=actor, work_ms=chance.choice(([5], [600], SPREAD)))
                case "reset":
                    self._reset(group)
                case "strategy":
                    act("SetStrategy", group=group, strategy=chance.choice(STRATEGIES))
                case "kill":
                    act("KillBroker", broker=chance.choice(BROKERS))
                case "start":
                    act("StartBroker", broker=chance.choice(BROKERS))
                case "burst":
                    act("SendMessages", topic="orders", count=30)
        except ActionRefused as why:
            if why.status not in (409, 422):  # the state is another one, or a limit is reached
                raise

    def _reset(self, group: str) -> None:
        """Backwards only, so that nothing is skipped; not past a hung member, who would later commit where it was."""
        members = self._world.cluster.actors.consumers(group)
        if not any(member.state == "hung" for member in members):
            online = any(member.lives for member in members)
            self._world.act(
                "ResetOffsets",
                group=group,
                topic="orders",
                target="shift",
                value=-20,
                method="online" if online else "offline",
                confirm=group,
            )


def members_of(world: World, group: str) -> list[ConsumerActor]:
    return [actor for actor in world.cluster.actors.consumers(group) if actor.consumer is not None and actor.lives]


def check_locks(world: World) -> None:
    """A locked queue is trusted by one member at most, except where a broker has just forgotten its locks."""
    now_ms = world.cluster.clock.now_ms()
    lost_ms = max((entry.at_ms for entry in world.entries(BrokerStopped)), default=0)
    if now_ms - lost_ms < LOST_LOCKS_MS:
        return
    trusting: dict[MessageQueue, str] = {}
    for actor in members_of(world, ORDERLY):
        assert actor.consumer is not None
        assert isinstance(actor.consumer.service, ConsumeMessageOrderlyService)
        for mq, pq in actor.consumer.process_queues.items():
            if not pq.dropped and actor.consumer.locks.trusts(pq):
                assert mq not in trusting, f"{mq.key} is trusted by {trusting[mq]} and by {actor.label}"
                trusting[mq] = actor.label


def check_offsets(world: World) -> None:
    """No one's committed offset is beyond a message that is still to be finished."""
    brokers = {node.name: node.running for node in world.cluster.nodes.masters()}
    for group in GROUPS:
        for actor in members_of(world, group):
            assert actor.consumer is not None
            for mq, pq in actor.consumer.process_queues.items():
                unfinished = pq.first_unfinished()
                if actor.state != "running" or pq.dropped or unfinished is None or mq.broker not in brokers:
                    continue
                committed = brokers[mq.broker].consumer_offsets.get(group, mq.topic, mq.queue_id)
                assert (committed or 0) <= unfinished, f"{group} committed {committed} of {mq.key}"


def settle(world: World) -> None:
    """Everyone up and quick, no new messages, and time enough for locks, timers and retries."""
    world.act("ChangeActor", actor="shop", rate_per_s=0)
    for node in world.cluster.nodes.brokers:
        if node.broker is None:
            world.act("StartBroker", broker=node.name)
    for actor in world.cluster.actors.consumers():
        world.act("ChangeActor", actor=actor.label, work_ms=[1])
        if actor.state == "hung":
            world.act("ResumeActor", actor=actor.label)
        elif not actor.lives:
            world.act("RestartActor", actor=actor.label)
    world.run(200)


@pytest.mark.parametrize("seed", SEEDS)
def test_promises_hold_whatever_is_done(tmp_path: Path, seed: int, acknowledged: list[SendResult]) -> None:
    chance = Chance(seed).fork("mischief")
    with begun(tmp_path, seed) as world:
        mischief = Mischief(world, chance)
        for _ in range(ROUNDS):
            for _ in range(1 + chance.below(4)):
                mischief.one()
                world.run(chance.between(0.1, 8))
                check_locks(world)
            for quiet_s in range(5, chance.choice((30, 30, 150)), 5):  # a hung member is forgotten after 120 s
                world.run(5)
                check_locks(world)
                if quiet_s > HANDED_OVER_S:
                    check_offsets(world)
        settle(world)
        check_offsets(world)
        assert_acknowledged_is_stored(world, acknowledged)
        assert_all_was_delivered(world)


def assert_acknowledged_is_stored(world: World, acknowledged: list[SendResult]) -> None:
    assert len(acknowledged) > 100
    brokers = {node.name: node.running for node in world.cluster.nodes.masters()}
    for result in acknowledged:
        store = brokers[result.queue.broker].store
        unit = store.unit(result.queue.topic, result.queue.queue_id, result.queue_offset)
        assert unit is not None, f"{result} is not in its queue"
        message = store.read_message(unit.physical_offset)
        assert message is not None
        assert message.properties["UNIQ_KEY"] == result.unique_key


def assert_all_was_delivered(world: World) -> None:
    """Every message in the queues was given to a listener of each group at least once, and is committed."""
    for group in GROUPS:
        stats = world.cluster.actors.group_stats[group]
        for node in world.cluster.nodes.masters():
            for queue_id in range(4):
                mq = MessageQueue("orders", node.name, queue_id)
                end = node.running.store.max_offset(mq.topic, queue_id)
                if end == 0:
                    continue
                assert stats.given(mq) == ((0, end - 1),), f"{group} missed some of {mq.key}, which ends at {end}"
                assert node.running.consumer_offsets.get(group, mq.topic, queue_id) == end
    assert not [entry for entry in world.entries(SendFailed) if entry.at_ms > world.cluster.clock.now_ms() - 60_000]
