"""The plan of a reset on a real cluster: read from its brokers now, computed as for a sandbox (product 4.9)."""

import asyncio
from typing import Any, NamedTuple

from sandbox.attached.picture import BrokerSeen, Offsets, Picture
from sandbox.attached.reach import Reach
from sandbox.attached.snapshot.brokers import version_of
from sandbox.attached.snapshot.group_seen import GroupSeen
from sandbox.attached.snapshot.queues import lock_row
from sandbox.attached.topic_places import brokers_with
from sandbox.kernel.errors import ActionRefused, BrokerRefused
from sandbox.message.queue import MessageQueue
from sandbox.queries.questions.resets import draw_refusal, draw_rows
from sandbox.queries.reset_plan import (
    Note,
    PlannedQueue,
    Refusal,
    ResetPlan,
    ResetWish,
    check_wish,
    fitted,
    wished_offset,
)
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


class AttachedPlan(NamedTuple):
    """`method`: the one used; if it is not the requested one, `instead` says why."""

    plan: ResetPlan
    method: str
    instead: Refusal | None
    facts: dict[str, BrokerFacts]

    @property
    def written_by_brokers(self) -> bool:
        return all(facts.writes_itself for facts in self.facts.values())


async def plan_reset(reach: Reach, picture: Picture, wish: ResetWish) -> AttachedPlan:
    """Raises ActionRefused (404, 409, 422, 503), or the errors of requests."""
    check_wish(wish)
    facts = await ask_brokers(reach, picture, wish.group, wish.topic,
                              time_ms=wish.value if wish.target == "time" else None)
    queues = [MessageQueue(wish.topic, name, queue_id) for name, current in facts.items()
              for queue_id in range(current.config.read_queues)]
    wanted = set(wish.queues) or {mq.row for mq in queues}
    unknown = wanted - {mq.row for mq in queues}
    if unknown:
        raise ActionRefused(422, "{topic} has no queue {queue}.", "Choose one of its queues.", field="queues",
                            topic=wish.topic, queue=sorted(unknown)[0])
    method, instead = _method(facts, wish, of_all=wanted == {mq.row for mq in queues})
    seen = GroupSeen(picture, wish.group)
    rows = tuple(_row(seen, facts[mq.broker], wish, mq, method=method, selected=mq.row in wanted) for mq in queues)
    online = tuple(sorted({one.client_id for current in facts.values() if current.members is not None
                           for one in current.members.connections}))
    refused = _refusal(facts, wish, rows, online, method, instead)
    return AttachedPlan(ResetPlan(rows, online, len(online), refused), method, instead, facts)


def draw_plan(seq: int, at_ms: int, wish: ResetWish, plan: AttachedPlan) -> dict[str, Any]:
    """As a sandbox's; the members' duration and the messages' times are unknown.

    `method` is the one used, `asked_method` the requested one, `instead` why they differ; `brokers` by name.
    """
    return {
        "seq": str(seq), "at_ms": at_ms, **draw_rows(wish, plan.plan), "catch_up_ms": None, "histogram": [],
        "method": plan.method, "asked_method": wish.method,
        "instead": None if plan.instead is None else draw_refusal(plan.instead),
        "brokers": {name: {"version": version_of(current.seen), "writes_itself": current.writes_itself}
                    for name, current in plan.facts.items()},
    }


async def ask_brokers(reach: Reach, picture: Picture, group: str, topic: str, *,
                      time_ms: int | None = None) -> dict[str, BrokerFacts]:
    """Every master that has the topic, in parallel.  One that does not answer raises: half a plan is useless."""
    configs = await brokers_with(reach, picture, topic)
    masters = picture.masters()
    missing = [name for name in configs if name not in masters or masters[name].lost]
    if missing:
        raise ActionRefused(503, "Broker {name} has no master now.", "Only a master knows offsets; wait for it.",
                            name=missing[0])
    found = await asyncio.gather(*(_ask(reach, masters[name], config, group, topic, time_ms)
                                   for name, config in configs.items()))
    return dict(zip(configs, found, strict=True))


async def _ask(reach: Reach, seen: BrokerSeen, config: TopicConfig, group: str, topic: str,
               time_ms: int | None) -> BrokerFacts:
    address = seen.address
    ends = await reach.topic_ends(address, topic)
    offsets = await reach.all_offsets(address)
    members: ConsumerConnection | None = None
    try:
        members = await reach.members(address, group)
    except BrokerRefused as why:
        if why.code != ResponseCode.CONSUMER_NOT_ONLINE:
            raise
    by_time: dict[int, int] = {}
    if time_ms is not None:
        for queue_id in range(config.read_queues):
            by_time[queue_id] = await reach.at_time(address, MessageQueue(topic, seen.name, queue_id), time_ms)
    return BrokerFacts(seen, config, ends, offsets, members, await _writes_itself(reach, seen), by_time)


