"""All event types.

Past tense, facts only, no references to engine objects.  The list is closed: adding one changes this module, the
line that writes it and docs/events.md in one commit.  Offsets and sizes are 64-bit (`shapes.Long`); `_ms` is on the
sandbox clock.  FLOW events may be skipped by the valve, and then `FlowSkipped` says
which offsets; all others are facts.
"""

from typing import NamedTuple, get_args

from sandbox.journal.events.disk import (
    CommitLogRolled,
    DiskChanged,
    FilesDeleted,
    IndexFileRolled,
    ReplicationChanged,
    UnflushedLost,
)
from sandbox.journal.events.life import (
    ActionTaken,
    ClockChanged,
    FlowSkipped,
    HandlerFailed,
    JournalTrimmed,
    Keyframe,
    LimitReached,
    SandboxOpened,
    SandboxSlept,
    SandboxWoken,
)
from sandbox.journal.events.members import (
    LifecycleStep,
    LockDenied,
    LockLapsed,
    LocksLost,
    MemberJoined,
    MemberLeft,
    MembersNotified,
    MemberStateChanged,
    QueueDropped,
    QueueLocked,
    QueuesAssigned,
    QueueTaken,
    QueueUnlocked,
    SubscriptionChanged,
)
from sandbox.journal.events.messages import (
    BodyLeftPacked,
    CrashRepeated,
    DelayedMessageDue,
    FlowControlChanged,
    MessageConsumedOnce,
    MessageDeadLettered,
    MessagePinned,
    MessageRetried,
    MessagesConsumed,
    MessagesFiltered,
    MessagesStored,
    PullAnswered,
    PullSuspended,
    SendFailed,
    TransactionChecked,
    TransactionEnded,
    TransactionPrepared,
)
from sandbox.journal.events.nodes import (
    BrokerConfigChanged,
    BrokerRegistered,
    BrokerStarted,
    BrokerStopped,
    ClientConnected,
    ClientDisconnected,
    ConnectionRefused,
    GroupChanged,
    LinkChanged,
    NameServerStarted,
    NameServerStopped,
    RecoveryDone,
    RouteChanged,
    RouteLearned,
    TopicChanged,
)
from sandbox.journal.events.offsets import (
    MinOffsetMoved,
    OffsetCommitted,
    OffsetMoved,
    OffsetsPersisted,
    OffsetsReset,
    ResetStepDone,
)
from sandbox.journal.events.watched import LagMarked, NodeAnswered, NodeSilent
from sandbox.journal.events.wire import CommandExchanged

Event = (
    SandboxOpened | SandboxSlept | SandboxWoken | ActionTaken | ClockChanged | LimitReached | FlowSkipped | Keyframe
    | JournalTrimmed | HandlerFailed
    | BrokerStarted | BrokerStopped | RecoveryDone | NameServerStarted | NameServerStopped | BrokerRegistered
    | RouteChanged | RouteLearned | LinkChanged | TopicChanged | GroupChanged | BrokerConfigChanged | ClientConnected
    | ClientDisconnected | ConnectionRefused
    | LifecycleStep | MemberStateChanged | MemberJoined | MemberLeft | MembersNotified | SubscriptionChanged
    | QueuesAssigned | QueueTaken | QueueDropped | QueueLocked | LockDenied | QueueUnlocked | LockLapsed | LocksLost
    | OffsetCommitted | OffsetsPersisted | OffsetsReset | ResetStepDone | OffsetMoved | MinOffsetMoved
    | MessagesStored | SendFailed | PullSuspended | PullAnswered | MessagesFiltered | BodyLeftPacked
    | MessagesConsumed | CrashRepeated
    | FlowControlChanged | MessagePinned | MessageRetried | MessageDeadLettered | MessageConsumedOnce
    | DelayedMessageDue
    | TransactionPrepared | TransactionEnded | TransactionChecked
    | CommitLogRolled | IndexFileRolled | FilesDeleted | UnflushedLost | DiskChanged | ReplicationChanged
    | CommandExchanged
    | NodeSilent | NodeAnswered | LagMarked
)  # fmt: skip

ALL: tuple[type[Event], ...] = get_args(Event)

FLOW: frozenset[type[Event]] = frozenset({
    BrokerRegistered, OffsetCommitted, MessagesStored, SendFailed, PullSuspended, PullAnswered, MessagesFiltered,
    MessagesConsumed, MessageRetried, DelayedMessageDue,
    CommandExchanged,
})  # fmt: skip

BY_NAME: dict[str, type[Event]] = {event.__name__: event for event in ALL}


class Entry(NamedTuple):
    """One line of the journal; `cause` is the seq of the `ActionTaken` in whose turn it was written."""

    seq: int
    at_ms: int
    cause: int | None
    event: Event


__all__ = [
    "ALL",
    "BY_NAME",
    "FLOW",
    "ActionTaken",
    "BodyLeftPacked",
    "BrokerConfigChanged",
    "BrokerRegistered",
    "BrokerStarted",
    "BrokerStopped",
    "ClientConnected",
    "ClientDisconnected",
    "ClockChanged",
    "CommandExchanged",
    "CommitLogRolled",
    "ConnectionRefused",
    "CrashRepeated",
    "DelayedMessageDue",
    "DiskChanged",
    "Entry",
    "Event",
    "FilesDeleted",
    "FlowControlChanged",
    "FlowSkipped",
    "GroupChanged",
    "HandlerFailed",
    "IndexFileRolled",
    "JournalTrimmed",
    "Keyframe",
    "LagMarked",
    "LifecycleStep",
    "LimitReached",
    "LinkChanged",
    "LockDenied",
    "LockLapsed",
    "LocksLost",
    "MemberJoined",
    "MemberLeft",
    "MemberStateChanged",
    "MembersNotified",
    "MessageConsumedOnce",
    "MessageDeadLettered",
    "MessagePinned",
    "MessageRetried",
    "MessagesConsumed",
    "MessagesFiltered",
    "MessagesStored",
    "MinOffsetMoved",
    "NameServerStarted",
    "NameServerStopped",
    "NodeAnswered",
    "NodeSilent",
    "OffsetCommitted",
    "OffsetMoved",
    "OffsetsPersisted",
    "OffsetsReset",
    "PullAnswered",
    "PullSuspended",
    "QueueDropped",
    "QueueLocked",
    "QueueTaken",
    "QueueUnlocked",
    "QueuesAssigned",
    "RecoveryDone",
    "ReplicationChanged",
    "ResetStepDone",
    "RouteChanged",
    "RouteLearned",
    "SandboxOpened",
    "SandboxSlept",
    "SandboxWoken",
    "SendFailed",
    "SubscriptionChanged",
    "TopicChanged",
    "TransactionChecked",
    "TransactionEnded",
    "TransactionPrepared",
    "UnflushedLost",
]
