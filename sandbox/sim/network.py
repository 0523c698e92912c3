"""A simulated network driven by a seed: latency, partitions, held links, refused and broken connections.

Client and broker run on it unchanged.
"""

from collections.abc import Callable
from typing import NamedTuple

from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock, Loop
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.exchange import Closed, End, Heard, Payload
from sandbox.remoting.frame import FrameDecoder, encode
from sandbox.remoting.lag import Lag
from sandbox.transport.loopback import CONNECT_TIMEOUT_S, LoopbackNetwork

EVERYWHERE = "*"


class _Way(NamedTuple):
    """One direction of a link, from one name to another.  A name is an `ip`, an `ip:port` or `*`."""

    sender: str
    receiver: str

    def covers(self, sender: str, receiver: str) -> bool:
        return _is(sender, self.sender) and _is(receiver, self.receiver)


class SimNetwork(LoopbackNetwork):
    """A network whose commands take a random time within `latency_ms`.  Each connection stays first in, first out.

    The methods take names of ends: an ip (`10.0.0.2`: every connection of that client), an address (`ip:port`), or
    `*`.  The state of the link when a command is sent decides whether it is lost or held; commands on their way
    arrive.

    `gate(sender, receiver)` and `delay(sender, receiver)` are those of a `LoopbackNetwork`: whether bytes pass, and
    their delay in seconds of the clock beside the latency.
    """

    def __init__(
        self,
        loop: Loop,
        chance: Chance,
        *,
        latency_ms: tuple[float, float] = (0.0, 0.0),
        wire: bool = False,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(loop, wire=wire, clock=clock)
        self._chance = chance
        self._way = Lag(loop.call_later, loop.time, super()._arrive)
        self._cut: dict[_Way, None] = {}
        self._held: dict[_Way, list[tuple[End, Payload | None]]] = {}
        self._refusing: set[str] = set()
        self.latency_ms = latency_ms
        self.lost = 0  # commands and ends of connections that were lost

    # Faults.

    def partition(self, a: str, b: str, *, one_way: bool = False) -> None:
        """Lose all bytes sent from `a` to `b` from now on, and back too unless `one_way`.

        No end is notified.
        """
        for way in _ways(a, b, one_way=one_way):
            self._cut[way] = None

    def heal(self, a: str = EVERYWHERE, b: str = EVERYWHERE) -> None:
        """Undo the partitions between these names, both ways; without names, all partitions."""
        for way in list(self._cut) if a == b == EVERYWHERE else _ways(a, b, one_way=False):
            self._cut.pop(way, None)

    def hold(self, a: str, b: str, *, one_way: bool = False) -> None:
        """Hold back all bytes sent between these names from now on, until `release`."""
        for way in _ways(a, b, one_way=one_way):
            self._held.setdefault(way, [])

    def release(self, a: str = EVERYWHERE, b: str = EVERYWHERE) -> None:
        """Send everything held between these names, in its order; without names, everything."""
        ways = list(self._held) if a == b == EVERYWHERE else _ways(a, b, one_way=False)
        for waiting in [self._held.pop(way, []) for way in ways]:
            for sender, payload in waiting:
                self._send(sender, payload)

    def refuse(self, address: str) -> None:
        """Refuse new connections to `address`; existing ones stay."""
        self._refusing.add(address)

    def accept(self, address: str) -> None:
        self._refusing.discard(address)

    def reset(self, a: str, b: str) -> int:
        """Break every connection between these names and return their number.  Both ends are notified."""
        broken = [
            end
            for end in self._exchange.connections()
            if any(way.covers(end.remote, end.local) for way in _ways(a, b, one_way=False))
        ]
        for end in broken:
            end.peer.close()
            end.close()
        return len(broken)

    # Delivery.

    def open(
        self, local_ip: str, address: str, heard: Heard, on_close: Closed, opened: Callable[[End | None], None]
    ) -> None:
        local = self._exchange.local_address(local_ip)
        if any(way.covers(*ends) for ends in ((local, address), (address, local)) for way in (*self._cut, *self._held)):
            self._loop.call_later(CONNECT_TIMEOUT_S, opened, None)
            return
        if self.gate is not None and not (self.gate(local, address) and self.gate(address, local)):
            self._later(CONNECT_TIMEOUT_S, lambda: opened(None))
            return

        def dial() -> None:
            refused = address in self._refusing
            opened(None if refused else self._exchange.dial(local, address, heard, on_close))

        travel_s = self._latency_s() + self._latency_s()
        seconds = self._delay_s(local, address) + self._delay_s(address, local)
        if seconds > CONNECT_TIMEOUT_S:
            self._later(CONNECT_TIMEOUT_S, lambda: opened(None))
        elif seconds > 0:
            self._later(seconds, lambda: self._loop.call_later(travel_s, dial))
        else:
            self._loop.call_later(travel_s, dial)

    def _carry(self, sender: End, payload: Payload | None) -> None:
        if isinstance(payload, RemotingCommand):
            if self.tap is not None:
                self.tap(sender.local, sender.remote, payload)
            if self._wire:
                [payload] = FrameDecoder().feed(encode(payload))
        self._send(sender, payload)

    def _send(self, sender: End, payload: Payload | None) -> None:
        ends = sender.local, sender.remote
        if any(way.covers(*ends) for way in self._cut):
            self.lost += 1
            return
        for way, waiting in self._held.items():
            if way.covers(*ends):
                waiting.append((sender, payload))
                return
        if self.gate is not None and not self.gate(*ends):
            self.lost += 1
        elif self.delay is not None or self._lag.under_way:
            self._lag.carry(sender, payload, self._delay_s(*ends))
        else:
            self._arrive(sender, payload)

    def _arrive(self, sender: End, payload: Payload | None) -> None:
        """Send the payload with the latency, after the delay of a slowed link is over."""
        self._way.send(sender, payload, self._latency_s())

    def _latency_s(self) -> float:
        low, high = self.latency_ms
        return self._chance.between(low, high) / 1000


def _is(address: str, name: str) -> bool:
    return name in (EVERYWHERE, address) or address.rpartition(":")[0] == name


def _ways(a: str, b: str, *, one_way: bool) -> list[_Way]:
    return [_Way(a, b)] if one_way else [_Way(a, b), _Way(b, a)]
