"""A peer: reads orders from standard input and prints facts, one JSON object a line (tests/interop/peer.py).

It uses PyPI's `rocketmq`, which hands librocketmq's C functions to Python, and where its classes leave something out
(a producer's name, a pull from where one likes) those functions themselves.
"""

import ctypes
import json
import os
import sys
import threading
import time
import zlib

from rocketmq.client import Message, Producer, PullConsumer, PushConsumer, RecvMessage
from rocketmq.exceptions import ffi_check
from rocketmq.ffi import MessageModel, _CMessageQueue, dll

LONG_BYTES = 1000  # longer bodies are reported by size and CRC only
STATUSES = ("SEND_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE")
PULLED = ("FOUND", "NO_NEW_MSG", "NO_MATCHED_MSG", "OFFSET_ILLEGAL", "BROKER_TIMEOUT")
FACTS = os.fdopen(os.dup(1), "w", buffering=1)
PRINTING = threading.Lock()


class Order:
    """One order with its arguments, and where its facts go."""

    def __init__(self, words):
        self.number, self.verb = words[:2]
        self._arguments = dict(word.split("=", 1) for word in words[2:])
        self.stopped = threading.Event()

    def has(self, key):
        return key in self._arguments

    def get(self, key, otherwise=""):
        return self._arguments.get(key, otherwise)

    def int(self, key, otherwise=0):
        return int(self.get(key, otherwise))

    def fact(self, kind, **reported):
        with PRINTING:
            FACTS.write(json.dumps({"order": self.number, "fact": kind, **reported}) + "\n")

    def named(self, kind):
        """Return a unique name in this process; the client keeps one connection for each."""
        return f"{kind}-{os.getpid()}-{self.number}".encode()


def message(order, i, key=None):
    made = Message(order.get("topic"))
    tags = order.get("tags").split(",")
    if tag := tags[i % len(tags)]:
        made.set_tags(tag)
    made.set_keys(key or f"{order.get('key', 'k')}{i}")
    made.set_body("x" * order.int("size") if order.has("size") else f"{order.get('body', 'body ')}{i}")
    if order.has("level"):
        made.set_delay_time_level(order.int("level"))
    if order.has("property"):
        made.set_property("note", order.get("property"))
    made.set_property("number", str(i))
    return made


def sign(client, order):
    if order.has("access_key"):
        client.set_session_credentials(order.get("access_key"), order.get("secret_key"), "ALIYUN")


def producer(order):
    made = Producer(order.get("group", "senders"), timeout=order.int("timeout_ms", 10_000))
    ffi_check(dll.SetProducerInstanceName(made._handle, order.named("sender")))
    made.set_namesrv_addr(order.get("namesrv"))
    sign(made, order)
    made.start()
    return made


def send(order):
    """how: sync, async, oneway, selector (the key's number, modulo the queues)."""
    sender = producer(order)
    try:
        left = [threading.Event() for _ in range(order.int("count", 1))]
        for i, gone in enumerate(left):
            one(order, sender, i, gone)
            if order.has("every_ms") and order.stopped.wait(order.int("every_ms") / 1000):
                return
        assert all(gone.wait(30) for gone in left), "callbacks that never came"
    finally:
        sender.shutdown()


def one(order, sender, i, gone):
    how = order.get("how", "sync")
    if how == "async":

        def went(result):
            sent(order, i, result)
            gone.set()

        def refused(why):
            order.fact("refused", number=i, why=str(why))
            gone.set()

        sender.send_async(message(order, i), went, refused)
        return
    if how == "oneway":
        sender.send_oneway(message(order, i))
    elif how == "selector":
        key = i % order.int("keys", 3)
        sent(order, i, sender.send_orderly(message(order, i, f"{order.get('key', 'k')}{key}"), key))
    else:
        sent(order, i, sender.send_sync(message(order, i)))
    gone.set()


def batch(order):
    sender = producer(order)
    try:
        sent(order, 0, sender.send_batch([message(order, i) for i in range(order.int("count", 3))]))
    finally:
        sender.shutdown()


def sent(order, i, result):
    """Return a send result; the C functions report neither the queue nor the broker's id."""
    order.fact(
        "sent",
        number=i,
        status=STATUSES[result.status],
        msg_id=result.msg_id,
        offset=result.offset,
        at_ms=time.time_ns() // 1_000_000,
    )


