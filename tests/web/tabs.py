"""Tabs: sockets as browsers open them, and one sandbox to look at."""

from typing import Any

import orjson
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from queueviz.access import policy
from queueviz.access.visitor import Visitor
from queueviz.asgi import application
from queueviz.live.consumers import SUBPROTOCOL
from queueviz.models import Sandbox
from tests.patience import PATIENCE_S

OWN = (b"origin", b"http://testserver")
HOST = (b"host", b"testserver")
BOARD = "board/calm-owl-aaaaaa/g/t"
SLUG = "calm-owl-aaaaaa"


def socket(
    *headers: tuple[bytes, bytes], protocol: str = SUBPROTOCOL, path: str = "/ws/live/"
) -> WebsocketCommunicator:
    return WebsocketCommunicator(application, path, headers=[HOST, *headers], subprotocols=[protocol])


async def opened(*headers: tuple[bytes, bytes], path: str = "/ws/live/") -> WebsocketCommunicator:
    made = socket(*(headers or (OWN,)), path=path)
    accepted, protocol = await made.connect(timeout=PATIENCE_S)
    assert (accepted, protocol) == (True, SUBPROTOCOL)
    return made


async def say(made: WebsocketCommunicator, **message: Any) -> None:
    await made.send_to(text_data=orjson.dumps(message).decode())


async def hear(made: WebsocketCommunicator) -> dict[str, Any]:
    """Return the next message that is no beat."""
    while True:
        message = orjson.loads(await made.receive_from(timeout=PATIENCE_S))
        if message["k"] != "beat":
            return dict(message)


async def closing(made: WebsocketCommunicator) -> int:
    while True:
        output = await made.receive_output(timeout=PATIENCE_S)
        if output["type"] == "websocket.close":
            return int(output.get("code", 1000))


async def kept(visibility: str = Sandbox.Visibility.LINK) -> Sandbox:
    return await Sandbox.objects.acreate(
        slug=SLUG, name=SLUG, template="orders", visibility=visibility, visited_at=timezone.now()
    )


async def session_of_the_owner() -> SessionStore:
    session = SessionStore()
    await sync_to_async(policy.remember)(Visitor(session=session), await Sandbox.objects.aget(slug=SLUG))
    await session.asave()
    return session
