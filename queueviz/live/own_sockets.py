"""Opening and end that the sockets of pages and of engines in browsers share."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlparse

from asgiref.sync import sync_to_async
from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer

from queueviz import engine
from queueviz.access import visitor
from queueviz.browsers.port import BrowserPort

SENDS_AT_ONCE = "queueviz.sends_at_once"  # in the scope's extensions where the server can: takes a text


class OwnSocket(AsyncWebsocketConsumer):
    """A socket that pages of this site, and programs, open with a subprotocol."""

    visitor: visitor.Visitor
    send_at_once: Callable[[str], None] | None

    async def __call__(self, *args: Any) -> None:
        """Run the consumer, and then `leave`.

        A consumer that does not end in time is killed without `disconnect`.
        """
        try:
            await super().__call__(*args)
        finally:
            self.leave()

    async def dispatch(self, message: dict[str, object]) -> None:
        """Call the handler without checking this thread's database connections first.

        Database calls check them by themselves.
        """
        await getattr(self, get_handler_name(message))(message)

    async def disconnect(self, code: int) -> None:
        self.leave()

    def leave(self) -> None:
        """Forget the socket.  It may be called more than once."""

    async def port_of_own(self, subprotocol: str) -> BrowserPort | None:
        """Return the port for a socket of this site, or close a socket of another one and return None."""
        headers = dict(self.scope.get("headers", ()))
        if not _is_own_origin(headers) or subprotocol not in self.scope.get("subprotocols", ()):
            await self.close()
            return None
        self.send_at_once = self.scope.get("extensions", {}).get(SENDS_AT_ONCE)
        self.visitor = visitor.of_scope(self.scope)
        port: BrowserPort = await sync_to_async(engine.port, thread_sensitive=False)()
        return port


def _is_own_origin(headers: Mapping[bytes, bytes]) -> bool:
    """Return True if the socket comes from a page of this site, or from a program.

    A page of another site may not open a socket.  A program sends no Origin, and its cookies are ignored.
    """
    origin = headers.get(b"origin")
    if origin is None:
        return True
    host = headers.get(b"host", b"")
    return urlparse(origin.decode("latin-1")).netloc.lower() == host.decode("latin-1").lower()