def text(raw):
    return raw.decode() if raw else None


def received(order, came):
    body = came.body or b""
    order.fact(
        "received",
        topic=came.topic,
        queue=came.queue_id,
        offset=came.queue_offset,
        msg_id=came.id,
        tag=text(came.tags),
        keys=text(came.keys),
        number=text(came["number"]),
        note=text(came["note"]),
        reconsume=came.reconsume_times,
        body=body.decode() if len(body) <= LONG_BYTES else "",
        size=len(body),
        crc=zlib.crc32(body),
        born_ms=came.born_timestamp,
        stored_ms=came.store_timestamp,
        at_ms=time.time_ns() // 1_000_000,
    )


def consume(order):
    """Run a push consumer until a stop order.  fail: first (each message fails once), always."""
    model = MessageModel.BROADCASTING if order.get("model") == "broadcasting" else MessageModel.CLUSTERING
    consumer = PushConsumer(order.get("group"), orderly=order.has("orderly"), message_model=model)
    consumer.set_namesrv_addr(order.get("namesrv"))
    sign(consumer, order)
    consumer.set_instance_name(order.named(order.get("name", "consumer")))
    consumer.set_thread_count(2)

    def heard(came):
        received(order, came)
        fails = order.get("fail", "never")
        if fails == "always" or (fails == "first" and came.reconsume_times == 0):
            raise RuntimeError("as ordered")

    consumer.subscribe(order.get("topic"), heard, order.get("expression", "*"))
    consumer.start()
    order.fact("started", at_ms=time.time_ns() // 1_000_000)
    order.stopped.wait()
    consumer.shutdown()


def pull(order):
    """Every queue of the topic from its beginning to its end, two at a time; the C functions keep no offsets.

    With `at` the one message there, in `queue`.
    """
    consumer = PullConsumer(order.get("group"))
    consumer.set_namesrv_addr(order.get("namesrv"))
    consumer.start()
    queues, count = ctypes.POINTER(_CMessageQueue)(), ctypes.c_int()
    ffi_check(
        dll.FetchSubscriptionMessageQueues(
            consumer._handle, order.get("topic").encode(), ctypes.pointer(queues), ctypes.pointer(count)
        )
    )
    for i in range(count.value):
        if not order.has("at"):
            drain(order, consumer, queues[i])
        elif queues[i].queueId == order.int("queue"):
            take(order, consumer, queues[i], order.int("at"), 1)
    ffi_check(dll.ReleaseSubscriptionMessageQueue(queues))
    consumer.shutdown()


def drain(order, consumer, queue):
    at = 0
    while True:
        at, status, ends = take(order, consumer, queue, at, 2)
        if status not in ("FOUND", "NO_MATCHED_MSG"):
            order.fact("end", queue=queue.queueId, status=status, at=at, min=ends[0], max=ends[1])
            return


def take(order, consumer, queue, at, most):
    """One pull: where the next one begins, its status, and the queue's ends."""
    found = dll.Pull(consumer._handle, ctypes.pointer(queue), order.get("expression", "*").encode(), at, most)
    status = PULLED[found.pullStatus]
    for i in range(found.size if status == "FOUND" else 0):
        received(order, RecvMessage(found.msgFoundList[i]))
    reported = found.nextBeginOffset, status, (found.minOffset, found.maxOffset)
    dll.ReleasePullResult(found)
    return reported


VERBS = {"send": send, "batch": batch, "consume": consume, "pull": pull}


def carry_out(order):
    try:
        VERBS[order.verb](order)
        order.fact("done")
    except Exception as why:  # whatever it is, the tests shall know
        order.fact("failed", why=repr(why))


def main():
    os.dup2(2, 1)  # what others print is no fact
    running = {}
    for line in sys.stdin:
        words = line.rstrip("\n").split("\t")
        if words[1] == "stop":
            if words[0] in running:
                running[words[0]].stopped.set()
            continue
        order = running[words[0]] = Order(words)
        threading.Thread(target=carry_out, args=(order,), daemon=True).start()
    os._exit(0)  # the tests are gone; threads of C++ would be waited for


main()
