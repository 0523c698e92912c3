"""Templates: initial setups of a sandbox, as the actions that build them (catalogue 4)."""

from typing import NamedTuple

from sandbox.control.actions import (
    Action,
    ChangeActor,
    CreateTopic,
    RowToSend,
    SendMessages,
    StartConsumer,
    StartProducer,
    Subscription,
)
from sandbox.kernel.errors import ActionRefused


class Template(NamedTuple):
    """Initial setup of a sandbox.  `changes` are preset keys the setup needs; the rest comes from the chosen preset.

    `brokers` are node names: `broker-a` is a master, `broker-a.1` its slave.
    """

    name: str
    brokers: tuple[str, ...] = ("broker-a",)
    name_servers: int = 1
    setup: tuple[Action, ...] = ()
    changes: dict[str, object] = {}


CUSTOMERS = tuple(f"customer-{n:02}" for n in range(1, 41))

COLLIDING_KEYS = ("order-Aa", "order-BB")  # Java's hashCode is the same for both
INDEX_KEYS = (*COLLIDING_KEYS, *(f"order-{n:02}" for n in range(1, 39)))
POISON_KEY = "order-poison"


def _flights() -> tuple[Action, ...]:
    flights = (Subscription("flights"),)
    return (
        CreateTopic(topic="flights", write_queues=8, read_queues=8),
        StartConsumer(group="gate-display", subscriptions=flights, copies=3, work_ms=(100, 800)),
        StartConsumer(group="maintenance", subscriptions=flights, copies=2, listener="orderly", work_ms=(50, 400)),
        StartProducer(actor="departures", topic="flights", feed="flights", speed=600, selector="hash"),
    )


def _orders() -> tuple[Action, ...]:
    return (
        CreateTopic(topic="orders", write_queues=4, read_queues=4),
        StartConsumer(group="order-svc", subscriptions=(Subscription("orders"),), copies=3, work_ms=(100, 600)),
        StartProducer(actor="shop", topic="orders", rate_per_s=6),
    )


def _payments() -> tuple[Action, ...]:
    return (
        CreateTopic(topic="payments", write_queues=8, read_queues=8),
        StartConsumer(
            group="payment-fifo",
            subscriptions=(Subscription("payments"),),
            copies=3,
            listener="orderly",
            work_ms=(50, 400),
        ),
        StartProducer(actor="till", topic="payments", rate_per_s=12, keys=CUSTOMERS, selector="hash"),
    )


def _cluster() -> tuple[Action, ...]:
    orders = (Subscription("orders"),)
    return (
        CreateTopic(topic="orders", write_queues=4, read_queues=4),
        StartConsumer(group="order-svc", subscriptions=orders, copies=3, work_ms=(100, 600)),
        StartConsumer(group="invoice-fifo", subscriptions=orders, copies=2, listener="orderly", work_ms=(50, 300)),
        StartProducer(actor="shop", topic="orders", rate_per_s=6, keys=CUSTOMERS, selector="hash"),
    )


def _shrink() -> tuple[Action, ...]:
    return (
        CreateTopic(topic="orders", write_queues=16, read_queues=16),
        StartConsumer(group="order-svc", subscriptions=(Subscription("orders"),), copies=4, work_ms=(100, 600)),
        StartProducer(actor="shop", topic="orders", rate_per_s=20),
    )


def _index() -> tuple[Action, ...]:
    rows = tuple(
        RowToSend(key=INDEX_KEYS[n * 7 % len(INDEX_KEYS)], tag="paid", body=f"order message {n}") for n in range(200)
    )  # 7 and 40 have no common factor: every key five times, well mixed
    return (
        CreateTopic(topic="orders", write_queues=4, read_queues=4),
        SendMessages(topic="orders", rows=rows),
    )


def _retries() -> tuple[Action, ...]:
    orders = (Subscription("orders"),)
    return (
        CreateTopic(topic="orders", write_queues=4, read_queues=4),
        StartConsumer(group="order-svc", subscriptions=orders, copies=2, work_ms=(50, 300), fail_percent=20),
        ChangeActor(actor="A", handler=f"reject {POISON_KEY}"),
        ChangeActor(actor="B", handler=f"reject {POISON_KEY}"),
        StartProducer(actor="shop", topic="orders", rate_per_s=4),
        SendMessages(topic="orders", rows=(RowToSend(key=POISON_KEY, body="no handler accepts this one"),)),
    )


TEMPLATES: dict[str, Template] = {
    template.name: template
    for template in (
        Template("empty"),
        Template("replicas", brokers=("broker-a", "broker-a.1", "broker-b"), changes={"slave_read": True}),
        Template("flights", setup=_flights()),
        Template("orders", brokers=("broker-a", "broker-b"), setup=_orders()),
        Template("payments", setup=_payments()),
        Template(
            "cluster",
            brokers=("broker-a", "broker-a.1", "broker-b"),
            name_servers=2,
            setup=_cluster(),
            changes={"slave_read": True},
        ),
        Template("shrink", setup=_shrink()),
        Template("index", setup=_index(), changes={"index_slots": 97, "index_entries": 400}),
        Template("retries", setup=_retries()),
    )
}


BARE = "-bare"


def template_of(name: str) -> Template:
    """Return the template with this name.  `orders-bare` has the nodes of `orders` without its setup.

    Raises ActionRefused (422) if the name is unknown.
    """
    template = TEMPLATES.get(name)
    if template is None and name.endswith(BARE) and (built := TEMPLATES.get(name.removesuffix(BARE))) is not None:
        template = built._replace(name=name, setup=())
    if template is None:
        raise ActionRefused(
            422,
            "Template {name} does not exist.",
            "Choose one of: {known}.",
            field="template",
            name=name,
            known=", ".join(TEMPLATES),
        )
    return template


def bare(name: str) -> str:
    """Return the name of the template with the same nodes and no setup.  Raises ActionRefused (422)."""
    nodes = template_of(name)._replace(name="", setup=())
    same = (other.name for other in TEMPLATES.values() if not other.setup and other._replace(name="") == nodes)
    return next(same, name.removesuffix(BARE) + BARE)
