"""Clients in a cruel world: whatever the seed does, nothing acknowledged stays unread and order holds."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from sandbox.client.config import ProducerConfig
from sandbox.client.producer import Producer
from sandbox.client.push_consumer import PushConsumer
from sandbox.kernel.errors import SandboxError
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from tests.sim.client_world import BROKER_ADDRESS, Work, World
from tests.wide import seeds

TROUBLED_S = 150
SETTLE_S = 400  # a retried message may wait 10 s, a hung member's queues 130 s, a lock 60 s
KNOWN_SEEDS: list[int] = []  # every seed that ever failed


class Cruelty:
    """Members that come and go as the seed says, and a sender that only counts what was acknowledged."""

    def __init__(self, seed: int, *, orderly: bool) -> None:
        self.world = World(4, seed=seed)
        self.chance = self.world.chance.fork("trouble")
        self.orderly = orderly
        self.work = Work(self.world, orderly=orderly)
        self.work.usual_s = 0.02
        self.members: list[PushConsumer] = []
        self.acknowledged: list[str] = []
        self.overlaps: list[MessageQueue] = []
        self._born = 0

    def join(self) -> None:
        self._born += 1
        kind = "orderly" if self.orderly else "concurrent"
        with suppress(SandboxError):  # the cluster is away: this member does not start
            self.members.append(self.world.consumer(f"m{self._born}", self.work, listener=kind))

    async def send_for(self, seconds: float) -> None:
        """Five messages a second; a failed send may or may not have arrived."""
        sender = Producer(ProducerConfig(group="P"), self.world.instance("sender"))
        await sender.start()
        for i in range(int(seconds * 5)):
            try:
                await sender.send(Message.make("T", b"x", keys=f"k{i}"))
                self.acknowledged.append(f"k{i}")
            except SandboxError:
                pass
            await self.world.clock.sleep(0.2)
            self.overlaps += [mq for mq, at_work in self.work.at_work.items() if at_work > 1]

    def trouble(self) -> None:
        """One thing goes wrong."""
        member = self.chance.choice(self.members) if self.members else None
        ip = member.instance.config.ip if member else ""
        later = self.world.clock.call_later
        match self.chance.below(6):
            case 0 if member is not None:
                member.crash()
                self.members.remove(member)
                self.join()
            case 1 if member is not None:
                self.world.cruel.partition(ip, "*")
                later(self.chance.between(1, 60), lambda: self.world.cruel.heal(ip, "*"))
            case 2 if member is not None:
                self.world.cruel.reset(ip, "*")
            case 3 if member is not None and not self.orderly:
                member.hang()
                later(self.chance.between(1, 140), member.resume)
            case 4 if not self.orderly:  # a broker that restarts forgets its locks: then two may believe to own a queue
                self.world.broker.kill()
                self.world.network.unlisten(BROKER_ADDRESS)
                self.world.pass_s(self.chance.between(0.1, 8))
                self.world.start_broker()
            case 5 if member is not None and member.state == "running":
                self.members.remove(member)
                self.world.run(member.shutdown())
                self.join()


@contextmanager
def troubled(seed: int, *, orderly: bool) -> Iterator[Cruelty]:
    cruelty = Cruelty(seed, orderly=orderly)
    world = cruelty.world
    for _ in range(3):
        cruelty.join()
    sending = world.loop.create_task(cruelty.send_for(TROUBLED_S))
    ends_s = world.now_s + TROUBLED_S
    while world.now_s < ends_s:
        world.pass_s(cruelty.chance.between(1, 30))
        cruelty.trouble()
    world.cruel.heal()
    world.pass_s(SETTLE_S)
    assert sending.done()
    sending.result()
    try:
        yield cruelty
    finally:
        world.loop.close()


SEEDS = [*seeds(4, 12), *KNOWN_SEEDS]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_acknowledged_message_is_consumed_in_the_end(seed: int) -> None:
    with troubled(seed, orderly=False) as cruelty:
        assert len(cruelty.acknowledged) > 100
        assert set(cruelty.acknowledged) <= set(cruelty.work.finished)


@pytest.mark.parametrize("seed", SEEDS)
def test_in_order_no_one_overtakes_and_no_one_shares_a_queue(seed: int) -> None:
    with troubled(seed, orderly=True) as cruelty:
        assert set(cruelty.acknowledged) <= set(cruelty.work.finished)
        assert cruelty.overlaps == []
        seen: dict[MessageQueue, int] = {}
        for _, _, mq, offset, _ in cruelty.work.begun:
            assert offset <= seen.get(mq, -1) + 1, f"{mq.key}@{offset} was begun too early"
            seen[mq] = max(offset, seen.get(mq, -1))
