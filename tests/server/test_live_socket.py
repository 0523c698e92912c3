"""The socket as a browser and as a program open it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.patience import PATIENCE_S
from tests.server.server import Driver, Server

PROTOCOL = "queueviz.live.1"


def open_socket(
    server: Server, *, origin: str | None = None, protocol: str = PROTOCOL, headers: dict[str, str] | None = None
) -> ClientConnection:
    return connect(
        f"ws://127.0.0.1:{server.port}/ws/live/",
        origin=origin,
        subprotocols=[protocol],  # type: ignore[arg-type, list-item]
        additional_headers=headers or {},
        proxy=None,
        open_timeout=PATIENCE_S,
    )


def hear(socket: ClientConnection, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    while True:
        heard = json.loads(socket.recv(timeout=PATIENCE_S))
        if wanted(heard):
            return dict(heard)


def is_kind(kind: str, ch: str | None = None) -> Callable[[dict[str, Any]], bool]:
    return lambda heard: heard["k"] == kind and (ch is None or heard["ch"] == ch)


def test_a_board_is_shown_and_moves(server: Server, orders: Driver) -> None:
    board = f"board/{orders.slug}/order-svc/orders"
    with open_socket(server, origin=server.url) as socket:
        socket.send(json.dumps({"k": "sub", "ch": board}))
        snap = hear(socket, is_kind("snap", board))
        assert len(snap["data"]["queues"]) == 8
        assert len(snap["data"]["members"]) == 3
        delta = hear(socket, is_kind("delta", board))
        assert delta["n"] == snap["n"] + 1
        socket.send(json.dumps({"k": "ack", "n": {board: delta["n"]}}))
        assert hear(socket, is_kind("beat"))["watchers"] is not None


def test_facts_come_in_order_and_name_their_action(server: Server, orders: Driver) -> None:
    facts = f"facts/{orders.slug}"
    with open_socket(server, origin=server.url) as socket:
        socket.send(json.dumps({"k": "sub", "ch": facts, "after": orders.snapshot()["seq"]}))
        seq = orders.act("CreateTopic", topic="told", write_queues=1, read_queues=1)
        rows: list[dict[str, Any]] = []
        while str(seq) not in [row["cause"] for row in rows]:
            rows += hear(socket, is_kind("facts", facts))["rows"]
        numbers = [int(row["seq"]) for row in rows]
        assert numbers == sorted(set(numbers))
        taken = next(row for row in rows if row["seq"] == str(seq))
        assert (taken["type"], taken["action"]) == ("ActionTaken", "CreateTopic")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_site_may_not_listen(server: Server, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        open_socket(server, origin=origin)
    assert refused.value.response.status_code == 403


def test_an_unknown_protocol_is_refused(server: Server) -> None:
    with pytest.raises(InvalidStatus) as refused:
        open_socket(server, origin=server.url, protocol="mqtt")
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    ("channel", "reason"),
    [
        ("board/no-such-one/g/t", "unknown"),
        ("board", "unknown"),
        ("", "unknown"),
        ("secrets/x", "unknown"),
        ("x" * 2_000, "unknown"),
        ("board/{slug}/nobody/nothing", None),
    ],
)
def test_a_channel_that_is_none_ends_with_a_reason(
    server: Server, orders: Driver, channel: str, reason: str | None
) -> None:
    with open_socket(server, origin=server.url) as socket:
        socket.send(json.dumps({"k": "sub", "ch": channel.replace("{slug}", orders.slug)}))
        heard = hear(socket, lambda heard: heard["k"] in ("end", "snap"))
        assert heard["k"] == "end"
        assert heard["reason"] == (reason or "unknown")


@pytest.mark.parametrize("said", ["{nope", "[]", "7", '"' + "x" * 20_000 + '"'])
def test_what_is_no_message_closes_the_socket_with_a_number(server: Server, said: str) -> None:
    with open_socket(server, origin=server.url) as socket:
        socket.send(said)
        with pytest.raises(ConnectionClosed) as closed:
            hear(socket, lambda heard: False)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4400


def test_odd_messages_are_passed_over(server: Server, orders: Driver) -> None:
    with open_socket(server, origin=server.url) as socket:
        for odd in (
            {},
            {"k": "dance"},
            {"k": "sub"},
            {"k": "sub", "ch": 7},
            {"k": "ack", "n": [1]},
            {"k": "ack", "n": {"x": "y"}},
            {"k": "unsub", "ch": "never"},
        ):
            socket.send(json.dumps(odd))
        socket.send(json.dumps({"k": "ping", "t": 5}))
        assert hear(socket, is_kind("pong"))["t"] == 5


def test_a_private_sandbox_is_shown_to_its_token_alone(server: Server) -> None:
    sandbox = server.create("orders")
    board = f"board/{sandbox.slug}/order-svc/orders"
    with server.browser() as owner:
        owner.headers["Authorization"] = f"Bearer {sandbox.token}"
        owner.get("/")
        changed = owner.post(
            f"/s/{sandbox.slug}/keep/change/",
            data={"name": "p", "visibility": "private", "csrfmiddlewaretoken": owner.cookies["csrftoken"]},
        )
        assert changed.status_code == 302, changed.text
    for headers, shown in (
        ({}, False),
        ({"Authorization": "Bearer qv_wrong"}, False),
        ({"Authorization": f"Bearer {sandbox.token}"}, True),
    ):
        with open_socket(server, headers=headers) as socket:
            socket.send(json.dumps({"k": "sub", "ch": board}))
            heard = hear(socket, lambda heard: heard["k"] in ("end", "snap"))
            assert (heard["k"] == "snap") is shown
