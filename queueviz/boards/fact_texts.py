"""One short sentence per fact of the journal, in the reader's language; the page and the server write the same one.

A template names fields of the event.  Made names: {queue} is the short queue name, {who} the member's label, {holder}
and {previous} likewise; numbers get thin spaces, fields ending in `_ms` become durations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _

from queueviz.templatetags.formats import duration, number


class FactText(NamedTuple):
    tone: str  # quiet, move, bad, lock, warn, ok: how the word is coloured
    word: Any
    text: Any
    mark: str = ""  # on the scrubber: move, lock, warn, bad, act


FACTS: dict[str, FactText] = {
    "SandboxOpened": FactText("ok", _("opened"), _("sandbox opened from template {template}")),
    "SandboxSlept": FactText("quiet", _("asleep"), _("fell asleep: {reason}")),
    "SandboxWoken": FactText("ok", _("awake"), _("woken after {slept_ms}")),
    "ActionTaken": FactText("move", _("action"), _("{action} by {by}"), "act"),
    "ClockChanged": FactText("quiet", _("clock"), _("clock runs at {rate}×")),
    "LimitReached": FactText("warn", _("limit"), _("{limit}: {value} of {allowed} for {who}"), "warn"),
    "FlowSkipped": FactText("quiet", _("skipped"), _("details of busy seconds left out")),
    "JournalTrimmed": FactText("quiet", _("trimmed"), _("journal now begins at #{first_seq}")),
    "HandlerFailed": FactText("bad", _("failed"), _("{node} could not answer request {request_code}"), "bad"),
    "BrokerStarted": FactText("ok", _("broker"), _("{broker} started at {address}")),
    "BrokerStopped": FactText("bad", _("broker"), _("{broker} stopped: {how}"), "bad"),
    "RecoveryDone": FactText(
        "ok", _("recovery"), _("{broker} recovered {messages} messages, cut {truncated_bytes} bytes")
    ),
    "NameServerStarted": FactText("ok", _("name server"), _("{name_server} started")),
    "NameServerStopped": FactText("bad", _("name server"), _("{name_server} stopped"), "bad"),
    "RouteChanged": FactText("move", _("route"), _("{name_server}: {broker} {why}")),
    "RouteLearned": FactText("quiet", _("route"), _("{who} learned the route of {topic}")),
    "LinkChanged": FactText("warn", _("link"), _("{a} to {b}: {state}"), "warn"),
    "TopicChanged": FactText(
        "move", _("topic"), _("{topic} on {broker}: {write_queues} write, {read_queues} read queues")
    ),
    "GroupChanged": FactText("quiet", _("group"), _("settings of {group} changed on {broker}")),
    "BrokerConfigChanged": FactText("move", _("settings"), _("settings of {broker} changed")),
    "ClientConnected": FactText("quiet", _("connected"), _("{who} connected from {address}")),
    "ClientDisconnected": FactText("quiet", _("left"), _("{who} disconnected: {reason}")),
    "ConnectionRefused": FactText("bad", _("refused"), _("{address} refused: {reason}"), "warn"),
    "LifecycleStep": FactText("quiet", _("step"), _("{who} {phase}: {name}, {took_ms}")),
    "MemberStateChanged": FactText("warn", _("member"), _("{who} is {state}"), "bad"),
    "MemberJoined": FactText("move", _("joined"), _("{who} joined {group} at {broker}")),
    "MemberLeft": FactText("move", _("left"), _("{broker} dropped {who} from {group}: {reason}")),
    "MembersNotified": FactText("quiet", _("notified"), _("{broker} told the members of {group}")),
    "SubscriptionChanged": FactText("quiet", _("subscribed"), _("{who} reads {topic} with {expression}")),
    "QueuesAssigned": FactText(
        "move", _("rebalance"), _("{who} has {queues}: {added} new, {dropped} given up"), "move"
    ),
    "QueueTaken": FactText("move", _("took"), _("{who} took {queue} at {start_offset}")),
    "QueueDropped": FactText("quiet", _("dropped"), _("{who} gave up {queue}: {reason}")),
    "QueueLocked": FactText("lock", _("lock"), _("{queue} locked by {who}, {how}"), "lock"),
    "LockDenied": FactText("lock", _("denied"), _("{who} refused on {queue}: held by {holder} for {left_ms}"), "lock"),
    "QueueUnlocked": FactText("lock", _("unlock"), _("{queue} unlocked by {who}")),
    "LockLapsed": FactText("lock", _("lapsed"), _("{who} stopped trusting its lock on {queue}")),
    "LocksLost": FactText("lock", _("locks"), _("{broker} lost {count} locks with its memory"), "bad"),
    "OffsetCommitted": FactText("quiet", _("commit"), _("{queue} committed {offset}")),
    "OffsetsPersisted": FactText("quiet", _("persisted"), _("{file}, {entries} entries")),
    "OffsetsReset": FactText(
        "warn", _("reset"), _("offsets of {group} moved, {skipped} skipped, {replayed} again"), "act"
    ),
    "ResetStepDone": FactText("move", _("reset"), _("{who}: {step}")),
    "OffsetMoved": FactText("warn", _("corrected"), _("{queue}: {asked} became {given}"), "warn"),
    "MinOffsetMoved": FactText("warn", _("min"), _("{queue} begins at {offset} now"), "warn"),
    "FlowControlChanged": FactText(
        "warn", _("flow"), _("{who} holds back {queue}: {limit} {value} of {allowed}"), "warn"
    ),
    "MessagePinned": FactText("warn", _("pinned"), _("{queue} held at {offset} by {key}"), "warn"),
    "MessageDeadLettered": FactText(
        "bad", _("dead letter"), _("{queue} {offset} after {reconsume_times} tries"), "bad"
    ),
    "CommitLogRolled": FactText("quiet", _("rolled"), _("{broker} began log file {file}")),
    "IndexFileRolled": FactText("quiet", _("rolled"), _("{broker} began index file {file}")),
    "FilesDeleted": FactText("warn", _("deleted"), _("{broker} deleted files of {kind}: {why}")),
    "UnflushedLost": FactText("bad", _("lost"), _("{broker} lost {messages} messages, {answered} had their OK"), "bad"),
    "DiskChanged": FactText("warn", _("disk"), _("disk of {broker}: {state}"), "warn"),
    "ReplicationChanged": FactText("move", _("replica"), _("{broker}: slave {slave_id} {state}")),
}

# Facts a list shows only on request: they are steps of something another fact tells.
QUIET = frozenset({"OffsetsPersisted", "RouteLearned", "LifecycleStep", "MembersNotified", "SubscriptionChanged"})


def sentence(fact: Mapping[str, Any], who: Callable[[str], str]) -> str:
    """What happened, in one line; `who` turns a client id into the label people know."""
    known = FACTS.get(str(fact["type"]))
    if known is None:
        return str(fact["type"])
    return str(known.text).format_map(_Words(fact, who))


class _Words(dict[str, str]):
    def __init__(self, fact: Mapping[str, Any], who: Callable[[str], str]) -> None:
        super().__init__()
        self._fact, self._who = fact, who

    def __missing__(self, name: str) -> str:
        fact = self._fact
        if name == "queue" and "broker" in fact:
            return f"{fact['broker']}:{fact['queue_id']}"
        if name == "who":
            return self._who(str(fact.get("client_id", fact.get("who", ""))))
        value = fact.get(name)
        if name in ("holder", "previous", "by") and isinstance(value, str):
            return self._who(value)
        if isinstance(value, list | tuple):
            return str(len(value))
        if name.endswith("_ms"):
            return duration(value)
        if name in _NUMBERS:
            return number(value)
        return number(None) if value is None else str(value)


_OFFSETS = ("offset", "start_offset", "asked", "given", "first_seq", "truncated_bytes")
_COUNTS = ("value", "allowed", "messages", "count", "skipped", "replayed", "answered", "entries")
_NUMBERS = frozenset((*_OFFSETS, *_COUNTS))
