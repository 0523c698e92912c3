"""How much this server carries now, and whether it is too much: `/healthz`, `/metrics`, the first page of the admin."""

import time
from typing import Any, NamedTuple

from django.utils.translation import gettext

from queueviz import engine
from queueviz.live import hubs

LATE_MS = 250  # a frame that waited longer is late
SLOW_MS = 500  # an engine that takes longer to answer is behind


class Load(NamedTuple):
    """`status`: the engine's own; `live`: of the sockets."""

    status: dict[str, Any]
    live: dict[str, Any]
    engine_ms: int  # until the engine answered

    @property
    def busy(self) -> str | None:
        """Why it is, in the reader's language; None: it is not."""
        if self.live["late_ms"] > LATE_MS:
            return gettext("Frames came up to {late} ms late in the last seconds.").format(late=self.live["late_ms"])
        if self.engine_ms > SLOW_MS:
            return gettext("The engine took {took} ms to answer.").format(took=self.engine_ms)
        return None

    @property
    def states(self) -> dict[str, int]:
        """Sandboxes by state."""
        found = [row["state"] for row in self.status["sandboxes"].values()]
        return {state: found.count(state) for state in sorted(set(found))}


def load() -> Load:
    """Raises EngineBusy where the engine does not answer at all."""
    began_s = time.monotonic()
    status = engine.answer(engine.port().status())
    return Load(status, hubs.figures(), round((time.monotonic() - began_s) * 1000))
