"""A server whose sandboxes run in two engine processes of their own (`--engines 2`)."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from tests.patience import PATIENCE_S
from tests.server.processes import is_there, processes_below
from tests.server.server import Driver, Server, stored, until
from tests.server.test_live_socket import hear, is_kind, open_socket

ENGINE_ENDED = 4503


@pytest.fixture
def two_engines(own_home: Callable[[], Path]) -> Iterator[Server]:
    server = Server(own_home(), engines=2).start()
    yield server
    server.end()
    assert "Traceback" not in server.log


def engines_of(server: Server) -> list[int]:
    """Process ids, in the order of their numbers: they are started one after the other."""
    return sorted(pid for pid in processes_below(server.pid) if b"queueviz.engines.process" in words_of(pid))


def words_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # it ended meanwhile
        return []


@contextmanager
def watching(server: Server, sandbox: Driver) -> Iterator[ClientConnection]:
    with open_socket(server, origin=server.url) as socket:
        socket.send(json.dumps({"k": "sub", "ch": board_of(sandbox)}))
        hear(socket, is_kind("snap", board_of(sandbox)))
        yield socket


def board_of(sandbox: Driver) -> str:
    return f"board/{sandbox.slug}/order-svc/orders"


def test_pages_do_not_know_the_difference(two_engines: Server) -> None:
    boxes = [two_engines.create("orders") for _ in range(2)]
    assert len(engines_of(two_engines)) == 2
    for box in boxes:
        with watching(two_engines, box) as socket:
            assert hear(socket, is_kind("delta", board_of(box)))
            assert hear(socket, is_kind("beat"))["watchers"] == 1
        box.wait_until(lambda seen: stored(seen, "orders") > 20, what="messages")
        assert box.act("CreateTopic", topic="made", write_queues=1, read_queues=1) > 0
        refused = box.post("CreateTopic", topic="made", write_queues=1, read_queues=1)
        assert refused.status_code == 409, "a refusal travels with its status"
        assert "made" in refused.text
        for page in ("", "rebalance/", "store/", "journal/", "topics/", "locks/"):
            assert httpx.get(f"{two_engines.url}/s/{box.slug}/{page}", timeout=PATIENCE_S).status_code == 200, page
    health = httpx.get(f"{two_engines.url}/healthz", timeout=PATIENCE_S).json()
    assert (health["awake"], health["known"], health["engines"], health["engines_answering"]) == (2, 2, 2, 2)


def test_one_socket_watches_sandboxes_of_both_engines_and_hears_one_beat(two_engines: Server) -> None:
    first, second = (two_engines.create("orders") for _ in range(2))
    with watching(two_engines, first) as socket:
        socket.send(json.dumps({"k": "sub", "ch": board_of(second)}))
        shown: list[dict[str, Any]] = []
        while {board_of(first), board_of(second)} - {row.get("ch") for row in shown if row["k"] == "delta"}:
            shown.append(hear(socket, lambda _: True))
            if "n" in shown[-1]:
                socket.send(json.dumps({"k": "ack", "n": {shown[-1]["ch"]: shown[-1]["n"]}}))
        beats = [hear(socket, is_kind("beat")) for _ in range(3)]
        at_ms = [int(beat["server_ms"]) for beat in beats]
        assert min(later - earlier for earlier, later in pairwise(at_ms)) > 500, "one a second"


def test_an_engine_that_is_killed_comes_back_and_the_other_one_notices_nothing(two_engines: Server) -> None:
    hurt, well = (two_engines.create("orders") for _ in range(2))
    for box in (hurt, well):
        box.wait_until(lambda seen: stored(seen, "orders") > 50, what="messages")
    before = engines_of(two_engines)
    answered = sum(int(producer["sent"]) for producer in hurt.snapshot()["producers"])
    with watching(two_engines, hurt) as broken, watching(two_engines, well) as unhurt:
        os.kill(before[0], signal.SIGKILL)
        with pytest.raises(ConnectionClosed) as closed:
            hear(broken, lambda heard: False)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == ENGINE_ENDED
        assert hear(unhurt, is_kind("delta", board_of(well)))
    until(lambda: len(engines_of(two_engines)) == 2, what="another engine")
    until(lambda: hurt.http.post("/wake", json={}).status_code == 200, what="it takes calls again")
    assert before[1] in engines_of(two_engines)
    after = hurt.snapshot()
    assert after["sandbox"]["state"] == "live"
    assert stored(after, "orders") >= answered, "what was acknowledged is there"
    woken = [row for row in hurt.events() if row["type"] == "SandboxWoken"]
    assert woken[-1]["reason"] == "after a kill"
    assert not [row for row in well.events() if row["type"] == "SandboxWoken" and row["reason"] == "after a kill"]


def test_a_branch_may_be_made_by_another_engine_than_its_parents(two_engines: Server) -> None:
    parent = two_engines.create("orders")
    parent.wait_until(lambda seen: stored(seen, "orders") > 20, what="messages")
    at = parent.act("CreateTopic", topic="made", write_queues=1, read_queues=1)
    made = parent.http.post("/branch", json={"at": at})
    assert made.status_code == 201, made.text
    slug = made.json()["slug"]
    branch = f"{two_engines.url}/api/sandboxes/{slug}"
    headers = {"Authorization": f"Bearer {made.json().get('token', parent.token)}"}

    def topics() -> list[str]:
        answer = httpx.get(branch, headers=headers, timeout=PATIENCE_S).json()
        return [row["topic"] for row in answer.get("topics", [])]

    until(lambda: "made" in topics(), what="the branch goes on from there")


def test_a_server_that_is_killed_takes_its_engines_with_it_and_starts_again_at_once(two_engines: Server) -> None:
    box = two_engines.create("orders")
    box.wait_until(lambda seen: stored(seen, "orders") > 20, what="messages")
    engines = engines_of(two_engines)
    two_engines.kill()
    two_engines.start()
    assert not set(engines) & set(engines_of(two_engines))
    until(lambda: not any(is_there(pid) for pid in engines), what="the old engines end")
    box.wake()
    assert [row for row in box.events() if row["type"] == "SandboxWoken"][-1]["reason"] == "after a kill"


def test_a_stop_closes_every_sandbox_and_leaves_no_process(two_engines: Server) -> None:
    box = two_engines.create("orders")
    box.wait_until(lambda seen: stored(seen, "orders") > 20, what="messages")
    engines = engines_of(two_engines)
    two_engines.stop()
    assert not [pid for pid in engines if is_there(pid)]
    two_engines.start()
    box.wake()
    assert [row for row in box.events() if row["type"] == "SandboxWoken"][-1]["reason"] != "after a kill"
