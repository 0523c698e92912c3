"""The load of this server and its limits, for `/healthz`, `/metrics` and the first page of the admin."""

import shutil
import time
from concurrent.futures import wait
from typing import NamedTuple

from django.conf import settings
from django.utils.translation import gettext

from queueviz import engine
from queueviz.engines.port import PoolPort
from queueviz.live import hubs
from queueviz.refusal_texts import filled
from sandbox.cluster.disk_full import GO_ON_BYTES
from sandbox.kernel.errors import EngineBusy
from sandbox.live.socket_costs import together
from sandbox.queries.rows.host import HostStatus

LATE_MS = 250  # a frame that waited longer is late
SLOW_MS = 500  # an engine that takes longer to answer is behind
SILENT = "Engine {name} of {engines} does not answer."
STARTING = "Engine {name} of {engines} is restarting."
NO_ROOM = "The disk of the data home has {left} KiB left."


class Load(NamedTuple):
    """The load of this server.

    `status`: of the engines; `live`: counters of the sockets.  `silent`: names of engines that do not answer;
    `starting`: those that ended and are restarting.
    """

    status: HostStatus
    live: dict[str, int]
    engine_ms: int  # until the engine answered
    silent: tuple[str, ...] = ()
    starting: tuple[str, ...] = ()

    @property
    def stopped(self) -> str | None:
        """A sentence on the engines that do not answer, in the reader's language.  None: all answer."""
        return self._of_engines(SILENT, self.silent)

    @property
    def busy(self) -> str | None:
        """The reason why the server is too slow, in the reader's language.  None: it is not."""
        if (reason := self.stopped or self._of_engines(STARTING, self.starting)) is not None:
            return reason
        if self.live["late_ms"] > LATE_MS:
            return gettext("Frames were up to {late} ms late in the last seconds.").format(late=self.live["late_ms"])
        if self.engine_ms > SLOW_MS:
            return gettext("The engine took {took} ms to answer.").format(took=self.engine_ms)
        return None

    @property
    def full(self) -> str | None:
        """The reason why nothing more can be stored, in the reader's language.  None: there is space.

        Each access reads the free disk space.
        """
        left_bytes = shutil.disk_usage(settings.QUEUEVIZ_HOME).free
        if left_bytes < GO_ON_BYTES:
            return filled(NO_ROOM, {"left": left_bytes // 1024})
        if (full := self.status.get("full")) is not None:
            return filled(full["pattern"], full["values"])
        return next((row["trouble"] for row in self.status["sandboxes"].values() if row.get("trouble")), None)

    @property
    def states(self) -> dict[str, int]:
        """The number of sandboxes by state."""
        states = [row["state"] for row in self.status["sandboxes"].values()]
        return {state: states.count(state) for state in sorted(set(states))}

    def _of_engines(self, text: str, names: tuple[str, ...]) -> str | None:
        if not names:
            return None
        return " ".join(filled(text, {"name": name, "engines": self.status.get("engines")}) for name in names)


def load() -> Load:
    """Return the current load.  Raises EngineBusy if no engine answers."""
    began_s = time.monotonic()
    port = engine.port().hosted
    if not isinstance(port, PoolPort):
        status = engine.answer(port.status())
        return Load(status, hubs.figures(), _ms_since(began_s))
    asked = port.statuses()
    wait(asked.values(), engine.PATIENCE_S)
    silent = tuple(name for name, future in asked.items() if not future.done())
    starting = tuple(name for name, future in asked.items() if future.done() and future.exception() is not None)
    answers = [future.result() for name, future in asked.items() if name not in (*silent, *starting)]
    if not answers:
        raise EngineBusy("No engine answers. Try again in a moment.")
    return Load(port.merged(answers), _figures(silent), _ms_since(began_s), silent, starting)


def _figures(silent: tuple[str, ...]) -> dict[str, int]:
    """Return the counters of the sockets; zeros if an engine does not answer, since its counters would be missing."""
    return together([]) if silent else hubs.figures()


def _ms_since(began_s: float) -> int:
    return round((time.monotonic() - began_s) * 1000)
