"""The engine of this server: started by the first page that needs it, stopped when the process ends.

The engine is a thread of this process, or several processes of their own (`use_processes`, which `manage.py serve`
calls).  `AppConfig.ready` never starts it, because every management command runs `ready`.  Callers write
`engine.port()` and wait for an answer with `engine.answer`.  A late answer raises `EngineBusy` (a page with a
sentence, status 503).
"""

from __future__ import annotations

import atexit
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from django.conf import settings

from queueviz.browsers.port import BrowserPort
from sandbox.control.questions import LabState
from sandbox.kernel.errors import EngineBusy

if TYPE_CHECKING:
    from queueviz.engines.pool import Pool
    from queueviz.engines.ray_pool import RayPool
    from sandbox.hosting.engine import Engine
    from sandbox.queries.rows.labs import LabRow

    AnyEngine: TypeAlias = Engine | Pool | RayPool

T = TypeVar("T")

PATIENCE_S = 2.0  # how long a view waits
OPENING_PATIENCE_S = 10.0  # creating and waking do disk work
PAST_PATIENCE_S = 15.0  # up to `folded_events` are read from files and folded
STOP_WITHIN_S = 5.0

_starting = threading.Lock()
_engine: AnyEngine | None = None
_port: BrowserPort | None = None
_processes = 0


def use_processes(number: int) -> None:
    """Set the number of engine processes for the next start.  0: a thread of this process."""
    global _processes
    _processes = number


def port() -> BrowserPort:
    """Return the port of the engine, and of those in students' browsers.  The first call starts the engine."""
    global _engine, _port
    with _starting:
        if _engine is None or not _engine.is_alive:  # an engine whose thread died is replaced; its sandboxes recover
            _engine = _start()
        if _port is None or _port.hosted is not _engine.port:
            _port = BrowserPort(_engine.port)
        return _port


def directory_of(slug: str) -> Path:
    """Return the directory of a sandbox of this server, even if it does not exist."""
    return Path(settings.QUEUEVIZ_HOME) / "sandboxes" / slug


def is_running() -> bool:
    return _engine is not None


def stop() -> None:
    """Stop actors, brokers and journals cleanly.  The next `port()` starts a new engine."""
    global _engine
    with _starting:
        running, _engine = _engine, None
        if running is not None:
            running.stop(timeout_s=STOP_WITHIN_S)


def answer(future: Future[T], timeout_s: float | None = None) -> T:
    """Return the engine's answer.  Raises `EngineBusy` after `timeout_s` (default: `PATIENCE_S`)."""
    try:
        return future.result(PATIENCE_S if timeout_s is None else timeout_s)
    except FutureTimeout:
        future.cancel()
        raise EngineBusy("The engine did not answer in time. Try again in a moment.") from None


def lab_of(slug: str) -> LabRow | None:
    """Return the lab in progress in a sandbox, or None if no lab was started.  Raises `EngineBusy`, `ActionRefused`."""
    row: LabRow | None = answer(port().ask(slug, LabState())).get("lab")
    return row


def _start() -> AnyEngine:
    from queueviz.engines.host_config import host_config  # a command without an engine need not load it

    started: AnyEngine
    if settings.QUEUEVIZ_RAY_ADDRESS:
        from queueviz.engines.ray_pool import RayPool

        started = RayPool(settings.QUEUEVIZ_RAY_ADDRESS, Path(settings.QUEUEVIZ_HOME), _processes).start()
    elif _processes:
        from queueviz.engines.pool import Pool

        started = Pool(Path(settings.QUEUEVIZ_HOME), host_config(), _processes, settings.LOGGING).start()
    else:
        from sandbox.hosting.engine import Engine

        started = Engine(settings.QUEUEVIZ_HOME, host_config()).start()
    atexit.register(stop)
    return started
