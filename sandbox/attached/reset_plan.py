"""Reset plans for a real cluster: the `OffsetsView` read from its brokers now (product 4.9)."""

import asyncio
from typing import NamedTuple

from sandbox.attached.picture import BrokerSeen, Offsets, Picture
from sandbox.attached.reach import Reach
from sandbox.attached.snapshot.brokers import version_of
from sandbox.attached.snapshot.group_reports import GroupSeen
from sandbox.attached.snapshot.queues import lock_row
from sandbox.attached.topic_places import brokers_with
from sandbox.kernel.errors import ActionRefused, BrokerRefused
from sandbox.message.queue import MessageQueue
from sandbox.queries import reset_plan
from sandbox.queries.reset_plan import Holding, Note, Refusal, ResetPlan, ResetWish, check_wish, make_plan
from sandbox.remoting.bodies import ConsumerConnection, TopicConfig, TopicOffset
from sandbox.remoting.codes import ResponseCode

SETTING = "useServerSideResetOffset"
KNOWN_LIVE = ("time", "latest")  # what a broker can send to its members


class BrokerFacts(NamedTuple):
    """Current values of one broker.  `writes_itself`: it can set a group to any offset of any queue (5.x)."""

    seen: BrokerSeen
    config: TopicConfig
    ends: dict[int, TopicOffset]
    offsets: Offsets
    members: ConsumerConnection | None
    writes_itself: bool
    by_time: dict[int, int]

    def committed(self, group: str, mq: MessageQueue) -> int | None:
        return self.offsets.get(group, {}).get(mq.topic, {}).get(mq.queue_id)

    def ends_of(self, mq: MessageQueue) -> tuple[int, int]:
        end = self.ends.get(mq.queue_id)
        return (0, 0) if end is None else (max(0, end.min_offset), max(0, end.max_offset))


Facts = dict[str, BrokerFacts]
"""By broker name."""


async def plan_reset(reach: Reach, picture: Picture, wish: ResetWish) -> tuple[ResetPlan, Facts]:
    """Return the plan of a reset, and the values of the brokers behind it.

    Raises ActionRefused (404, 409, 422, 503), or the errors of requests.
    """
    check_wish(wish)
    facts = await ask_brokers(
        reach, picture, wish.group, wish.topic, time_ms=wish.value if wish.target == "time" else None
    )
    return make_plan(AttachedOffsets(GroupSeen(picture, wish.group), wish.topic, facts), wish), facts


def draw_plan(seq: int, at_ms: int, wish: ResetWish, plan: ResetPlan, facts: Facts) -> dict[str, object]:
    """Return the plan in the shape of a sandbox's.

    `asked_method`: the requested one, `instead`: why it differs; `brokers` by name.
    """
    return reset_plan.draw_plan(seq, at_ms, wish, plan) | {
        "asked_method": wish.method,
        "instead": None if plan.instead is None else reset_plan.draw_refusal(plan.instead),
        "brokers": {
            name: {"version": version_of(current.seen), "writes_itself": current.writes_itself}
            for name, current in facts.items()
        },
    }


async def ask_brokers(reach: Reach, picture: Picture, group: str, topic: str, *, time_ms: int | None = None) -> Facts:
    """Return the current values of every master that has the topic; they are asked in parallel.

    Raises the error of a broker that does not answer: half a plan is useless.
    """
    configs = await brokers_with(reach, picture, topic)
    masters = picture.masters()
    missing = [name for name in configs if name not in masters or masters[name].lost]
    if missing:
        raise ActionRefused(
            503,
            "Broker {name} has no master now.",
            "Only a master stores offsets: wait until the broker has a master.",
            name=missing[0],
        )
    answers = await asyncio.gather(
        *(_ask(reach, masters[name], config, group, topic, time_ms) for name, config in configs.items())
    )
    return dict(zip(configs, answers, strict=True))


async def _ask(
    reach: Reach, broker: BrokerSeen, config: TopicConfig, group: str, topic: str, time_ms: int | None
) -> BrokerFacts:
    address = broker.address
    ends = await reach.topic_ends(address, topic)
    offsets = await reach.all_offsets(address)
    members: ConsumerConnection | None = None
    try:
        members = await reach.members(address, group)
    except BrokerRefused as error:
        if error.code != ResponseCode.CONSUMER_NOT_ONLINE:
            raise
    by_time: dict[int, int] = {}
    if time_ms is not None:
        for queue_id in range(config.read_queues):
            by_time[queue_id] = await reach.at_time(address, MessageQueue(topic, broker.name, queue_id), time_ms)
    return BrokerFacts(broker, config, ends, offsets, members, await _writes_itself(reach, broker), by_time)


