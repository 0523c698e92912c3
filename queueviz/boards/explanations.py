"""Explanations of every zone, mark and figure of a Board: RocketMQ's name, its source, and what changes its value.

The legend, the header figures and the tooltip of a strip use this one list.  Facts: RocketMQ 4.9.8.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _


class Explained(NamedTuple):
    term: str  # RocketMQ's
    kept: Any
    changes: Any


NO_COUNTER = "–"  # RocketMQ has none

EXPLAINED: dict[str, Explained] = {
    # zones
    "deleted": Explained(
        "minOffset",
        _(
            "The log file of these messages was deleted. Messages below the smallest offset of the queue cannot "
            "be read."
        ),
        _("The broker deletes log files by age and by free disk space."),
    ),
    "unread": Explained(
        "minOffset > consumerOffset",
        _(
            "The broker deleted these messages before the group pulled them. They stay in the lag until a "
            "pull moves the group's offset to the smallest offset of the queue."
        ),
        _("Retention ignores groups. A group that is further behind than the log is long loses messages."),
    ),
    "done": Explained(
        "ConsumerOffsetManager.offsetTable",
        _("These messages are below the committed offset, which the broker stores. A new owner starts above them."),
        _("Each commit of the owner makes this zone longer."),
    ),
    "risk": Explained(
        "RemoteBrokerOffsetStore.offsetTable",
        _(
            "These messages are finished, but only the client has this information. If it crashes now, they are "
            "redelivered."
        ),
        _("Each return of a listener makes this zone longer. The next commit empties it."),
    ),
    "finished": Explained(
        "ProcessQueue.removeMessage()",
        _(
            "These messages are finished, but an older message is not. The offset in memory waits for the older "
            "message."
        ),
        _("When the older message is finished, these messages join the finished ones before them."),
    ),
    "working": Explained(
        "ProcessQueue.msgTreeMap, consumingMsgOrderlyTreeMap",
        _("A worker thread processes this message now."),
        _("Processing ends when the listener returns. In orderly mode, one thread works on a queue at a time."),
    ),
    "waiting": Explained(
        "ProcessQueue.msgTreeMap",
        _("These messages are pulled, and buffered in the client until a thread is free."),
        _("Pulls fill the buffer, up to limits of count, size and offset span. Finished messages leave it."),
    ),
    "pinned": Explained(
        "ProcessQueue.msgTreeMap.firstKey()",
        _("The offset in memory cannot pass this message: its offset is the smallest unfinished one."),
        _("The listener that processes this message returns or times out."),
    ),
    "lag": Explained(
        "PullRequest.nextOffset, nextBeginOffset",
        _("These messages are at or above the next pull offset: only the broker has them."),
        _("Producers make this zone longer; pulls make it shorter."),
    ),
    "unknown": Explained(
        NO_COUNTER,
        _("The client that holds the queue does not report its progress."),
        _("A client that answers GET_CONSUMER_RUNNING_INFO reports its progress."),
    ),
    "end": Explained(
        "maxOffset",
        _("The offset of the next message."),
        _("Each message stored in the queue raises this offset by one."),
    ),
    # marks
    "committed": Explained(
        "ConsumerOffsetManager.offsetTable, consumerOffset.json",
        _(
            "The broker keeps this offset in memory and writes it to a file every 5 s. Broadcasting members "
            "store it in their own file."
        ),
        _(
            "Members commit every 5 s, with each pull, when they release a queue and when they stop. An offset "
            "reset also changes the committed offset."
        ),
    ),
    "memory": Explained(
        "RemoteBrokerOffsetStore.offsetTable",
        _("This offset is in the memory of the member that owns the queue, and is lost with that memory."),
        _("Each batch that a listener finishes moves this offset to the smallest unfinished offset."),
    ),
    "next": Explained(
        "PullRequest.nextOffset",
        _(
            "The next pull offset is in the memory of the member that owns the queue. A double bar: flow control "
            "pauses the pulls of this queue."
        ),
        _(
            "Each pull response contains the next pull offset (nextBeginOffset). An arc: the broker holds the "
            "pull, at most 15 s."
        ),
    ),
    "ends": Explained(
        "ConsumeQueue.getMinOffsetInQueue(), getMaxOffsetInQueue()",
        _("The smallest readable offset, and the offset of the next message: both ends of a consume queue."),
        _("Deleting log files raises the smallest offset; storing messages raises the offset of the next message."),
    ),
    "none": Explained(
        "QUERY_NOT_FOUND (22)",
        _("The broker has no committed offset of this group for the queue. Lag counts from 0, as mqadmin's does."),
        _("The first commit creates the committed offset. Until then, ConsumeFromWhere decides where a member starts."),
    ),
    "disk": Explained(
        "LocalFileOffsetStore, offsets.json",
        _(
            "This offset is in a file on the member's machine. The member resumes from it after a restart. "
            "Broadcasting uses no other store."
        ),
        _("The member writes its offsets in memory to this file every 5 s and when it stops."),
    ),
    # columns
    "c-lag": Explained(
        "brokerOffset − consumerOffset, storeTimestamp",
        _("Not stored: max − committed of this queue, and the age of its oldest uncommitted message."),
        _("Stored messages raise the lag; commits of the queue's owner lower it."),
    ),
    "c-trend": Explained(
        NO_COUNTER,
        _("RocketMQ stores no lag history. The line shows the last five minutes of this queue, sampled once a second."),
        _("A rising line: more messages stored than committed. A step down: a commit."),
    ),
    "c-lock": Explained(
        "RebalanceLockManager.mqLockTable",
        _(
            "The lock is in the broker's memory only: it names the member that may read the queue in order. The "
            "ring shows the time left of 60 s."
        ),
        _("The owner renews the lock every 20 s. Without an answer from the broker, the owner reads for at most 30 s."),
    ),
    # figures
    "k-lag": Explained(
        "brokerOffset − consumerOffset (mqadmin: Diff)",
        _("Not stored: max − committed, summed over all queues of the topic and of the group's retry topic."),
        _("Stored messages raise the lag; commits lower it."),
    ),
    "k-old": Explained(
        "storeTimestamp",
        _(
            "The age is read from the record of the first message at or above a committed offset: the time since "
            "it was stored."
        ),
        _("The age grows with time. A commit that passes the message lowers it."),
    ),
    "k-risk": Explained(
        NO_COUNTER,
        _("Not counted by RocketMQ: messages at or above the committed offsets that listeners received."),
        _("Each delivery to a listener raises this count; each commit lowers it."),
    ),
    "k-io": Explained(
        "putMessageTopicTimesTotal, CONSUME_OK_TPS",
        _(
            "From the statistics of the broker and of the members: messages stored, and messages accepted by "
            "listeners. In a sandbox: the mean of the last 10 s."
        ),
        _(
            "Producers and the speed of listeners change these rates. For real clients, consumed means "
            "committed. Delivered: GROUP_GET_NUMS."
        ),
    ),
    "k-e2e": Explained(
        NO_COUNTER,
        _("Not counted by RocketMQ: time from the storeTimestamp until a listener accepts, for the last 200 messages."),
        _("Slow listeners, a full buffer and a queue without an owner raise this time."),
    ),
    "k-again": Explained(
        NO_COUNTER,
        _("RocketMQ counts only retries (reconsumeTimes). This figure counts repeated deliveries to listeners."),
        _("Crashes before a commit, queue handovers, retries and resets raise this count."),
    ),
}
