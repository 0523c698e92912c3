"""The setup of a run: brokers, name servers, topics, groups and producers, drawn from a seed."""

from typing import NamedTuple

from sandbox.cluster.config import HostConfig
from sandbox.cluster.new_sandbox import new_record
from sandbox.cluster.record import NodeRecord, SandboxRecord
from sandbox.control.actions import Action, CreateTopic, StartConsumer, StartProducer, Subscription
from sandbox.kernel.chance import Chance
from sandbox.simulation.world import BEGIN_MS, SLUG

TOPIC = "orders"
TAGS = ("paid", "sent")
KEYS = tuple(f"customer-{n:02}" for n in range(12))
QUICK, USUAL, UNEVEN = (1, 20), (20, 200), (5, 1_500)  # ms of work; uneven: later messages finish before earlier ones
SMALL_FILES: dict[str, object] = {
    "commit_log_file_bytes": 128 * 1024,
    "consume_queue_file_entries": 100,
    "index_slots": 97,
    "index_entries": 400,
}
NODE_PORT, PORT_STEP = 20_000, 4

FAMILIES: dict[str, tuple[str, ...]] = {
    "orderly": ("orderly",),
    "reset": ("concurrent",),
    "concurrent": ("concurrent",),
}
MIXTURES: tuple[tuple[str, ...], ...] = (
    ("concurrent",),
    ("orderly",),
    ("concurrent", "orderly"),
    ("concurrent", "retrying"),
    ("orderly", "broadcasting"),
    ("concurrent", "orderly", "broadcasting"),
)
"""Groups of one setup, by their kinds; `retrying` is concurrent and fails often."""


class GroupShape(NamedTuple):
    """The shape of a group.  Its members are labelled `name.1`, `name.2`, …; a single one has the group's name."""

    name: str
    kind: str  # concurrent, orderly, broadcasting, pull, lite_pull
    members: int
    expression: str = "*"
    work_ms: tuple[int, int] = USUAL
    fail_percent: float = 0.0
    strategy: str = "AVG"
    batch: int = 1

    @property
    def labels(self) -> tuple[str, ...]:
        if self.members == 1:
            return (self.name,)
        return tuple(f"{self.name}.{number}" for number in range(1, self.members + 1))

    @property
    def pushed(self) -> bool:
        """True if the members have listeners.  Only they receive a reset (spec client-behaviour 9)."""
        return self.kind in ("concurrent", "orderly", "broadcasting")

    @property
    def counts(self) -> bool:
        """True if the members share queues, and commit only finished messages.

        A lite pull consumer with automatic commits commits what it returned, finished or not (spec client-behaviour
        12), so it has no guarantee.
        """
        return self.kind in ("concurrent", "orderly", "pull")


class Setup(NamedTuple):
    """The setup of a run.  `slaves`: the names of brokers that have a slave."""

    brokers: tuple[str, ...]
    slaves: tuple[str, ...]
    name_servers: tuple[str, ...]
    flush: str
    replication: str
    queues: int
    groups: tuple[GroupShape, ...]
    rate_per_s: float
    selector: str
    tagged: bool
    transactional: bool
    latency_ms: tuple[float, float]

    @property
    def counting(self) -> tuple[GroupShape, ...]:
        """The groups with an at-least-once guarantee."""
        return tuple(group for group in self.groups if group.counts)

    @property
    def resettable(self) -> tuple[GroupShape, ...]:
        return tuple(group for group in self.groups if group.counts and group.pushed)

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(label for group in self.groups for label in group.labels)

    @property
    def producers(self) -> tuple[str, ...]:
        shops = tuple(f"shop-{tag}" for tag in TAGS) if self.tagged else ("shop",)
        return (*shops, "bank") if self.transactional else shops

    @property
    def nodes(self) -> tuple[str, ...]:
        """The brokers by their names in actions, slaves included."""
        return (*self.brokers, *(f"{name}.1" for name in self.slaves))


def draw_setup(chance: Chance, profile: str) -> Setup:
    """Draw cluster, groups and workload of a run."""
    brokers = ("broker-a", "broker-b") if chance.random() < 0.5 else ("broker-a",)
    tagged = chance.random() < 0.3
    kinds = FAMILIES.get(profile) or chance.choice(MIXTURES)
    slaves = tuple(name for name in brokers if chance.random() < 0.35)
    groups = [_draw_group(chance, kind, profile, tagged=tagged) for kind in kinds]
    if profile == "mixed":
        groups += _draw_pulling(chance.fork("pulling"), tagged=tagged)
    replication = "SYNC_MASTER" if slaves == brokers and chance.random() < 0.6 else "ASYNC_MASTER"
    return Setup(
        brokers=brokers,
        slaves=slaves,
        name_servers=("ns-1", "ns-2") if chance.random() < 0.4 else ("ns-1",),
        flush=chance.choice(("ASYNC_FLUSH", "ASYNC_FLUSH", "SYNC_FLUSH")),
        replication=replication,
        queues=chance.choice((2, 3, 4, 4, 8)),
        groups=tuple(groups),
        rate_per_s=chance.choice((0.3, 0.5, 0.5, 1.0, 1.0, 3.0)),
        selector=chance.choice(("round_robin", "hash")),
        tagged=tagged,
        transactional=profile == "mixed" and chance.fork("transactions").random() < 0.2,
        latency_ms=chance.choice(((0.0, 0.0), (0.0, 5.0), (1.0, 40.0))),
    )


