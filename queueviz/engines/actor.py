"""An engine as an actor on a Ray cluster.

The actor has a name.  Ray selects its machine, and starts it again if its process or machine is lost.  The engine
serves sandboxes under a lease (`hosting.lease`), so Ray may be wrong about a lost actor.  Each web process has one
connection (`WebEnd`) here.  Messages are those of the socket pair (`wire`), sent in calls of the actor's methods.
As in every Ray cluster, each member unpickles what the others send.  So the cluster must be in a network of its own.
"""

import asyncio
import logging
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from queueviz.engines import wire
from queueviz.engines.engine_side import Side
from queueviz.engines.outbox import UNSENT_MESSAGES
from sandbox.hosting.engine import Engine, end_without_lease
from sandbox.hosting.engine_share import Share
from sandbox.hosting.home_lock import lock
from sandbox.hosting.lease import RENEW_EVERY_S, RETRY_EVERY_S, Figures, Lease, LeaseLost, LeaseUnreachable
from sandbox.kernel.errors import SandboxError

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

log = logging.getLogger(__name__)

LISTEN_S = 1.0  # how long one `listen` waits for something to hand over
SILENT_S = 15.0  # a web process that asks no more is gone
AGAIN_S = 2.0  # before a process ends that could not start, and Ray starts another
FIGURES_S = 1.0
STOP_WITHIN_S = 6.0
START_WITHIN_S = 20.0


class OtherEngine(SandboxError):
    """The error if the actor has been restarted as another engine, or if it has dropped this web process."""


class WebEnd:
    """The actor's connection to one web process, with the messages queued for it.

    `listen` is called on Ray's loop, the other methods on the engine's.
    """

    def __init__(self, port: "EnginePort", rays: asyncio.AbstractEventLoop) -> None:
        self._rays = rays
        self._waiting: deque[bytes] = deque()
        self._rung = asyncio.Event()
        self.is_over = False
        self.heard_s = time.monotonic()
        self.side = Side(port, self._send)

    async def listen(self) -> list[bytes]:
        """Return the queued messages as soon as there is one; empty after `LISTEN_S`.

        Raises OtherEngine if the web process did not listen for too long.
        """
        self.heard_s = time.monotonic()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._rung.wait(), LISTEN_S)
        self._rung.clear()
        taken = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if self.is_over:
            raise OtherEngine("This web process did not listen for long.")
        return taken

    def _send(self, packed: bytes) -> None:
        if self.is_over:
            return
        self._waiting.append(packed)
        self.is_over = len(self._waiting) > UNSENT_MESSAGES
        if not self._rung.is_set():
            self._rays.call_soon_threadsafe(self._rung.set)