async def _writes_itself(reach: Reach, seen: BrokerSeen) -> bool:
    """A 5.x broker has it in its settings; 4.9 has no such setting, and one that hides its settings counts as 4.9."""
    if not (seen.runtime.version or "").startswith("V5"):
        return False
    try:
        return (await reach.config(seen.address)).get(SETTING) == "true"
    except BrokerRefused:
        return False


def _method(facts: dict[str, BrokerFacts], wish: ResetWish, *, of_all: bool) -> tuple[str, Refusal | None]:
    """A broker that only notifies its members can send them a time or the end, for all queues of a topic at once."""
    if wish.method != "online" or all(current.writes_itself for current in facts.values()):
        return wish.method, None
    name, current = next((name, current) for name, current in facts.items() if not current.writes_itself)
    values = {"broker": name, "version": version_of(current.seen) or "4.9"}
    if wish.target not in KNOWN_LIVE:
        return "offline", Refusal("Live, broker {broker} ({version}) can tell members a point in time or the latest "
                                  "only, so this is done offline.", "Every member must be stopped for that.", values)
    if not of_all:
        return "offline", Refusal("Live, broker {broker} ({version}) resets all queues of a topic at once, so this is "
                                  "done offline.", "Choose all queues, or stop every member.", values)
    return "online", None


def _row(seen: GroupSeen, current: BrokerFacts, wish: ResetWish, mq: MessageQueue, *, method: str,
         selected: bool) -> PlannedQueue:
    end = current.ends.get(mq.queue_id)
    low, high = (0, 0) if end is None else (max(0, end.min_offset), max(0, end.max_offset))
    committed = current.committed(wish.group, mq)
    target, notes = fitted(_wished(current, wish, mq, committed, low, high), low, high)
    owner, held = seen.holder(mq)
    if committed is None:
        notes.append(Note("no_stored", "the group has no stored offset here", {}))
    if target is not None:
        notes += _remarks(seen, current, wish, mq, method)
        if wish.target == "time" and end is not None and high > 0 and 0 < end.last_update_ms < (wish.value or 0):
            notes.append(Note("after_last", "no message at or after that time; RocketMQ takes the last one",
                              {"last_ms": end.last_update_ms}))
    in_memory = None if held is None or held.committed_offset < 0 else held.committed_offset
    return PlannedQueue(mq, low, high, committed, in_memory, target, owner, selected, tuple(notes))


def _wished(current: BrokerFacts, wish: ResetWish, mq: MessageQueue, committed: int | None, low: int,
            high: int) -> int | None:
    return wished_offset(wish, committed, low, high, at_time=lambda: current.by_time[mq.queue_id],
                         copied=lambda: current.committed(wish.source_group or "", mq))


def _remarks(seen: GroupSeen, current: BrokerFacts, wish: ResetWish, mq: MessageQueue, method: str) -> list[Note]:
    notes: list[Note] = []
    owner, held = seen.holder(mq)
    if held is not None and held.cached_count + held.taken_count:
        notes.append(Note("held", "{count} messages lie with its member", {
            "count": held.cached_count + held.taken_count}))
    if lock_row(seen, mq) is not None:
        notes.append(Note("locked_by", "locked by {holder}", {"holder": owner}))
    if method != "online" or current.writes_itself or current.members is None:
        return notes
    if current.members.consume_type == "CONSUME_ACTIVELY":
        notes.append(Note("not_heard", "a pull consumer does not hear a live reset; nothing will move here", {}))
    elif owner is not None and seen.members[owner].language == "CPP":
        text = "its owner is a C++ client, which does not read what this broker tells it"
        notes.append(Note("not_heard_in_cpp", text, {}))
    return notes


def _refusal(facts: dict[str, BrokerFacts], wish: ResetWish, rows: tuple[PlannedQueue, ...], online: tuple[str, ...],
             method: str, instead: Refusal | None) -> Refusal | None:
    members = [current.members for current in facts.values() if current.members is not None]
    if any(one.message_model == "BROADCASTING" for one in members):
        return Refusal("A broadcasting group keeps its offsets with each member; the broker has none.",
                       "Nothing can be reset from here.")
    if method == "offline":
        if not online:
            return None
        return instead or Refusal("Members of the group are online and would overwrite it.",
                                  "Stop them, or choose the live method.")
    if not online:
        return Refusal("Nobody of the group is online to be told (code 206).", "Choose the offline method.")
    notifying = {name: current for name, current in facts.items() if not current.writes_itself}
    alone = [name for name, current in notifying.items() if current.members is None]
    if alone:
        return Refusal("Nobody of the group is online at broker {broker} to be told (code 206).",
                       "Wait for a heartbeat, or stop the group and choose the offline method.", {"broker": alone[0]})
    missing = [mq.row for name, current in notifying.items() for queue_id in range(current.config.write_queues)
               if current.committed(wish.group, mq := MessageQueue(wish.topic, name, queue_id)) is None]
    if missing:
        return Refusal("The group has no stored offset in {queues}; the broker refuses then (code 1).",
                       "Let it consume there once, or stop it and choose the offline method.",
                       {"queues": ", ".join(missing)})
    return None
