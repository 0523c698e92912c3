"""One short sentence per fact of the journal, in the reader's language; `words.js` fills it in.

A template names fields of the event.  Made names: {queue} is the short queue name, {who} the member's label, {holder}
and {previous} likewise; numbers get thin spaces, fields ending in `_ms` become durations, a list is its length, and
fields of `VALUES_OF` hold words of `VALUES`.  A key may name a field's value too, as in `ClockChanged:rate=0`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.boards.counted import Counted


class FactText(NamedTuple):
    tone: str  # quiet, move, bad, lock, warn, ok: how the word is coloured
    word: Any
    text: Any
    mark: str = ""  # on the scrubber: move, lock, warn, bad, act


_LOCKS_LOST = Counted(
    lambda n: ngettext("{broker} lost {count} lock with its memory", "{broker} lost {count} locks with its memory", n),
    "count",
)
_ENTRIES = Counted(lambda n: ngettext("{file}, {entries} entry", "{file}, {entries} entries", n), "entries")
_DEAD = Counted(
    lambda n: ngettext("{queue} {offset} after {reconsume_times} try",
                       "{queue} {offset} after {reconsume_times} tries", n),
    "reconsume_times",
)  # fmt: skip
_GIVEN_UP = Counted(
    lambda n: ngettext("{transaction_id} of {producer_group} given up after {checks} check",
                       "{transaction_id} of {producer_group} given up after {checks} checks", n),
    "checks",
)  # fmt: skip
_UNFLUSHED = Counted(
    lambda n: ngettext("{broker} lost {messages} message, {answered} had their OK",
                       "{broker} lost {messages} messages, {answered} had their OK", n),
    "messages",
)  # fmt: skip

_REPEATED = Counted(
    lambda n: ngettext("{count} message came twice: {who} crashed before it was committed",
                       "{count} messages came twice: {who} crashed before they were committed", n),
    "count",
)  # fmt: skip

FACTS: dict[str, FactText] = {
    "SandboxOpened": FactText("ok", _("opened"), _("sandbox opened from template {template}")),
    "SandboxSlept": FactText("quiet", _("asleep"), _("fell asleep: {reason}")),
    "SandboxWoken": FactText("ok", _("awake"), _("woken after {slept_ms}")),
    "ActionTaken": FactText("move", _("action"), _("{what}, by {by}"), "act"),
    "ClockChanged": FactText("quiet", _("clock"), _("clock runs at {rate}×")),
    "ClockChanged:rate=0": FactText("quiet", _("clock"), _("the world stands still")),
    "LimitReached": FactText("warn", _("limit"), _("{limit}: {value} of {allowed} for {who}"), "warn"),
    "FlowSkipped": FactText("quiet", _("skipped"), _("details of busy seconds left out")),
    "Keyframe": FactText("quiet", _("keyframe"), _("the state of everything written down")),
    "JournalTrimmed": FactText("quiet", _("trimmed"), _("journal now begins at #{first_seq}")),
    "HandlerFailed": FactText("bad", _("failed"), _("{node} could not answer request {request_code}"), "bad"),
    "BrokerStarted:role=SLAVE": FactText("ok", _("broker"), _("slave {broker_id} of {broker} started at {address}")),
    "BrokerStarted": FactText("ok", _("broker"), _("{broker} started at {address}")),
    "BrokerStopped:broker_id=0": FactText("bad", _("broker"), _("{broker} stopped: {how}"), "bad"),
    "BrokerStopped": FactText("bad", _("broker"), _("slave {broker_id} of {broker} stopped: {how}"), "bad"),
    "RecoveryDone": FactText(
        "ok",
        _("recovery"),
        Counted(
            lambda n: ngettext("{broker} recovered {messages} message", "{broker} recovered {messages} messages", n),
            "messages",
        ),
    ),
    "NameServerStarted": FactText("ok", _("name server"), _("{name_server} started")),
    "NameServerStopped": FactText("bad", _("name server"), _("{name_server} stopped"), "bad"),
    "RouteChanged": FactText("move", _("route"), _("{name_server}: {broker} {why}")),
    "RouteLearned": FactText("quiet", _("route"), _("{who} learned the route of {topic}")),
    "LinkChanged:one_way=true": FactText("warn", _("link"), _("from {a} to {b} only: {state}"), "warn"),
    "LinkChanged": FactText("warn", _("link"), _("{a} and {b}: {state}"), "warn"),
    "TopicChanged": FactText(
        "move", _("topic"), _("{topic} on {broker}: {write_queues} to write, {read_queues} to read")
    ),
    "TopicChanged:how=deleted": FactText("move", _("topic"), _("{topic} deleted on {broker}")),
    "GroupChanged": FactText("quiet", _("group"), _("settings of {group} changed on {broker}")),
    "BrokerConfigChanged": FactText("move", _("settings"), _("settings of {broker} changed")),
    "ClientConnected": FactText("quiet", _("connected"), _("{who} connected from {address}")),
    "ClientDisconnected": FactText("quiet", _("left"), _("{who} disconnected: {reason}")),
    "ConnectionRefused": FactText("bad", _("refused"), _("{address} refused: {reason}"), "warn"),
    "LifecycleStep": FactText("quiet", _("step"), _("{who} {phase}: {name}, {took_ms}")),
    "MemberStateChanged": FactText("warn", _("member"), _("{who} is {state}"), "bad"),
    "MemberJoined": FactText("move", _("joined"), _("{who} joined {group} at {broker}")),
    "MemberLeft": FactText("move", _("left"), _("{broker} dropped {who} from {group}: {reason}")),
    "MemberLeft:reason=unnamed": FactText("bad", _("left"), _("no broker names {who} in {group} any more"), "bad"),
    "MembersNotified": FactText("quiet", _("notified"), _("{broker} told the members of {group}")),
    "SubscriptionChanged": FactText("quiet", _("subscribed"), _("{who} reads {topic} with {expression}")),
    "QueuesAssigned": FactText(
        "move",
        _("rebalance"),
        Counted(
            lambda n: ngettext(
                "{who} has {queues} queue: +{added}, −{dropped}",
                "{who} has {queues} queues: +{added}, −{dropped}",
                n,
            ),
            "queues",
        ),
        "move",
    ),
    "QueueTaken": FactText("move", _("took"), _("{who} took {queue} at {start_offset}")),
    "QueueDropped": FactText("quiet", _("dropped"), _("{who} gave up {queue}: {reason}")),
    "QueueLocked": FactText("lock", _("lock"), _("{queue} locked by {who}, {how}"), "lock"),
    "LockDenied": FactText("lock", _("denied"), _("{who} refused on {queue}: held by {holder} for {left_ms}"), "lock"),
    "QueueUnlocked:why=forced": FactText("lock", _("unlock"), _("{queue} taken from {who} by force"), "lock"),
    "QueueUnlocked": FactText("lock", _("unlock"), _("{queue} unlocked by {who}")),
    "LockLapsed": FactText("lock", _("lapsed"), _("{who} stopped trusting its lock on {queue}")),
    "LocksLost": FactText("lock", _("locks"), _LOCKS_LOST, "bad"),
    "OffsetCommitted": FactText("quiet", _("commit"), _("{queue} committed {offset}")),
    "OffsetsPersisted": FactText("quiet", _("persisted"), _ENTRIES),
    "OffsetsReset": FactText(
        "warn", _("reset"), _("offsets of {group} moved: {replayed} come again, {skipped} skipped"), "act"
    ),
    "OffsetsReset:method=undo": FactText("warn", _("reset"), _("offsets of {group} are back where they were"), "act"),
    "ResetStepDone:step=told": FactText("move", _("reset"), _("{who} was told of the reset")),
    "ResetStepDone:step=dropped": FactText("move", _("reset"), _("{who} dropped its queues")),
    "ResetStepDone:step=waiting": FactText("quiet", _("reset"), _("{who} waits 10 s for messages in work")),
    "ResetStepDone:step=resumed": FactText("move", _("reset"), _("{who} pulls from the new offsets")),
    "ResetStepDone:step=verified": FactText("ok", _("reset"), _("{who} kept the new offsets for a minute")),
    "ResetStepDone:step=overwritten": FactText("warn", _("reset"), _("a late commit of {who} overwrote the reset")),
    "ResetStepDone": FactText("move", _("reset"), _("{who}: {step}")),
    "OffsetMoved": FactText("warn", _("corrected"), _("{queue}: {asked} became {given}"), "warn"),
    "MinOffsetMoved": FactText("warn", _("min"), _("{queue} begins at {offset} now"), "warn"),
    "FlowControlChanged": FactText(
        "warn", _("flow"), _("{who} holds back {queue}: {limit} {value}, {allowed} allowed"), "warn"
    ),
    "FlowControlChanged:limit=null": FactText("move", _("flow"), _("{who} pulls {queue} again")),
    "CrashRepeated": FactText("warn", _("came twice"), _REPEATED, "warn"),
    "MessagePinned": FactText("warn", _("pinned"), _("{queue} held at {offset} by {key}"), "warn"),
    "MessageDeadLettered": FactText("bad", _("dead letter"), _DEAD, "bad"),
    "BodyLeftPacked": FactText(
        "warn", _("packed"), _("{who} got {queue} {offset} with its body as it is stored: {why}"), "warn"
    ),
    "MessageConsumedOnce:remark=null": FactText(
        "move", _("once"), _("{who} consumed {queue} {offset} once more in {took_ms}: {result}")
    ),
    "MessageConsumedOnce": FactText("warn", _("once"), _("{queue} {offset} once more: {result}, {remark}"), "warn"),
    "TransactionPrepared": FactText("quiet", _("prepared"), _("{producer_group} prepared {transaction_id}")),
    "TransactionChecked": FactText(
        "move", _("checked"), _("{who} was asked what became of {transaction_id}: check {checks}")
    ),
    "TransactionChecked:client_id=null": FactText(
        "warn", _("checked"), _("nobody of {producer_group} could be asked about {transaction_id}: check {checks}")
    ),
    "TransactionEnded:outcome=commit": FactText(
        "ok", _("committed"), _("{transaction_id} of {producer_group} committed")
    ),
    "TransactionEnded:outcome=rollback": FactText(
        "move", _("rolled back"), _("{transaction_id} of {producer_group} rolled back")
    ),
    "TransactionEnded:outcome=discarded": FactText("bad", _("discarded"), _GIVEN_UP, "bad"),
    "CommitLogRolled": FactText("quiet", _("rolled"), _("{broker} began log file {file}")),
    "IndexFileRolled": FactText("quiet", _("rolled"), _("{broker} began index file {file}")),
    "FilesDeleted": FactText("warn", _("deleted"), _("{broker} deleted files of {kind}: {why}")),
    "UnflushedLost": FactText("bad", _("lost"), _UNFLUSHED, "bad"),
    "DiskChanged": FactText("warn", _("disk"), _("disk of {broker}: {state}"), "warn"),
    "NodeSilent": FactText(
        "bad", _("silent"), _("{node} ({address}) does not answer; it last did {quiet_ms} ago"), "bad"
    ),
    "NodeAnswered": FactText("ok", _("answers"), _("{node} ({address}) answers again after {silent_ms}")),
    "NodeAnswered:silent_ms=null": FactText("ok", _("answers"), _("{node} ({address}) answers")),
    "LagMarked:state=over": FactText("warn", _("lag"), _("{group} is {lag} behind, over the mark of {mark}"), "warn"),
    "LagMarked": FactText("ok", _("lag"), _("{group} is {lag} behind, under half the mark of {mark}")),
    "ReplicationChanged": FactText("move", _("replica"), _("{broker}: slave {slave_id} {state}")),
}

# Words that fields hold; what is not here is a name.
VALUES_OF = ("state", "reason", "how", "why", "kind", "step", "phase", "limit")
VALUES: dict[str, Any] = {
    "starting": _("starting"), "running": _("running"), "hung": _("hung"), "stopping": _("stopping"),
    "stopped": _("stopped"), "crashed": _("crashed"), "refused": _("refused"), "removed": _("removed"),
    "clean": _("cleanly"), "killed": _("killed"), "power_cut": _("power cut"),
    "unreachable": _("no answer"),
    "registered": _("registered"), "unregistered": _("unregistered"), "closed": _("connection closed"),
    "expired": _("silent for too long"), "permission": _("permission changed"), "cut": _("cut"), "healed": _("healed"),
    "delayed": _("delayed"), "protocol": _("protocol error"), "member": _("a member changed"), 
    "topics": _("a topic changed"),
    "rebalance": _("rebalance"), "idle": _("idle for too long"), "illegal_offset": _("offset out of range"),
    "reset": _("reset"), "shutdown": _("shutdown"), "unsubscribed": _("unsubscribed"), "forced": _("forced"),
    "free": _("it was free"), "renewed": _("renewed"), "taken_over": _("taken over"), "age": _("too old"),
    "disk": _("disk too full"), "manual": _("by hand"), "ok": _("ok"), "full": _("full"), "failing": _("failing"),
    "connected": _("connected"), "behind": _("behind"), "lost": _("lost"), "start": _("starts"), "stop": _("stops"),
    "count": _("count"), "size": _("size"), "span": _("span"), "action": _("by hand"), "wake": _("woken"),
    "commitlog": _("the commit log"), "consumequeue": _("consume queues"), "index": _("the index"),
    "normal": _("normal"), "abnormal": _("abnormal"),
    "connections": _("too many connections"), "unread": _("it does not read its answers"),
    "unfinished": _("too many unfinished frames"), "pending_requests": _("unanswered requests"),
}  # fmt: skip
