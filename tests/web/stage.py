"""A hub on a virtual loop with a port one can play on, and tabs that keep what they were sent."""

from collections.abc import Awaitable
from typing import Any

import orjson

from sandbox.control.limits import SocketLimits
from sandbox.live.hub import Hub
from sandbox.live.viewer import Viewer
from sandbox.live.visible_parts import Sight
from sandbox.sim.loop import SimLoop
from tests.web.fake_port import FakePort

BOARD = "board/s/g/t"
FACTS = "facts/s"


class Tab:
    """A browser tab: keeps what it was sent, without the beats."""

    def __init__(self, hub: Hub, *, may_see: bool = True, sight: Sight = Sight.ALL) -> None:
        self.hub, self.sight = hub, sight
        self.got: list[dict[str, Any]] = []
        self.beats: list[dict[str, Any]] = []
        self.closed_with: int | None = None
        self.may_see = may_see
        self.viewer = Viewer(self._send, self._close, self._allowed, "127.0.0.1", hub.limits)
        hub.enter(self.viewer)

    async def _send(self, text: str) -> None:
        frame = orjson.loads(text)
        (self.beats if frame["k"] == "beat" else self.got).append(frame)

    async def _close(self, code: int) -> None:
        self.closed_with = code

    async def _allowed(self, slug: str) -> Sight:
        return self.sight if self.may_see else Sight.NOTHING

    def acknowledge(self) -> None:
        """Painted everything."""
        newest: dict[str, int] = {}
        for frame in self.got:
            if "n" in frame:
                newest[frame["ch"]] = frame["n"]
        self.hub.acknowledge(self.viewer, newest)

    def kinds(self) -> list[str]:
        return [frame["k"] for frame in self.got]


class Stage:
    """Loop, port and hub, with a board that can be changed."""

    def __init__(self) -> None:
        self.loop = SimLoop()
        self.port = FakePort()
        self.port.sandboxes["s"] = "live"
        self.seq = 0
        self.tabs: list[Tab] = []
        self.hub = self.loop.run(self._hub())
        self.show()

    async def _hub(self) -> Hub:
        return Hub(self.port, socket=SocketLimits())

    def tab(self, *channels: str, after: int | None = None, may_see: bool = True, sight: Sight = Sight.ALL) -> Tab:
        tab = Tab(self.hub, may_see=may_see, sight=sight)
        self.tabs.append(tab)
        for name in channels:
            self.loop.run(self.hub.join(tab.viewer, name, after))
        return tab

    def show(self, **more: Any) -> None:
        self.seq += 1
        self.port.show(BOARD, {"queues": {"broker-a:0": {"min": "0", "max": str(self.seq)}}, **more}, seq=self.seq)

    def run_for(self, seconds: float) -> None:
        self.loop.run_for(seconds)

    def do(self, work: Awaitable[Any]) -> None:
        async def wait() -> None:
            await work

        self.loop.run(wait())

    def close(self) -> None:
        for tab in self.tabs:
            self.hub.forget(tab.viewer)
        self.run_for(2)
        self.loop.close()
