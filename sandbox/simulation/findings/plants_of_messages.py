"""Troubles of single messages: unfinished, failing, delayed, half or dead."""

from collections.abc import Callable

from sandbox.broker.stored_text import host_of
from sandbox.client.pin_watch import PINNED_AFTER_MS
from sandbox.kernel.chance import Chance
from sandbox.message import properties as props
from sandbox.message.message import InboundMessage
from sandbox.message.topic_names import retry_topic
from sandbox.simulation.findings.baseline import GROUP, TOPIC, Baseline
from sandbox.simulation.findings.plant import Act, Plant, act
from sandbox.simulation.world import World

MOST_ATTEMPTS = 16
HOST = host_of("10.0.0.1:1")


def _pinned(base: Baseline, chance: Chance) -> list[Act]:
    key = f"stuck-{chance.below(1000)}"
    return [
        *(act("ChangeActor", actor=label, slow_key=key, slow_ms=600_000) for label in base.members),
        act("SendMessages", topic=TOPIC, count=1, key=key),
    ]


def _failing(base: Baseline, chance: Chance) -> list[Act]:
    return [
        *(act("ChangeActor", actor=label, fail_percent=100.0) for label in base.members),
        act("SendMessages", topic=TOPIC, count=20, key="bad-{n}"),
    ]


def _poison(base: Baseline, chance: Chance) -> list[Act]:
    key = f"poison-{chance.below(1000)}"
    return [
        *(act("ChangeActor", actor=label, handler=f"reject {key}") for label in base.members),
        act("SendMessages", topic=TOPIC, count=1, key=key),
    ]


def _last_attempt(key: str) -> Callable[[World], None]:
    """Return a function that stores a message as it is before its last attempt.

    The attempts before take 4 h 46 min, as long as all delay levels from the third on.
    """

    def call(world: World) -> None:
        broker = world.cluster.nodes.masters()[0].running
        pairs = {props.KEYS: key, props.RETRY_TOPIC: TOPIC, props.UNIQ_KEY: f"{key}-unique", props.WAIT: "false"}
        now_ms = world.cluster.clock.now_ms()
        broker.store.put_message(
            InboundMessage(
                retry_topic(GROUP), 0, b"x", props.encode(pairs).encode(), 0, 0, 0, now_ms, HOST, MOST_ATTEMPTS, 0
            )
        )

    return call


def _dying(base: Baseline, chance: Chance) -> list[Act]:
    key = f"last-{chance.below(1000)}"
    return [
        *(act("ChangeActor", actor=label, handler=f"reject {key}") for label in base.members),
        *(Act(1.0, "", {}, _last_attempt(key)) for _ in range(1 + chance.below(3))),
    ]


def _delayed(base: Baseline, chance: Chance) -> list[Act]:
    return [
        act(
            "SendMessages",
            topic=TOPIC,
            count=5 + chance.below(20),
            key="later-{n}",
            delay_level=chance.choice((5, 6, 9)),
        )
    ]


def _half(base: Baseline, chance: Chance) -> list[Act]:
    return [
        act("StartProducer", actor="bank", topic=TOPIC, rate_per_s=0.3, transactional=True),
        act("ChangeActor", actor="bank", handler="silent"),
    ]


def _suspended(base: Baseline, chance: Chance) -> list[Act]:
    key = f"refused-{chance.below(1000)}"
    return [
        *(act("ChangeActor", actor=label, handler=f"reject {key}") for label in base.fifo),
        act("SendMessages", topic=TOPIC, count=1, key=key),
    ]


def _flow(base: Baseline, chance: Chance) -> list[Act]:
    """Fill one queue behind an unfinished message, beyond its limit of 1,000 messages and the span of 2,000 offsets."""
    queue = f"broker-a:{chance.below(base.queues)}"
    return [
        *(act("ChangeActor", actor=label, slow_key="wall", slow_ms=600_000) for label in base.members),
        act("SendMessages", topic=TOPIC, queue=queue, count=1, key="wall"),
        act("SendMessages", 1.0, topic=TOPIC, queue=queue, count=2_200, key="flood-{n}", body_bytes=20),
    ]


PLANTS = (
    Plant(  # an only thread is at work then
        "offset_pinned",
        _pinned,
        PINNED_AFTER_MS / 1000,
        ("flow_control", "consumers_too_slow"),
        hides=("poison_message", "dead_letters_grow", "flow_control"),
    ),
    Plant("retrying", _failing, 6.0, ("poison_message", "consumers_too_slow"), alone=True),
    Plant("poison_message", _poison, 40.0, looks_s=180.0, stays_s=180.0),
    Plant("dead_letters_grow", _dying, 1.0, hides=("poison_message",)),  # a listener rejects one key
    Plant("delay_waiting", _delayed, 2.0),
    Plant("half_message_open", _half, 33.0),
    Plant("suspended", _suspended, 3.0, ("offset_pinned",), ordered=True),
    Plant(
        "flow_control",
        _flow,
        6.0,
        ("offset_pinned", "consumers_too_slow", "hot_queue"),
        hides=("offset_pinned", "poison_message", "dead_letters_grow"),
    ),
)
