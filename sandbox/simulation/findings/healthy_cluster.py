"""The cluster of a healthy run: two groups of different kinds that are at work for up to 80 % of the time."""

from dataclasses import replace
from math import ceil
from typing import NamedTuple

from sandbox.control.actions import Action, CreateTopic, StartConsumer, StartProducer, Subscription
from sandbox.kernel.chance import Chance
from sandbox.simulation.findings.baseline import GROUP, SHOP, TOPIC

OTHER = "audit"
HIGH_LOAD, MOST_LOAD = 0.65, 0.8
MOST_PER_S = 12.0
NEVER_FAIL = ("broadcasting", "lite_pull")  # a failure is no retry there
ONE_THREAD = ("pull", "lite_pull")


class Crew(NamedTuple):
    """The members of one group; `kind`: `concurrent` and `orderly` of push consumers, `broadcasting`, or a pull."""

    group: str
    labels: tuple[str, ...]
    kind: str
    threads: int
    work_ms: tuple[int, int]
    fail_percent: float

    def load(self, rate_per_s: float, queues: int, members: int | None = None) -> float:
        """Return the share of time for which the member with most queues is at work."""
        lanes = lanes_of(self.kind, self.threads, queues, members or len(self.labels))
        mean_s = sum(self.work_ms) / 2_000
        return mean_s * rate_per_s * largest_share(self.kind, queues, members or len(self.labels)) / lanes

    def actions(self) -> list[Action]:
        return [self._member(label) for label in self.labels]

    def _member(self, label: str) -> StartConsumer:
        member = StartConsumer(
            actor=label,
            group=self.group,
            subscriptions=(Subscription(TOPIC),),
            work_ms=self.work_ms,
            fail_percent=self.fail_percent,
        )
        if self.kind in ONE_THREAD:
            return replace(member, kind=self.kind)  # type: ignore[arg-type]  # one of its words
        return replace(
            member,
            model="BROADCASTING" if self.kind == "broadcasting" else "CLUSTERING",
            listener="orderly" if self.kind == "orderly" else "concurrent",
            threads=self.threads,
        )


class HealthyCluster(NamedTuple):
    queues: int
    rate_per_s: float
    crews: tuple[Crew, ...]

    def actions(self) -> list[Action]:
        return [
            CreateTopic(topic=TOPIC, write_queues=self.queues, read_queues=self.queues),
            *(action for crew in self.crews for action in crew.actions()),
            StartProducer(actor=SHOP, topic=TOPIC, rate_per_s=self.rate_per_s, key="order-{n}"),
        ]


def largest_share(kind: str, queues: int, members: int) -> float:
    """Return the share of the messages that the member with most queues gets."""
    return 1.0 if kind == "broadcasting" else ceil(queues / members) / queues


def lanes_of(kind: str, threads: int, queues: int, members: int) -> int:
    """Return the messages that a member works at in parallel: of an orderly listener at most one a queue."""
    if kind in ONE_THREAD:
        return 1
    return min(threads, ceil(queues / members)) if kind == "orderly" else threads


def draw_healthy_cluster(chance: Chance) -> HealthyCluster:
    queues = 1 + chance.below(12)
    rate_per_s = round(chance.between(0.5, MOST_PER_S), 1)
    kinds = (chance.choice(("concurrent", "orderly")), chance.choice(("orderly", "broadcasting", *ONE_THREAD)))
    crews = tuple(
        _crew(chance, group, labels, kind, queues, rate_per_s)
        for group, labels, kind in zip((GROUP, OTHER), ("ABCD", "PQR"), kinds, strict=True)
    )
    return HealthyCluster(queues, rate_per_s, crews)


def _crew(chance: Chance, group: str, labels: str, kind: str, queues: int, rate_per_s: float) -> Crew:
    count = 1 + chance.below(min(queues, len(labels)))
    threads = chance.choice((1, 1, 2, 20))
    fail_percent = 0.0 if kind in NEVER_FAIL else chance.choice((0.0, 0.0, 1.0))
    load = chance.between(*chance.choice(((0.1, HIGH_LOAD), (HIGH_LOAD, MOST_LOAD))))
    if kind == "orderly" and fail_percent:  # a failure suspends its queue for 1 s
        load /= 2
    lanes = lanes_of(kind, threads, queues, count)
    mean_ms = min(400.0, 1_000 * load * lanes / (rate_per_s * largest_share(kind, queues, count)))
    work_ms = (max(1, round(mean_ms * 0.6)), max(1, round(mean_ms * 1.4)))
    return Crew(group, tuple(labels[:count]), kind, threads, work_ms, fail_percent)
