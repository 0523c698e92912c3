"""Texts of the Client and the Frames page, for the templates and for the browser's live updates."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from queueviz.texts import Texts

STEPS: Texts = {  # as the engine names them; the order and the numbers are RocketMQ's (its list has sixteen)
    "check config": _("check config"),
    "copy subscriptions": _("copy subscriptions"),
    "load offsets": _("load offsets"),
    "start consume service": _("start consume service"),
    "register in instance": _("register in instance"),
    "register": _("register in instance"),
    "start instance": _("start instance"),
    "fetch routes": _("fetch routes"),
    "check subscriptions at a broker": _("check subscriptions at a broker"),
    "heartbeat": _("heartbeat"),
    "wake rebalance": _("wake rebalance"),
    "stop consume service": _("stop consume service"),
    "persist offsets": _("persist offsets"),
    "unregister": _("unregister"),
    "stop pulling": _("stop pulling"),
    "stop instance": _("stop instance"),  # one step for the next four, in journals of older versions
    "stop inner producer": _("stop inner producer"),
    "stop timers": _("stop timers"),
    "close connections": _("close connections"),
    "stop rebalance": _("stop rebalance"),
    "drop queues": _("release queues"),
}
TIMERS: Texts = {
    "route": _("refresh routes"),
    "heartbeat": _("heartbeat, remove offline brokers"),
    "commit": _("commit offsets"),
    "rebalance": _("rebalance"),
    "lock": _("renew queue locks"),
    "clean": _("send back expired messages"),
    "adjust pool": _("adjust thread pool"),
    "response scan": _("scan for unanswered requests"),
    "fetch name servers": _("fetch name server addresses"),
}
HOW: Texts = {
    "runs": _("runs"),
    "empty": _("runs, does nothing"),
    "off": _("off: addresses are configured"),
    "each": _("not here: each request has its own timer"),
}
WAITS: Texts = {
    "route": _("the route of {topic}: not reported by a name server"),
    "rebalance": _("its first assigned queues"),
    "lock": _("the queue lock of {holder}, {state}"),
    "master": _("a master: only masters lock queues and store offsets"),
    "offset": _("a start offset"),
    "not_locked": _("its own queue lock: 1 s retry"),
    "no_offset": _("a start offset: 1 s retry"),
    "not_subscribed": _("a subscription of the topic: 1 s retry"),
    "pull_failed": _("a broker response: 1 s retry after a failed pull"),
    "broker_busy": _("a busy broker: retry after 20 ms"),
    "flow_control": _("its own listener: flow control checks again every 50 ms"),
    "paused": _("the end of a pause: 1 s retry"),
    "not_running": _("its own start: 1 s retry"),
}
MARKS: Texts = {
    "route": _("received the route of {topic}"),
    "assigned": _("assigned {count} of the queues of {topic}, because {trigger}"),
    "taken": _("acquired {queue} at {offset}: {trace}"),
    "dropped": _("released {queue}: {reason}"),
    "denied": _("lock of {queue} refused: {holder} holds it for {left}"),
}
TRIGGERS: Texts = {
    "timer": _("20 s passed"),
    "notified": _("the broker sent a notification"),
    "started": _("the member started"),
    "resumed": _("the member resumed"),
    "reset": _("offsets were reset"),
}
TRACE: Texts = {  # docs/spec/catalogue.md 2
    "stored": _("stored offset"),
    "zero_in_memory": _("answer 0: stored, or message 0 is still in memory"),
    "not_found": _("no stored offset"),
    "max": _("starts at the latest offset"),
    "zero": _("starts at the beginning"),
    "by_time": _("starts by time"),
    "retry_zero": _("starts at 0, as every retry topic does"),
    "retry_max": _("starts at the latest offset of the retry topic"),
    "store_error": _("the broker could not be queried"),
}
KINDS: Texts = {
    "consumer": _("consumer"),
    "producer": _("producer"),
    "wire": _("real client"),
    "former": _("previous process"),
}
SELECTORS: Texts = {
    "round_robin": _("round robin"),
    "hash": _("key hash"),
    "avoid_faulty": _("round robin, avoiding slow brokers"),
    "queue": _("always the same queue"),
}
OTHERS: Texts = {
    "queue.locked": _("locked"),
    "queue.not_locked": _("not locked"),
    "queue.and_more": _("and {n} more"),
    "phase.start": _("Start"),
    "phase.stop": _("Stop"),
    "step.of_sixteen": _("{n} of 16"),
    "yes": _("yes"),
    "no": _("no"),
    "waits.none": _("No pending waits."),
}
PULLS: Texts = {
    "push": _("push: pulls ahead by long polling"),
    "pull": _("pull: the application pulls queue by queue"),
    "lite_pull": _("lite pull: pulls ahead, the application polls"),
}
FRAME_KINDS: Texts = {"request": _("request"), "answer": _("answer"), "oneway": _("one-way")}
FRAMES: Texts = {"held": _("{n} more, paused while you are here")}
FAMILIES = {
    "step.": STEPS,
    "timer.": TIMERS,
    "how.": HOW,
    "wait.": WAITS,
    "mark.": MARKS,
    "trigger.": TRIGGERS,
    "trace.": TRACE,
    "kind.": KINDS,
    "selector.": SELECTORS,
    "pulls.": PULLS,
    "frame.": FRAME_KINDS,
    "frames.": FRAMES,
    "": OTHERS,
}
WORDS: Texts = {prefix + name: word for prefix, family in FAMILIES.items() for name, word in family.items()}

# Where each of our steps stands in RocketMQ's list (spec client-behaviour 2.1, 2.3); 3 to 7 and 12 have no step of
# their own here: they happen when the consumer is made, and between two others.
NUMBERS = {
    "check config": 1,
    "copy subscriptions": 2,
    "load offsets": 8,
    "start consume service": 9,
    "register in instance": 10,
    "start instance": 11,
    "fetch routes": 13,
    "check subscriptions at a broker": 14,
    "heartbeat": 15,
    "wake rebalance": 16,
}


def client_words() -> dict[str, str]:
    """Return the texts of the Client page in the reader's language, ready for JSON."""
    return {name: str(word) for name, word in WORDS.items() if not name.startswith("frame")}


def frame_words() -> dict[str, str]:
    return {name: str(word) for name, word in WORDS.items() if name.startswith("frame")}
