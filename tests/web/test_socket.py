"""The socket itself: who may open it, and what it makes of what it hears."""

import asyncio
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator

from queueviz.browsers.port import BrowserPort
from queueviz.live.hubs import hub_of_this_loop
from queueviz.models import Sandbox
from sandbox.control.limits import SocketLimits
from sandbox.kernel.errors import ActionRefused
from tests.patience import PATIENCE_S
from tests.web.fake_port import FakePort
from tests.web.tabs import BOARD, OWN, SLUG, closing, hear, kept, opened, say, session_of_the_owner, socket

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def board(port: FakePort) -> FakePort:
    port.sandboxes[SLUG] = "live"
    port.show(BOARD, {"queues": {"broker-a:0": {"max": "1"}}}, seq=1)
    return port


async def test_a_tab_of_our_own_page_sees_a_board(board: FakePort) -> None:
    await kept()
    tab = await opened()
    await say(tab, k="sub", ch=BOARD)
    first = await hear(tab)
    assert (first["k"], first["seq"]) == ("snap", "1")
    board.show(BOARD, {"queues": {"broker-a:0": {"max": "2"}}}, seq=2)
    assert (await hear(tab))["set"] == {"queues": {"broker-a:0": {"max": "2"}}}
    await tab.disconnect()


@pytest.mark.parametrize("origin", [b"http://evil.example", b"null", b"https://testserver.evil.example", b""])
async def test_a_page_of_another_site_is_turned_away(board: FakePort, origin: bytes) -> None:
    accepted, _ = await socket((b"origin", origin)).connect(timeout=PATIENCE_S)
    assert not accepted


async def test_another_subprotocol_is_turned_away(board: FakePort) -> None:
    accepted, _ = await socket(OWN, protocol="chat").connect(timeout=PATIENCE_S)
    assert not accepted


async def test_a_private_board_needs_the_session_that_owns_it(board: FakePort) -> None:
    await kept(Sandbox.Visibility.PRIVATE)
    session = await session_of_the_owner()
    cookie = (b"cookie", f"sessionid={session.session_key}".encode())
    owner, anonymous = await opened(OWN, cookie), await opened()
    for tab in (owner, anonymous):
        await say(tab, k="sub", ch=BOARD)
    assert (await hear(owner))["k"] == "snap"
    assert await hear(anonymous) == {"k": "end", "ch": BOARD, "reason": "unknown"}
    await owner.disconnect()
    await anonymous.disconnect()


async def owner_s(board: FakePort, state: str) -> WebsocketCommunicator:
    """The tab of an owner whose server has started again: his sandbox is in that state."""
    await kept()
    board.sandboxes[SLUG] = state
    session = await session_of_the_owner()
    return await opened(OWN, (b"cookie", f"sessionid={session.session_key}".encode()))


async def test_an_owner_s_tab_that_comes_back_wakes_the_sandbox(board: FakePort) -> None:
    tab = await owner_s(board, "asleep")
    await say(tab, k="sub", ch=BOARD)
    assert (await hear(tab))["k"] == "snap"
    assert board.sandboxes[SLUG] == "live"
    await tab.disconnect()


async def test_a_viewer_s_tab_that_comes_back_hears_that_the_sandbox_is_asleep(board: FakePort) -> None:
    await kept()
    board.sandboxes[SLUG] = "asleep"
    tab = await opened()
    await say(tab, k="sub", ch=BOARD)
    assert await hear(tab) == {"k": "end", "ch": BOARD, "reason": "asleep"}
    assert board.sandboxes[SLUG] == "asleep"
    await tab.disconnect()


async def test_a_sandbox_that_cannot_be_woken_ends_the_channel_and_nothing_else(board: FakePort) -> None:
    tab = await owner_s(board, "asleep")
    board.refuse["wake"] = ActionRefused(503, "All {cap} sandbox slots are in use and watched.", cap=1)
    await say(tab, k="sub", ch=BOARD)
    assert (await hear(tab))["reason"] == "asleep"
    await say(tab, k="sub", ch=BOARD)  # there is room again
    assert (await hear(tab))["k"] == "snap"
    await tab.disconnect()


async def test_cookies_without_an_origin_are_not_used(board: FakePort) -> None:
    await kept(Sandbox.Visibility.PRIVATE)
    session = await session_of_the_owner()
    program = await opened((b"cookie", f"sessionid={session.session_key}".encode()))
    await say(program, k="sub", ch=BOARD)
    assert (await hear(program))["k"] == "end"
    await program.disconnect()