async def _writes_itself(reach: Reach, broker: BrokerSeen) -> bool:
    """Return True if the broker can set a group to any offset.

    A 5.x broker has that in its settings.  4.9 has no such setting, and a broker that hides its settings counts as 4.9.
    """
    if not (broker.runtime.version or "").startswith("V5"):
        return False
    try:
        return (await reach.config(broker.address)).get(SETTING) == "true"
    except BrokerRefused:
        return False


class AttachedOffsets:
    def __init__(self, view: GroupSeen, topic: str, facts: Facts) -> None:
        self._seen = view
        self._topic = topic
        self._facts = facts
        self._notifying = {name: current for name, current in facts.items() if not current.writes_itself}
        self._members = [current.members for current in facts.values() if current.members is not None]
        self.queues = [
            MessageQueue(topic, name, queue_id)
            for name, current in facts.items()
            for queue_id in range(current.config.read_queues)
        ]
        self.online_members = tuple(
            sorted({connection.client_id for each in self._members for connection in each.connections})
        )
        self.members = len(self.online_members)

    def ends(self, mq: MessageQueue) -> tuple[int, int]:
        return self._facts[mq.broker].ends_of(mq)

    def committed(self, group: str, mq: MessageQueue) -> int | None:
        return self._facts[mq.broker].committed(group, mq)

    def offset_at(self, mq: MessageQueue, time_ms: int) -> int:
        """Return the queue's offset at `time_ms`, which is the time that the brokers were asked for."""
        return self._facts[mq.broker].by_time[mq.queue_id]

    def newest_ms(self, mq: MessageQueue) -> int | None:
        end = self._facts[mq.broker].ends.get(mq.queue_id)
        return end.last_update_ms if end is not None and end.max_offset > 0 and end.last_update_ms > 0 else None

    def holding(self, mq: MessageQueue) -> Holding:
        owner, held = self._seen.holder(mq)
        if held is None:
            return Holding(owner, None, 0, None)
        return Holding(
            owner,
            None if held.committed_offset < 0 else held.committed_offset,
            held.cached_count + held.taken_count,
            None if lock_row(self._seen, mq) is None else owner,
        )

    def notes(self, mq: MessageQueue, target: int, method: str) -> list[Note]:
        current, (owner, _) = self._facts[mq.broker], self._seen.holder(mq)
        if method != "online" or current.writes_itself or current.members is None:
            return []
        if current.members.consume_type == "CONSUME_ACTIVELY":
            return [Note("not_heard", "a pull consumer ignores an online reset; no offset will change", {})]
        if owner is not None and self._seen.members[owner].language == "CPP":
            text = "its owner is a C++ client, which cannot parse the reset request of this broker"
            return [Note("not_heard_in_cpp", text, {})]
        return []

    def method(self, wish: ResetWish, *, of_all: bool) -> tuple[str, Refusal | None]:
        """Return the method to use, and the reason if it differs from the requested one.

        A broker that only notifies its members can send them a time or the end, for all queues at once.
        """
        if wish.method != "online" or not self._notifying:
            return wish.method, None
        name, current = next(iter(self._notifying.items()))
        values = {"broker": name, "version": version_of(current.seen) or "4.9"}
        if wish.target not in KNOWN_LIVE:
            return "offline", Refusal(
                "In an online reset, broker {broker} ({version}) supports only a point in time or the latest "
                "offset. This reset is done offline.",
                "Stop all members of the group for an offline reset.",
                values,
            )
        if not of_all:
            return "offline", Refusal(
                "In an online reset, broker {broker} ({version}) resets all queues of a topic at once. This "
                "reset is done offline.",
                "Choose all queues, or stop all members.",
                values,
            )
        return "online", None

    def obstacle(self, method: str) -> Refusal | None:
        if any(each.message_model == "BROADCASTING" for each in self._members):
            return Refusal(
                "Each member of a broadcasting group keeps its own offsets; the broker has none.",
                "The offsets of this group cannot be reset from here.",
            )
        alone = next((name for name, current in self._notifying.items() if current.members is None), None)
        if method == "offline" or not self.online_members or alone is None:
            return None
        return Refusal(
            "No member of the group is online at broker {broker}; it refuses an online reset (code 206).",
            "Wait for a heartbeat, or stop the group and choose the offline method.",
            {"broker": alone},
        )

    def without_offset(self, selected: list[MessageQueue]) -> list[str]:
        mqs = [
            MessageQueue(self._topic, name, queue_id)
            for name, current in self._notifying.items()
            for queue_id in range(current.config.write_queues)
        ]
        return [mq.row for mq in mqs if self.committed(self._seen.group, mq) is None]
