"""Explanations of every zone, mark and figure of a Board: RocketMQ's own name, its source, and its causes of change.

One list for the legend, the header figures and the tooltip of a strip.  Facts: RocketMQ 4.9.8.
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
        _("Its log file was cleaned. Below the smallest offset of the queue nothing can be read."),
        _("The broker deletes log files by age and by the room left on the disk."),
    ),
    "done": Explained(
        "ConsumerOffsetManager.offsetTable",
        _("Below the committed offset: a new owner begins above it. The broker keeps that number."),
        _("It grows with each commit of the owner."),
    ),
    "risk": Explained(
        "RemoteBrokerOffsetStore.offsetTable",
        _("Finished, and known to the client only. A crash now makes it come again."),
        _("A listener that returns makes it longer, the next commit ends it."),
    ),
    "finished": Explained(
        "ProcessQueue.removeMessage()",
        _("Finished, but an older message is not: the offset in memory waits for that one."),
        _("It joins the rest when the older message is finished."),
    ),
    "working": Explained(
        "ProcessQueue.msgTreeMap, consumingMsgOrderlyTreeMap",
        _("A worker thread has it now."),
        _("It ends when the listener returns; in order, one thread works on a queue at a time."),
    ),
    "waiting": Explained(
        "ProcessQueue.msgTreeMap",
        _("Pulled and kept in the client until a thread is free."),
        _("Pulls fill it, up to a count, a size and a span; finished messages leave it."),
    ),
    "pinned": Explained(
        "ProcessQueue.msgTreeMap.firstKey()",
        _("The offset in memory cannot pass it: the smallest key of what is unfinished."),
        _("The listener that has it returns, or its time is up."),
    ),
    "lag": Explained(
        "PullRequest.nextOffset, nextBeginOffset",
        _("At or above the next pull: still at the broker only."),
        _("Producers make it longer, pulls shorter."),
    ),
    "unknown": Explained(
        NO_COUNTER,
        _("The client that holds the queue does not report how far it is."),
        _("A client that answers GET_CONSUMER_RUNNING_INFO would show it."),
    ),
    "end": Explained(
        "maxOffset",
        _("The offset the next message gets."),
        _("Each message stored in the queue moves it by one."),
    ),
    # marks
    "committed": Explained(
        "ConsumerOffsetManager.offsetTable, consumerOffset.json",
        _("In the broker's memory, written to its file every 5 s; broadcasting members keep it in their own file."),
        _("Members commit every 5 s, with each pull, when they give a queue up and when they stop; a reset sets it."),
    ),
    "memory": Explained(
        "RemoteBrokerOffsetStore.offsetTable",
        _("In the memory of the member that owns the queue, and lost with it."),
        _("Each batch a listener finishes moves it to the smallest unfinished offset."),
    ),
    "next": Explained(
        "PullRequest.nextOffset",
        _("In the memory of the member that owns the queue. A double bar: a limit holds its pulls back."),
        _("Each pull's answer names the next one (nextBeginOffset). An arc: the broker holds the pull, 15 s at most."),
    ),
    "ends": Explained(
        "ConsumeQueue.getMinOffsetInQueue(), getMaxOffsetInQueue()",
        _("The smallest offset that can be read, and the one the next message gets: ends of a consume queue."),
        _("Cleaning log files moves the first, storing messages the second."),
    ),
    "none": Explained(
        "QUERY_NOT_FOUND (22)",
        _("The broker has no committed offset of this group for the queue. Lag counts from 0, as mqadmin's does."),
        _("The first commit makes one; until then ConsumeFromWhere says where a member begins."),
    ),
    "disk": Explained(
        "LocalFileOffsetStore, offsets.json",
        _("In a file of the member's own machine: where it goes on after a restart. Broadcasting has no other place."),
        _("The member writes its offsets in memory to it every 5 s and when it stops."),
    ),
    # columns
    "c-lag": Explained(
        "brokerOffset − consumerOffset, storeTimestamp",
        _("Kept nowhere: max − committed of this queue, and how long ago the oldest message of it was stored."),
        _("Stored messages raise it, the commits of the queue's owner lower it."),
    ),
    "c-trend": Explained(
        NO_COUNTER,
        _("RocketMQ remembers no lag: the last five minutes of this queue, noted once a second."),
        _("A line that rises: more is stored than committed. A step down is a commit."),
    ),
    "c-lock": Explained(
        "RebalanceLockManager.mqLockTable",
        _("In the broker's memory, lost with it: who may read the queue in order. The ring is what is left of 60 s."),
        _("The owner asks again every 20 s, and reads no longer than 30 s without an answer."),
    ),
    # figures
    "k-lag": Explained(
        "brokerOffset − consumerOffset (mqadmin: Diff)",
        _("Kept nowhere: max − committed, over all queues of the topic, and of the group's retry topic."),
        _("Stored messages raise it, commits lower it."),
    ),
    "k-old": Explained(
        "storeTimestamp",
        _("In the record of the first message at or above a committed offset: how long ago it was stored."),
        _("Time raises it, a commit that passes the message lowers it."),
    ),
    "k-risk": Explained(
        NO_COUNTER,
        _("RocketMQ has no counter of it: messages listeners were given at or above the committed offsets."),
        _("Each message a listener is given raises it, each commit lowers it."),
    ),
    "k-io": Explained(
        "putMessageTopicTimesTotal, CONSUME_OK_TPS",
        _("In the broker's statistics, and in the members': messages stored, and messages listeners accepted."),
        _("Producers, and how fast listeners work. Other clients: what they committed. Delivered: GROUP_GET_NUMS."),
    ),
    "k-e2e": Explained(
        NO_COUNTER,
        _("RocketMQ has no counter of it: from the storeTimestamp until a listener accepted it, of the last 200."),
        _("Slow listeners, a full buffer and a queue without an owner raise it."),
    ),
    "k-again": Explained(
        NO_COUNTER,
        _("RocketMQ counts only retries (reconsumeTimes). This is how often listeners were given a message again."),
        _("Crashes before a commit, queues handed over, retries and resets raise it."),
    ),
}
