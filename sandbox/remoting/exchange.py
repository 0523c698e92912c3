"""Connections inside one process: listeners by address, and both ends of every connection.

A connection carries commands or, between a master and its slaves, plain bytes: a payload is the argument of one
`send`.  The network (`transport.loopback`, `sim.network`) carries it: its `carry` later calls `arrive` on the other
end, or loses the payload.
"""

from collections.abc import Callable
from typing import Any

from sandbox.remoting.channel import LOOPBACK, ByteListener, Listener
from sandbox.remoting.command import RemotingCommand

FIRST_PORT, LAST_PORT = 32_768, 60_999  # local ports of clients, as Linux gives them

Payload = RemotingCommand | bytes

Heard = Callable[[list[Any], Any], None]
"""A `Handler` or a `ByteHandler`, the same kind at both ends of a connection."""

Closed = Callable[[Any], None]

Soon = Callable[[Callable[[], None]], Any]
"""Run this in a later turn."""


class End:
    """One end of a connection; its users have it as a `Channel`."""

    transport_kind = LOOPBACK

    __slots__ = ("_carry", "_heard", "_inbox", "_on_close", "_soon", "is_open", "local", "peer", "remote")

    peer: "End"

    def __init__(self, local: str, remote: str, heard: Heard, on_close: Closed, soon: Soon, carry: "Carry") -> None:
        self.local = local
        self.remote = remote
        self.is_open = True
        self._heard = heard
        self._on_close: Closed | None = on_close
        self._soon = soon
        self._carry = carry
        self._inbox: list[Payload | None] = []

    def send(self, payload: Payload) -> None:
        if self.is_open:
            self._carry(self, payload)

    def close(self, reason: str = "closed") -> None:
        """Close the connection.

        Both ends are notified in a later turn, the other one after everything that was sent before.
        """
        if self.is_open:
            self.is_open = False
            self._soon(self._notify_closed)
            self._carry(self, None)

    def vanish(self) -> None:
        """Close without further calls to this end, because its node is gone."""
        self._on_close = None
        self.close()

    def arrive(self, payload: Payload | None) -> None:
        """Receive a payload of the other end, or None for the end of the connection; it is handled in a later turn."""
        if not self._inbox:
            self._soon(self._hear)
        self._inbox.append(payload)

    def _hear(self) -> None:
        """Handle all payloads of one turn as one batch."""
        inbox, self._inbox = self._inbox, []
        batch = [payload for payload in inbox if payload is not None]
        if not self.is_open:
            if batch:
                self._carry(self, None)  # as TCP resets an unknown connection
            return
        try:
            if batch:
                self._heard(batch, self)
        finally:
            if len(batch) < len(inbox) and self.is_open:
                self.is_open = False
                self._notify_closed()

    def _notify_closed(self) -> None:
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close(self)

    def __repr__(self) -> str:
        return f"<{'open' if self.is_open else 'closed'} {self.local} → {self.remote}>"


Carry = Callable[[End, Payload | None], None]
"""Carry a payload, or the end of the connection, from this end to its peer."""


class Exchange:
    """Listeners by address.  Iteration is in order of age, so that results do not depend on hashes."""

    def __init__(self, soon: Soon, carry: Carry) -> None:
        self._soon = soon
        self._carry = carry
        self._listeners: dict[str, Listener | ByteListener] = {}
        self._served: dict[str, dict[End, None]] = {}
        self._next_port: dict[str, int] = {}
        self._taken: set[str] = set()

    def listen(self, address: str, listener: Listener | ByteListener) -> None:
        if address in self._listeners:
            raise ValueError(f"something listens at {address} already")
        self._listeners[address] = listener
        self._served[address] = {}

    def unlisten(self, address: str) -> None:
        """Remove the listener at an address: it is not called again, and the connections to it close."""
        self._listeners.pop(address, None)
        for end in list(self._served.pop(address, ())):
            end.vanish()

    def connections(self) -> list[End]:
        """Return the serving end of every open connection."""
        return [end for ends in self._served.values() for end in ends if end.is_open]

    def local_address(self, ip: str) -> str:
        """Return a free address for a new connection from `ip`."""
        for _ in range(FIRST_PORT, LAST_PORT + 1):
            port = self._next_port.get(ip, FIRST_PORT)
            self._next_port[ip] = FIRST_PORT if port == LAST_PORT else port + 1
            if (address := f"{ip}:{port}") not in self._taken:
                return address
        raise ValueError(f"all ports of {ip} are taken")

    def dial(self, local: str, address: str, heard: Heard, on_close: Closed) -> End | None:
        """Connect now and return the near end; None if nothing listens at `address`."""
        listener = self._listeners.get(address)
        if listener is None:
            return None
        served = self._served[address]

        def near_closed(channel: Any) -> None:
            self._taken.discard(local)
            on_close(channel)

        def far_closed(channel: Any) -> None:
            served.pop(far, None)
            listener.disconnected(channel)

        near = End(local, address, heard, near_closed, self._soon, self._carry)
        far = End(address, local, listener.handle, far_closed, self._soon, self._carry)
        near.peer, far.peer = far, near
        self._taken.add(local)
        served[far] = None
        listener.connected(far)
        return near