def _draw_group(chance: Chance, kind: str, profile: str, *, tagged: bool) -> GroupShape:
    retrying = kind == "retrying"
    paces = {"orderly": (QUICK, USUAL), "concurrent": (UNEVEN,)}.get(profile) or (
        (QUICK, USUAL) if kind == "orderly" else (QUICK, USUAL, UNEVEN)
    )
    return GroupShape(
        name={"concurrent": "svc", "orderly": "fifo", "broadcasting": "show", "retrying": "again"}[kind],
        kind="concurrent" if retrying else kind,
        members=1 + chance.below(4) if kind != "broadcasting" else 2,
        expression=chance.choice(("*", "paid", "paid || lost")) if tagged else "*",
        work_ms=chance.choice(paces),
        fail_percent=chance.choice((20.0, 40.0)) if retrying else 0.0,
        strategy=chance.choice(("AVG", "AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")) if kind != "broadcasting" else "AVG",
        batch=chance.choice((1, 1, 1, 4)),
    )


def _draw_pulling(chance: Chance, *, tagged: bool) -> list[GroupShape]:
    """Draw a group of pull consumers, or none."""
    kind = chance.choice(("pull", "pull", "lite_pull"))
    if chance.random() < 0.75:
        return []
    return [
        GroupShape(
            name=kind.replace("_", "-"),
            kind=kind,
            members=1 + chance.below(2),
            work_ms=QUICK,
            expression=chance.choice(("*", "paid")) if tagged else "*",
            fail_percent=10.0 if kind == "pull" and chance.random() < 0.3 else 0.0,
        )
    ]


def record_of(setup: Setup, seed: int, config: HostConfig) -> SandboxRecord:
    """Return the record of the run's sandbox.

    Its files are small, so that a few minutes fill several of each kind.
    """
    changes = {**SMALL_FILES, "flush": setup.flush, "replication": setup.replication}
    record = new_record(
        SLUG,
        "empty",
        preset="sandbox",
        seed=seed,
        changes=changes,
        limits=None,
        config=config,
        ports_taken=set(),
        now_ms=BEGIN_MS,
    )
    ports = iter(range(NODE_PORT, NODE_PORT + 100, PORT_STEP))

    def node(kind: str, name: str, broker_id: int) -> NodeRecord:
        return NodeRecord(kind, name, broker_id, f"{config.node_host}:{next(ports)}")

    record.nodes = [
        *(node("broker", name, 0) for name in setup.brokers),
        *(node("broker", name, 1) for name in setup.slaves),
        *(node("name_server", name, 0) for name in setup.name_servers),
    ]
    return record


def setup_actions(setup: Setup) -> list[Action]:
    """Return the actions that build the setup, in order."""
    actions: list[Action] = [CreateTopic(topic=TOPIC, write_queues=setup.queues, read_queues=setup.queues)]
    for group in setup.groups:
        actions.append(
            StartConsumer(
                group=group.name,
                actor=group.name,
                copies=group.members,
                work_ms=group.work_ms,
                batch=group.batch,
                subscriptions=(Subscription(TOPIC, group.expression),),
                fail_percent=group.fail_percent,
                kind="push" if group.pushed else group.kind,  # type: ignore[arg-type]
                strategy=group.strategy,  # type: ignore[arg-type]
                listener="orderly" if group.kind == "orderly" else "concurrent",
                model="BROADCASTING" if group.kind == "broadcasting" else "CLUSTERING",
            )
        )
    for number, label in enumerate(setup.producers):
        if label == "bank":
            actions.append(
                StartProducer(
                    actor=label,
                    topic=TOPIC,
                    rate_per_s=0.3,
                    body_bytes=60,
                    key="transfer-{n}",
                    tag=TAGS[0] if setup.tagged else "",
                    transactional=True,
                )
            )
            continue
        keys = KEYS if setup.selector == "hash" else ()
        actions.append(
            StartProducer(
                actor=label,
                topic=TOPIC,
                rate_per_s=setup.rate_per_s / len(setup.producers),
                body_bytes=60,
                key="order-{n}" if keys or not setup.tagged else f"{label}-{{n}}",
                keys=keys,
                tag=TAGS[number] if setup.tagged else "",
                selector=setup.selector,  # type: ignore[arg-type]
            )
        )
    return actions
