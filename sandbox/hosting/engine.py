"""Thread of the engine: one loop for all sandboxes of a process."""

import asyncio
import gc
import logging
import os
import selectors
import sys
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from sandbox.attached.tcp_wire import tcp_wire
from sandbox.cluster.config import HostConfig
from sandbox.cluster.live_environment import LiveEnvironment
from sandbox.hosting.engine_share import Share
from sandbox.hosting.home_lock import lock
from sandbox.hosting.host import Host
from sandbox.hosting.lease import Lease
from sandbox.hosting.port import EnginePort
from sandbox.kernel.errors import EngineBusy

log = logging.getLogger(__name__)

START_TIMEOUT_S = 10.0


class Engine:
    """Thread with one event loop and its `port`.  A lock file allows one engine process per data home.

    `stop` closes every sandbox and returns within its timeout.  A process that is killed instead leaves the
    sandboxes as after a crash; each recovers when it is opened next.
    """

    def __init__(
        self,
        home: Path,
        config: HostConfig | None = None,
        *,
        share: Share | None = None,
        lease: Lease | None = None,
        beside: Callable[[EnginePort], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """Create an engine that is not started.

        `beside`: coroutine that runs on the engine's loop until the loop ends.  `lease`: engines of other machines
        share this data home.  If the lease has expired, the process ends at the next turn, before it sends any
        answer.
        """
        self._home = home
        self._share = share
        self._lease = lease
        self._beside = beside
        self._config = config or HostConfig()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._port: EnginePort | None = None
        self._lock: BinaryIO | None = None
        self._failed: BaseException | None = None
        self._stopping: Callable[[], None] = lambda: None

    @property
    def port(self) -> EnginePort:
        if self._port is None:
            raise EngineBusy("The engine is not started.")
        return self._port

    @property
    def is_alive(self) -> bool:
        """True if the thread runs.  A thread that ended cannot start again: create another engine."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> "Engine":
        """Start the thread and wait until it is ready.

        Raises Locked if another process uses this data home, OSError if it cannot be used.
        """
        assert self._thread is None, "an engine is started once"
        self._home.mkdir(parents=True, exist_ok=True)
        if self._share is None:
            self._lock = lock(self._home)
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="queueviz-engine", daemon=True)
        self._thread.start()
        if not ready.wait(START_TIMEOUT_S) or self._failed is not None:
            if isinstance(self._failed, OSError):
                raise self._failed
            raise EngineBusy("The engine did not start.") from self._failed
        return self

    def stop(self, timeout_s: float = 5.0) -> bool:
        """Stop the engine; return True if everything was closed in time.

        Otherwise the rest is left as after a crash.
        """
        thread, loop = self._thread, self._loop
        if thread is None or loop is None or not thread.is_alive():
            return True
        loop.call_soon_threadsafe(self._stopping)
        thread.join(timeout_s)
        if thread.is_alive():
            log.error("stopping took longer than %.1f s; what is still open will be recovered", timeout_s)
            return False
        return True

    def _run(self, ready: threading.Event) -> None:
        try:
            sys.setswitchinterval(self._config.switch_interval_s)
            _freeze_imports()
            with asyncio.Runner(loop_factory=self._make_loop) as runner:
                runner.run(self._live(ready))
        except BaseException as error:
            self._failed = error
            log.error("the engine's thread ended: %s", error, exc_info=None if isinstance(error, OSError) else error)
        finally:
            gc.unfreeze()
            if self._lock is not None:
                self._lock.close()  # here, not in `stop`: until the thread ends, its files are in use
            ready.set()

    def _make_loop(self) -> asyncio.AbstractEventLoop:
        return (
            asyncio.new_event_loop()
            if self._lease is None
            else asyncio.SelectorEventLoop(CheckedSelector(partial(end_without_lease, self._lease)))
        )

    async def _live(self, ready: threading.Event) -> None:
        loop = asyncio.get_running_loop()
        check = partial(end_without_lease, self._lease) if self._lease is not None else _nothing
        environment = LiveEnvironment(loop, worker_threads=self._config.worker_threads, check=check)
        host = Host(self._home, self._config, environment, self._share, self._lease, tcp_wire)
        end = asyncio.Event()
        self._loop, self._stopping, self._port = loop, end.set, EnginePort(loop, host)
        host.start()
        ready.set()
        beside = loop.create_task(self._beside(self._port)) if self._beside is not None else None
        try:
            await end.wait()
        finally:
            await host.close()
            if beside is not None:
                beside.cancel()
            environment.close()


class CheckedSelector(selectors.DefaultSelector):
    """Selector that calls `check` before each turn of a loop."""

    def __init__(self, check: Callable[[], None]) -> None:
        super().__init__()
        self._check = check

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(timeout)
        self._check()
        return ready


def end_without_lease(lease: Lease) -> None:
    """End the process as in a power cut if its lease has expired.

    Another engine may have claimed the sandboxes by now, and reads the files written until then.
    """
    if not lease.is_good:
        log.error("the lease of the engine %s has run out: it ends", lease.engine)
        logging.shutdown()
        os._exit(1)


def _nothing() -> None: ...


def _freeze_imports() -> None:
    """Exclude the objects loaded so far from garbage collection: traversing a web server's code took 40 ms."""
    gc.collect()
    gc.freeze()
