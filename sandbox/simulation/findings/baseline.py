"""The cluster of a run before anything goes wrong: drawn from its seed."""

from typing import NamedTuple

from sandbox.control.actions import Action, CreateTopic, StartConsumer, StartProducer, Subscription
from sandbox.kernel.chance import Chance

TOPIC, GROUP, FIFO = "orders", "svc", "fifo"
SHOP = "shop"
BROKER, SLAVED = "broker-a", "broker-a"
WARM_UP_S = 50.0


class Baseline(NamedTuple):
    """`template`: nodes; `members`: labels of the group `svc`, `fifo` those of an ordered group, or empty."""

    template: str
    queues: int
    members: tuple[str, ...]
    fifo: tuple[str, ...]
    threads: int
    work_ms: tuple[int, int]
    rate_per_s: float

    @property
    def capacity_per_s(self) -> float:
        """The messages per second that one member finishes."""
        return self.threads * 2_000 / sum(self.work_ms)

    def actions(self) -> list[Action]:
        actions: list[Action] = [CreateTopic(topic=TOPIC, write_queues=self.queues, read_queues=self.queues)]
        for group, labels, listener in ((GROUP, self.members, "concurrent"), (FIFO, self.fifo, "orderly")):
            actions += [
                StartConsumer(
                    actor=label,
                    group=group,
                    subscriptions=(Subscription(TOPIC),),
                    listener=listener,  # type: ignore[arg-type]  # one of its two words
                    threads=self.threads,
                    work_ms=self.work_ms,
                )
                for label in labels
            ]
        return [*actions, StartProducer(actor=SHOP, topic=TOPIC, rate_per_s=self.rate_per_s, key="order-{n}")]


def draw_baseline(chance: Chance, *, ordered: bool = False, slave: bool = False) -> Baseline:
    """Draw a cluster that keeps up easily: its members could finish at least twice what arrives."""
    queues = chance.choice((3, 4, 6, 8))
    count = 2 + chance.below(min(queues, 4) - 1)
    threads = chance.choice((1, 2, 4, 20))
    work_ms = chance.choice(((5, 20), (20, 60), (50, 90)))
    capacity_per_s = count * threads * 2_000 / sum(work_ms)
    rate_per_s = min(chance.choice((1.0, 2.0, 5.0, 10.0)), capacity_per_s / 2)
    return Baseline(
        "replicas" if slave else "empty",
        queues,
        tuple("ABCDE"[:count]),
        ("F", "G") if ordered else (),
        threads,
        work_ms,
        round(rate_per_s, 1),
    )
