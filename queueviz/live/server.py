"""Daphne with a faster send for the live sockets: a text for hundreds of viewers is encoded as a frame once."""

from functools import partial
from typing import Any, cast

from autobahn.websocket.protocol import PreparedMessage
from daphne import server as daphne  # installs Twisted's reactor: import this module only where it serves

from queueviz.access.connection_limits import doorkeeper
from queueviz.live.own_sockets import SENDS_AT_ONCE

daphne.HTTPFactory = doorkeeper  # it has no option for this


class Server(daphne.Server):
    """Daphne's server, which reuses the last WebSocket frame for the same text.

    The hub sends the same text object to one viewer after the other.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._text: str | None = None
        self._framed = b""

    def create_application(self, protocol: Any, scope: dict[str, object]) -> Any:
        if scope["type"] == "websocket":
            others = cast(dict[str, object], scope.get("extensions", {}))
            scope["extensions"] = {**others, SENDS_AT_ONCE: partial(self._send, protocol)}
        return super().create_application(protocol, scope)

    def _send(self, protocol: Any, text: str) -> None:
        if protocol.state != protocol.STATE_OPEN:
            return
        if text is not self._text:
            self._text, self._framed = text, PreparedMessage(text.encode(), False, False, True).payloadHybi
        protocol.transport.write_at_once(self._framed)
