"""How news of one sandbox reaches the hub's loop from the engine's thread."""

import asyncio
from collections.abc import Callable


class SlugBell:
    """Rung on the engine's thread at every event; crosses to the hub's loop at most once until it is heard."""

    def __init__(self, loop: asyncio.AbstractEventLoop, heard: Callable[[], None]) -> None:
        self._loop = loop
        self._heard = heard
        self._rung = False

    def ring(self) -> None:
        if not self._rung:
            self._rung = True
            try:
                self._loop.call_soon_threadsafe(self._heard)
            except RuntimeError:  # the loop is closed: nobody is there to hear
                return

    def listen_again(self) -> None:
        self._rung = False
