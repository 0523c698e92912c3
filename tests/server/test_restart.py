"""Ctrl+C and a new start: every sandbox comes back as it was."""

import json
import signal
from contextlib import ExitStack

import pytest
from websockets.exceptions import ConnectionClosed

from tests.server.server import Driver, Server, committed, find_member, seqs, stored, until
from tests.server.test_live_socket import hear, is_kind, open_socket


def consuming(sandbox: Driver, group: str, topic: str) -> bool:
    seen = sandbox.snapshot()
    return stored(seen, topic) > 20 and sum(committed(seen, group).values()) > 0


def test_a_clean_restart_brings_every_sandbox_back(own_server: Server) -> None:
    orders, payments, still = (own_server.create(name) for name in ("orders", "payments", "empty"))
    still.act("CreateTopic", topic="kept", write_queues=3, read_queues=2, permission=4)
    orders.act("ChangeActor", actor="B", work_ms=[1, 2])
    orders.act("StopActor", actor="C")
    until(lambda: consuming(orders, "order-svc", "orders"), what="orders are consumed")
    until(lambda: consuming(payments, "payment-fifo", "payments"), what="payments are consumed")
    before = {each.slug: each.snapshot() for each in (orders, payments, still)}
    reported = {slug: int(seen["seq"]) for slug, seen in before.items()}

    assert own_server.stop() < 5.0
    assert "Traceback" not in own_server.log
    own_server.start()
    for each in (orders, payments, still):
        asleep = each.snapshot()
        assert asleep["sandbox"]["state"] == "asleep", "nobody has looked yet"
        each.wake()

    for sandbox, group, topic in ((orders, "order-svc", "orders"), (payments, "payment-fifo", "payments")):
        after, old = sandbox.snapshot(), before[sandbox.slug]
        assert stored(after, topic) >= stored(old, topic)
        now, then = committed(after, group), committed(old, group)
        assert all(now[queue] >= offset for queue, offset in then.items()), "no offset went back"
        was, woken = (next(g for g in seen["groups"] if g["group"] == group) for seen in (old, after))
        assert [m["actor"] for m in woken["members"]] == [m["actor"] for m in was["members"]]
        assert {m["client_id"] for m in woken["members"] if m["state"] != "stopped"}.isdisjoint(
            {m["client_id"] for m in was["members"]}
        ), "new processes have new client ids"
        assert sum(committed(after, group).values()) > 0

        rows = sandbox.events()
        assert seqs(rows) == list(range(len(rows))), "the journal goes on without a gap and without a number twice"
        assert seqs(rows)[-1] > reported[sandbox.slug]
        kinds = [row["type"] for row in rows]
        assert kinds.count("SandboxSlept") == kinds.count("SandboxWoken") == 1
        assert [row["kind"] for row in rows if row["type"] == "RecoveryDone"][-1] != "abnormal"

    c = find_member(orders.snapshot(), "C")
    assert c is not None
    assert c["state"] == "stopped", "who was stopped by hand stays so"
    kept = next(topic for topic in still.snapshot()["topics"] if topic["topic"] == "kept")
    assert (kept["write_queues"], kept["read_queues"], kept["permission"]) == (3, 2, 4)

    grown = stored(orders.snapshot(), "orders")
    until(lambda: stored(orders.snapshot(), "orders") > grown + 5, what="producers go on")
    done = sum(committed(orders.snapshot(), "order-svc").values())
    until(lambda: sum(committed(orders.snapshot(), "order-svc").values()) > done, what="consumers go on")


def test_what_was_done_and_committed_is_not_delivered_again_after_a_clean_restart(own_server: Server) -> None:
    sandbox = own_server.create("empty")
    sandbox.act("CreateTopic", topic="once", write_queues=4, read_queues=4)
    sandbox.act(
        "StartConsumer", group="readers", copies=2, work_ms=[0, 5], subscriptions=[{"topic": "once", "expression": "*"}]
    )
    sandbox.act("SendMessages", topic="once", count=200)
    until(lambda: deliveries(sandbox) >= 200, what="all are consumed")
    own_server.stop()
    own_server.start()
    sandbox.wake()
    sandbox.act("SendMessages", topic="once", count=10, key="later-{n}")
    until(lambda: deliveries(sandbox) >= 210, what="the later ones are consumed")
    assert deliveries(sandbox) == 210
    keys = [key for row in sandbox.events() if row["type"] == "MessagesConsumed" for key in row["keys"]]
    assert len(set(keys)) == len(keys) == 210


def deliveries(sandbox: Driver) -> int:
    return sum(len(row["offsets"]) for row in sandbox.events() if row["type"] == "MessagesConsumed")


def test_ctrl_c_with_watchers_and_traffic_ends_quietly_within_five_seconds(own_server: Server) -> None:
    busy = [own_server.create(template) for template in ("orders", "payments", "flights", "retries", "shrink")]
    busy[0].act("ChangeBroker", broker="broker-a", changes={"flush": "SYNC_FLUSH"})
    busy[1].act("SetRate", rate=20)
    busy[3].act("HangActor", actor="A")
    with ExitStack() as tabs:
        sockets = [tabs.enter_context(open_socket(own_server, origin=own_server.url)) for _ in busy]
        for socket, sandbox in zip(sockets, busy, strict=True):
            group = sandbox.snapshot()["groups"][0]
            channel = f"board/{sandbox.slug}/{group['group']}/{group['subscription'][0]['topic']}"
            socket.send(json.dumps({"k": "sub", "ch": channel}))
            hear(socket, is_kind("snap", channel))
        assert own_server.stop(signal.SIGINT) < 5.0
        for socket in sockets:
            with pytest.raises(ConnectionClosed):
                hear(socket, lambda heard: False)
    assert "Traceback" not in own_server.log
    own_server.start()
    for sandbox in busy:
        sandbox.wake()
        kinds = [row["kind"] for row in sandbox.events() if row["type"] == "RecoveryDone"]
        assert kinds[-1] == "normal", "every broker was closed cleanly"
