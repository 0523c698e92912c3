"""Words of the Client and the Frames page, for the templates and for the moving pages alike."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

STEPS: dict[str, Any] = {  # as the engine names them; the order and the numbers are RocketMQ's (its list has sixteen)
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
    "drop queues": _("drop queues"),
}
TIMERS: dict[str, Any] = {
    "route": _("refresh routes"),
    "heartbeat": _("heartbeat, forget offline brokers"),
    "commit": _("commit offsets"),
    "rebalance": _("rebalance"),
    "lock": _("renew queue locks"),
    "clean": _("send back expired messages"),
    "adjust pool": _("adjust thread pool"),
    "response scan": _("scan for requests without answer"),
    "fetch name servers": _("fetch name server addresses"),
}
HOW: dict[str, Any] = {
    "runs": _("runs"),
    "empty": _("runs, does nothing"),
    "off": _("off: addresses are configured"),
    "each": _("here each request has a timer of its own"),
}
WAITS: dict[str, Any] = {
    "route": _("the route of {topic}: no name server told it"),
    "rebalance": _("its first share of queues"),
    "lock": _("the queue lock of {holder}, {state}"),
    "master": _("a master: only it locks queues and keeps offsets"),
    "offset": _("an offset to begin at"),
    "not_locked": _("its own queue lock: 1 s retry"),
    "no_offset": _("an offset to begin at: 1 s retry"),
    "not_subscribed": _("a subscription of the topic: 1 s retry"),
    "pull_failed": _("a broker that answers: 1 s retry after a failed pull"),
    "broker_busy": _("a busy broker: retry after 20 ms"),
    "flow_control": _("its own listener: flow control looks again every 50 ms"),
    "paused": _("the end of a pause: 1 s retry"),
    "not_running": _("its own start: 1 s retry"),
}
MARKS: dict[str, Any] = {
    "route": _("learned the route of {topic}"),
    "assigned": _("got {count} of the queues of {topic}, because {trigger}"),
    "taken": _("took {queue} at {offset}: {trace}"),
    "dropped": _("gave up {queue}: {reason}"),
    "denied": _("refused on {queue}: {holder} holds it for {left}"),
}
TRIGGERS: dict[str, Any] = {
    "timer": _("20 s had passed"),
    "notified": _("the broker said so"),
    "started": _("it had started"),
    "resumed": _("it went on"),
    "reset": _("offsets were reset"),
}
TRACE: dict[str, Any] = {  # catalogue 2
    "stored": _("stored offset"),
    "zero_in_memory": _("answer 0: recorded, or message 0 is still in memory"),
    "not_found": _("no stored offset"),
    "max": _("so the newest end"),
    "zero": _("so the beginning"),
    "by_time": _("so by time"),
    "retry_zero": _("so 0, as for every retry topic"),
    "retry_max": _("so the newest end of the retry topic"),
    "store_error": _("the broker could not be asked"),
}
KINDS: dict[str, Any] = {
    "consumer": _("consumer"),
    "producer": _("producer"),
    "wire": _("real client"),
    "former": _("former process"),
}
SELECTORS: dict[str, Any] = {
    "round_robin": _("round robin"),
    "hash": _("hash of the key"),
    "avoid_faulty": _("round robin, avoiding slow brokers"),
    "queue": _("always the same queue"),
}
OTHERS: dict[str, Any] = {
    "queue.locked": _("locked"),
    "queue.not_locked": _("not locked"),
    "queue.and_more": _("and {n} more"),
    "phase.start": _("Start"),
    "phase.stop": _("Stop"),
    "step.of_sixteen": _("{n} of 16"),
    "yes": _("yes"),
    "no": _("no"),
    "waits.none": _("It waits for nothing."),
}
PULLS: dict[str, Any] = {
    "push": _("push: pulls ahead by long polling"),
    "pull": _("pull: the application asks queue by queue"),
    "lite_pull": _("lite pull: pulls ahead, the application polls"),
}
FRAME_KINDS: dict[str, Any] = {"request": _("request"), "answer": _("answer"), "oneway": _("one-way")}
FRAMES: dict[str, Any] = {"held": _("{n} more, held while you are here")}
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
WORDS: dict[str, Any] = {prefix + name: word for prefix, family in FAMILIES.items() for name, word in family.items()}

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
    """Return the page's words in the reader's language, ready for JSON."""
    return {name: str(word) for name, word in WORDS.items() if not name.startswith("frame")}


def frame_words() -> dict[str, str]:
    return {name: str(word) for name, word in WORDS.items() if name.startswith("frame")}
