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
        _("Its log file was deleted. Messages below the smallest offset of the queue cannot be read."),
        _("The broker deletes log files by age and by free disk space."),
    ),
    "done": Explained(
        "ConsumerOffsetManager.offsetTable",
        _("Below the committed offset: a new owner starts above it. The broker stores this offset."),
        _("Each commit of the owner makes it longer."),
    ),
    "risk": Explained(
        "RemoteBrokerOffsetStore.offsetTable",
        _("Finished, but known only to the client. A crash now causes a redelivery."),
        _("Each return of a listener makes it longer. The next commit ends it."),
    ),
    "finished": Explained(
        "ProcessQueue.removeMessage()",
        _("Finished, but an older message is not. The offset in memory waits for the older message."),
        _("It joins the rest when the older message is finished."),
    ),
    "working": Explained(
        "ProcessQueue.msgTreeMap, consumingMsgOrderlyTreeMap",
        _("A worker thread processes it now."),
        _("It ends when the listener returns. In orderly mode, one thread works on a queue at a time."),
    ),
    "waiting": Explained(
        "ProcessQueue.msgTreeMap",
        _("Pulled, and buffered in the client until a thread is free."),
        _("Pulls fill it, up to limits of count, size and offset span. Finished messages leave it."),
    ),
    "pinned": Explained(
        "ProcessQueue.msgTreeMap.firstKey()",
        _("The offset in memory cannot pass it: it is the smallest unfinished offset."),
        _("Its listener returns or times out."),
    ),
    "lag": Explained(
        "PullRequest.nextOffset, nextBeginOffset",
        _("At or above the next pull: still on the broker only."),
        _("Producers make it longer, pulls make it shorter."),
    ),
    "unknown": Explained(
        NO_COUNTER,
        _("The client that holds the queue does not report its progress."),
        _("A client that answers GET_CONSUMER_RUNNING_INFO shows it."),
    ),
    "end": Explained(
        "maxOffset",
        _("The offset of the next message."),
        _("Each message stored in the queue moves it by one."),
    ),
    # marks
    "committed": Explained(
        "ConsumerOffsetManager.offsetTable, consumerOffset.json",
        _("In the broker's memory, written to its file every 5 s. Broadcasting members store it in their own file."),
        _("Members commit every 5 s, with each pull, when they release a queue and when they stop. A reset sets it."),
    ),
    "memory": Explained(
        "RemoteBrokerOffsetStore.offsetTable",
        _("In the memory of the member that owns the queue, and lost with it."),
        _("Each batch a listener finishes moves it to the smallest unfinished offset."),
    ),
    "next": Explained(
        "PullRequest.nextOffset",
        _("In the memory of the member that owns the queue. A double bar: flow control pauses its pulls."),
        _(
            "Each pull response contains the next one (nextBeginOffset). An arc: the broker holds the pull, at "
            "most 15 s."
        ),
    ),
    "ends": Explained(
        "ConsumeQueue.getMinOffsetInQueue(), getMaxOffsetInQueue()",
        _("The smallest readable offset, and the offset of the next message: both ends of a consume queue."),
        _("Deleting log files moves the first, storing messages moves the second."),
    ),
    "none": Explained(
        "QUERY_NOT_FOUND (22)",
        _("The broker has no committed offset of this group for the queue. Lag counts from 0, as mqadmin's does."),
        _("The first commit creates it. Until then, ConsumeFromWhere decides where a member starts."),
    ),
    "disk": Explained(
        "LocalFileOffsetStore, offsets.json",
        _(
            "In a file on the member's machine. The member resumes from it after a restart. Broadcasting uses no "
            "other store."
        ),
        _("The member writes its offsets in memory to this file every 5 s and when it stops."),
    ),
    # columns
    "c-lag": Explained(
        "brokerOffset − consumerOffset, storeTimestamp",
        _("Not stored: max − committed of this queue, and the age of its oldest uncommitted message."),
        _("Stored messages raise it, commits of the queue's owner lower it."),
    ),
    "c-trend": Explained(
        NO_COUNTER,
        _("RocketMQ stores no lag history. This is the last five minutes of this queue, sampled once a second."),
        _("A rising line: more messages stored than committed. A step down: a commit."),
    ),
    "c-lock": Explained(
        "RebalanceLockManager.mqLockTable",
        _(
            "In the broker's memory, lost with it: the member that may read the queue in order. The ring shows "
            "the time left of 60 s."
        ),
        _("The owner renews it every 20 s. Without an answer, it reads for at most 30 s."),
    ),
    # figures
    "k-lag": Explained(
        "brokerOffset − consumerOffset (mqadmin: Diff)",
        _("Not stored: max − committed, summed over all queues of the topic and of the group's retry topic."),
        _("Stored messages raise it, commits lower it."),
    ),
    "k-old": Explained(
        "storeTimestamp",
        _("From the record of the first message at or above a committed offset: its age since it was stored."),
        _("It grows with time. A commit that passes the message lowers it."),
    ),
    "k-risk": Explained(
        NO_COUNTER,
        _("Not counted by RocketMQ: messages at or above the committed offsets that listeners received."),
        _("Each delivery to a listener raises it, each commit lowers it."),
    ),
    "k-io": Explained(
        "putMessageTopicTimesTotal, CONSUME_OK_TPS",
        _("From the statistics of the broker and of the members: messages stored, and messages accepted by listeners."),
        _("Producers, and the speed of listeners. Real clients: committed messages. Delivered: GROUP_GET_NUMS."),
    ),
    "k-e2e": Explained(
        NO_COUNTER,
        _("Not counted by RocketMQ: time from the storeTimestamp until a listener accepts, for the last 200 messages."),
        _("Slow listeners, a full buffer and a queue without an owner raise it."),
    ),
    "k-again": Explained(
        NO_COUNTER,
        _("RocketMQ counts only retries (reconsumeTimes). This counts repeated deliveries to listeners."),
        _("Crashes before a commit, queue handovers, retries and resets raise it."),
    ),
}
