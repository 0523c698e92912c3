"""Entry of the engine in a browser's worker: one host, one hub, and a viewer for each socket that a page opens."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from sandbox.cluster.config import HostConfig
from sandbox.control.limits import SocketLimits
from sandbox.hosting.host import Host
from sandbox.hosting.port import EnginePort
from sandbox.kernel import json_bytes
from sandbox.lite.environment import LiteEnvironment
from sandbox.live import frames
from sandbox.live.hub import Hub
from sandbox.live.viewer import Viewer
from sandbox.live.visible_parts import Sight

ADDRESS = "worker"  # of all viewers


class Lite:
    """The engine of one worker.  `say` gets the number of a socket and a text for it, `closed` a number and a code."""

    def __init__(
        self,
        home: str,
        say: Callable[[int, str], None],
        closed: Callable[[int, int], None],
        config: HostConfig | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._host = Host(Path(home), config or HostConfig(), LiteEnvironment(loop))
        self.port = EnginePort(loop, self._host)
        self._host.start()
        self._hub = Hub(self.port)
        self._say = say
        self._closed = closed
        self._viewers: dict[int, Viewer] = {}

    async def begin(self, slug: str, template: str, seed: str | None = None) -> None:
        """Create the sandbox of this worker and open it."""
        await asyncio.wrap_future(self.port.create(slug, template, seed=seed))

    def open(self, number: int) -> None:
        """Open the socket `number` of the protocol `queueviz.live.1`."""

        async def send(text: str) -> None:
            self._say(number, text)

        async def close(code: int) -> None:
            self._viewers.pop(number, None)
            self._closed(number, code)

        async def may_see(slug: str) -> Sight:
            return Sight.ALL

        self._viewers[number] = Viewer(send, close, may_see, ADDRESS, SocketLimits())
        self._hub.enter(self._viewers[number])

    async def hear(self, number: int, text: str) -> None:
        """Process a message of a socket, as `queueviz.live.consumers` does for sockets of a server."""
        viewer = self._viewers.get(number)
        if viewer is None:
            return
        message = json_bytes.loads(text)
        kind, channel = message.get("k"), message.get("ch")
        if kind == "sub":
            after = message.get("after")
            await self._hub.join(viewer, channel, None if after is None else int(after))
        elif kind == "unsub":
            self._hub.leave(viewer, channel)
        elif kind == "ack":
            self._hub.acknowledge(viewer, message["n"])
        elif kind == "vis":
            self._hub.hide(viewer, hidden=bool(message.get("hidden")))
        elif kind == "ping":
            await viewer.send(frames.encode({"k": "pong", "t": message.get("t")}))

    def close(self, number: int) -> None:
        """Forget a socket that its page has closed."""
        if (viewer := self._viewers.pop(number, None)) is not None:
            self._hub.forget(viewer)

    async def end(self) -> None:
        """Close the sandbox, so that its files are complete."""
        await self._host.close()