class EngineActor:
    """The Ray actor that runs one engine: engine `number` of `engines`, from 0.

    Each has its own range of ports for new sandboxes.
    """

    def __init__(self, name: str, number: int, engines: int) -> None:
        self._name, self._number, self._engines = name, number, engines
        self._ends: dict[str, WebEnd] = {}
        self._ready = threading.Event()
        self._stopping = threading.Event()
        self._stopped = threading.Event()
        self._lease: Lease
        self._engine: Engine
        threading.Thread(target=self._live, name="engine-life", daemon=True).start()

    # --- on Ray's loop, called by web processes ----------------------------------------------------------------------

    async def hear(self, engine: str, web: str, messages: list[bytes]) -> None:
        """Process messages of the web process `web`, in their order.  Raises OtherEngine."""
        end = await self._end_of(engine, web)
        self._loop.call_soon_threadsafe(self._take, end, messages)

    async def listen(self, engine: str, web: str) -> list[bytes]:
        """Return packed messages for the web process, or none after a while.  Raises OtherEngine."""
        messages = await (await self._end_of(engine, web)).listen()
        end_without_lease(self._lease)  # an acknowledgement is among them
        return messages

    async def stop(self) -> None:
        """Close all sandboxes cleanly, so that other engines can open them.  The caller then ends the actor."""
        self._stopping.set()
        await asyncio.to_thread(self._stopped.wait, STOP_WITHIN_S + RENEW_EVERY_S)

    async def _end_of(self, engine: str, web: str) -> WebEnd:
        if not self._ready.is_set() or engine != self._lease.engine:
            raise OtherEngine(f"{self._name} is no longer {engine}")
        if web not in self._ends:
            rays = asyncio.get_running_loop()
            made = asyncio.run_coroutine_threadsafe(self._begin(web, rays), self._loop)
            await asyncio.wrap_future(made)
        return self._ends[web]

    # --- on the engine's loop ----------------------------------------------------------------------------------------

    async def _converse(self, port: "EnginePort") -> None:
        self._loop = asyncio.get_running_loop()
        await asyncio.Event().wait()

    async def _begin(self, web: str, rays: asyncio.AbstractEventLoop) -> None:
        if web not in self._ends:
            self._ends[web] = WebEnd(self._engine.port, rays)

    def _take(self, end: WebEnd, messages: list[bytes]) -> None:
        for packed in messages:
            end.side.take(wire.unpack(packed))

    def _moved(self, slug: str) -> None:
        for end in self._ends.values():
            end.side.moved(slug)

    def _look_around(self) -> None:
        """End the viewers of web processes that are gone."""
        for web, end in list(self._ends.items()):
            if end.is_over or time.monotonic() - end.heard_s > SILENT_S:
                del self._ends[web]
                end.side.end()

    # --- on its own thread -------------------------------------------------------------------------------------------

    def _live(self) -> None:
        try:
            self._run()
        except BaseException:
            log.exception("the engine %s ends", self._name)
        else:
            return  # what asked for it ends the actor
        time.sleep(AGAIN_S)
        logging.shutdown()
        os._exit(1)

    def _run(self) -> None:
        import django  # the actor's class is also looked at where no site is set up

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "queueviz.settings")
        django.setup()
        from django.conf import settings

        from queueviz.engines.host_config import host_config
        from queueviz.engines.lease_rows import LeaseRows

        home = Path(settings.QUEUEVIZ_HOME)
        home.mkdir(parents=True, exist_ok=True)
        with lock(home, shared=True):
            self._lease = enlisted(lambda engine: Lease(LeaseRows(), engine, running_s), self._name)
            log.info("%s is %s", self._name, self._lease.engine)
            threading.Thread(target=self._keep_renewing, name="engine-lease", daemon=True).start()
            self._engine = Engine(
                home,
                host_config(self._number, self._engines),
                share=Share(self._number, frozenset()),
                lease=self._lease,
                beside=self._converse,
            ).start()
            self._engine.port.status().result(START_WITHIN_S)  # by now its loop is known
            self._ready.set()
            self._stopping.wait()
            if not self._engine.stop(STOP_WITHIN_S):
                raise OtherEngine("Not everything was closed in time.")
            self._lease.retire()
            self._stopped.set()

    def _keep_renewing(self) -> None:
        """Renew the lease in intervals until the actor stops.  Runs in a thread of its own."""
        is_draining, pause_s = False, RENEW_EVERY_S
        while not self._stopped.wait(pause_s):
            try:
                is_to_drain = self._lease.renew_once(self._figures())
            except LeaseUnreachable as error:
                log.warning("%s was not renewed: %s", self._lease.engine, error)
                pause_s = RETRY_EVERY_S
                continue
            except LeaseLost:
                if not self._stopped.is_set():
                    end_without_lease(self._lease)
                return
            pause_s = RENEW_EVERY_S
            if self._ready.is_set():
                if is_to_drain and not is_draining:
                    log.info("%s is drained", self._lease.engine)
                    self._engine.port.drain(self._moved)
                    is_draining = True
                self._loop.call_soon_threadsafe(self._look_around)

    def _figures(self) -> Figures:
        """Return the engine's figures for the lease table; unknown if it does not answer in time.

        This does not check the engine's health.
        """
        if not self._ready.is_set():
            return Figures()
        try:
            status = self._engine.port.status().result(FIGURES_S)
        except (SandboxError, TimeoutError):
            return Figures()
        return Figures(
            status["awake"], status["cap"], max((end.side.late_ms for end in list(self._ends.values())), default=0)
        )


def running_s() -> float:
    """Return the time since the machine's start, including sleep if the system reports it (Linux)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def enlisted(make: Callable[[str], Lease], name: str) -> Lease:
    """Return a lease under a new engine id.  Retry until the lease table grants one."""
    from ray.util import get_node_ip_address

    address = get_node_ip_address()  # type: ignore[no-untyped-call]
    while True:
        lease = make(f"{name}.{secrets.token_hex(4)}")
        try:
            lease.enlist(name, f"{address} pid {os.getpid()}")
        except (LeaseUnreachable, LeaseLost) as error:
            log.warning("%s has no lease yet: %s", name, error)
            time.sleep(RETRY_EVERY_S)
        else:
            return lease


def options(name: str) -> dict[str, object]:
    """Return Ray's actor options: named, detached from its creator, restarted without limit, no call repeated."""
    return {
        "name": name,
        "lifetime": "detached",
        "get_if_exists": True,
        "num_cpus": 1,
        "max_restarts": -1,
        "max_task_retries": 0,
        "max_concurrency": 1_000,
        "scheduling_strategy": "SPREAD",
    }
