"""Symptoms by which labs are found, each in the words of the person who observed it."""

from sandbox.labs.translation_marks import _

SYMPTOMS = {
    "lag-and-throughput": _("Lag grows, and another member does not help."),
    "crash-and-stop": _("Messages are delivered twice after a restart."),
    "pinned-offset": _("Messages finish, but the consumer offset does not rise."),
    "members-and-queues": _("A new consumer gets no messages."),
    "idempotent-handler": _("A customer is charged twice for one order."),
    "dead-letter": _("A message fails again and again, and then it is gone."),
    "two-subscriptions": _("Some messages never arrive, although all consumers run."),
    "start-offset": _("A new group reads old messages, or misses the first ones."),
    "reset-by-time": _("A handler was wrong for an hour: process that hour again."),
    "orderly-lock": _("After a crash, an ordered queue waits for a minute."),
    "poison-in-order": _("One queue of an ordered group is stuck; its neighbours move."),
    "failed-send": _("A send failed, but the message arrived all the same."),
    "hot-queue": _("One queue has all the lag; the others are idle."),
    "flow-control": _("A consumer pauses its pulls although messages wait."),
    "write-and-read-counts": _("Some queues get messages that no consumer reads."),
    "shrink-queues": _("A topic has too many queues: remove some and lose nothing."),
    "strategies": _("One more consumer, and almost every queue changes its owner."),
    "queue-entry": _("How does a queue know where its messages are?"),
    "key-index": _("What does a search by key read, and what does it return?"),
    "retention": _("Messages were deleted before a group read them."),
    "delay-and-half": _("A message was sent, and no consumer receives it yet."),
    "broadcasting": _("After a short absence, a screen misses messages."),
    "flush-and-replicate": _("The broker said OK, and after a power cut the message is gone."),
    "master-dies": _("The master is down: one group continues, another stops."),
    "name-server-expiry": _("A broker is dead, and clients still send to it."),
    "rolling-restart": _("A deploy moves all queues and repeats messages."),
}