async def test_rights_are_read_again_with_every_sub(board: FakePort) -> None:
    await kept(Sandbox.Visibility.PRIVATE)
    session = await session_of_the_owner()
    tab = await opened(OWN, (b"cookie", f"sessionid={session.session_key}".encode()))
    await say(tab, k="sub", ch=BOARD)
    assert (await hear(tab))["k"] == "snap"
    await session.adelete()
    await say(tab, k="unsub", ch=BOARD)
    await say(tab, k="sub", ch=BOARD)
    assert (await hear(tab))["reason"] == "unknown"
    await tab.disconnect()


@pytest.mark.parametrize("text", ["{", "[]", "1", '"sub"', "x" * 20_000])
async def test_what_is_not_a_json_object_closes_the_socket(board: FakePort, text: str) -> None:
    tab = await opened()
    await tab.send_to(text_data=text)
    assert await closing(tab) == 4400


async def test_bytes_close_the_socket(board: FakePort) -> None:
    tab = await opened()
    await tab.send_to(bytes_data=b"\x00")
    assert await closing(tab) == 4400


@pytest.mark.parametrize(
    "message",
    [
        {"k": "sub"},
        {"k": "sub", "ch": 5},
        {"k": "ack"},
        {"k": "ack", "n": []},
        {"k": "ack", "n": {"x": "y"}},
        {"k": "unsub", "ch": "never"},
        {"k": "nonsense"},
        {},
        {"k": "vis"},
        {"k": "hello", "tab": "1"},
        {"k": "sub", "ch": "facts/none", "after": "x"},
    ],
)
async def test_odd_messages_do_no_harm(board: FakePort, message: dict[str, Any]) -> None:
    await kept()
    tab = await opened()
    await say(tab, **message)
    await say(tab, k="ping", t=7)
    heard = await hear(tab)
    while heard["k"] == "end":
        heard = await hear(tab)
    assert heard == {"k": "pong", "t": 7}
    await tab.disconnect()


async def test_too_many_messages_are_not_listened_to(board: FakePort) -> None:
    await kept()
    tab = await opened()
    for _ in range(60):
        await say(tab, k="ping", t=1)
    await say(tab, k="sub", ch=BOARD)
    heard = [await hear(tab)]
    while heard[-1]["k"] == "pong":
        heard.append(await hear(tab))
    assert heard[-1] == {"k": "end", "ch": BOARD, "reason": "too_many_messages"}
    assert len(heard) < 40
    await tab.disconnect()


async def test_a_silent_engine_does_not_hold_up_the_socket(board: FakePort) -> None:
    await kept()
    board.silent.add("subscribe")
    tab = await opened()
    await say(tab, k="sub", ch=BOARD)
    await say(tab, k="ping", t=7)
    assert await hear(tab) == {"k": "pong", "t": 7}
    await tab.disconnect()
    assert hub_of_this_loop(BrowserPort(board)).sockets == 0


async def test_a_consumer_that_is_killed_without_a_word_frees_its_place(board: FakePort) -> None:
    await kept()
    tab = await opened()
    await say(tab, k="sub", ch=BOARD)
    await hear(tab)
    assert hub_of_this_loop(BrowserPort(board)).sockets == 1
    tab.future.cancel()
    with pytest.raises(asyncio.CancelledError):
        await tab.future
    assert hub_of_this_loop(BrowserPort(board)).sockets == 0
    assert board.bells[SLUG] == []


async def test_no_more_subscriptions_wait_for_a_slow_engine_than_the_limit(board: FakePort) -> None:
    await kept()
    hub_of_this_loop(BrowserPort(board)).hosted.limits = SocketLimits(waiting_messages=2)
    board.silent.add("subscribe")
    tab = await opened()
    for number in range(6):
        await say(tab, k="sub", ch=f"board/{SLUG}/g/t{number}")
    assert (await hear(tab))["reason"] == "too_many_messages"
    await tab.disconnect()


async def test_a_closed_tab_leaves_nothing_behind(board: FakePort) -> None:
    await kept()
    tab = await opened()
    await say(tab, k="sub", ch=BOARD)
    await hear(tab)
    assert len(board.bells[SLUG]) == 1
    await tab.disconnect()
    assert board.bells[SLUG] == []
