"""Several engine processes on this machine: the engine of each sandbox, and a new process for each that ends."""

import logging
import threading
import time
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from queueviz.engines import wire
from queueviz.engines.child import Child
from queueviz.engines.futures import failed, settle
from queueviz.engines.host_config import with_ports_of
from queueviz.engines.port import Listener, PoolPort
from sandbox.attached.settings import is_attached
from sandbox.cluster.config import HostConfig
from sandbox.hosting.data_home import forget_sums
from sandbox.hosting.engine_share import Share
from sandbox.hosting.home_lock import lock
from sandbox.kernel.errors import EngineBusy

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.1  # before an engine that ended is started again; doubled each time, until one lives for `WELL_S`
MOST_PAUSE_S = 15.0
WELL_S = 30.0
STOP_WITHIN_S = 6.0


class Pool:
    """`number` engine processes with one data home.  Thread-safe.

    A sandbox stays with its engine as long as the pool lives.  New sandboxes go to the engine with the fewest.
    """

    def __init__(self, home: Path, config: HostConfig, number: int, logging_config: dict[str, object]) -> None:
        """Lock the data home.  Raises Locked if another process has it, OSError if it cannot be used."""
        home.mkdir(parents=True, exist_ok=True)
        self._home, self._config, self._number = home, config, number
        self._logging = logging_config
        self._lock = lock(home)
        self._changing = threading.Lock()
        self._places: dict[str, int] = {}
        self._children: list[Child | None] = [None] * number
        self._pauses_s = [FIRST_PAUSE_S] * number
        self._stopping = threading.Event()
        self._port = PoolPort(self)
        self.listeners: list[Listener] = []

    def start(self) -> "Pool":
        """Start the engines.  Raises the error that keeps one from starting."""
        root = self._home / "sandboxes"
        root.mkdir(parents=True, exist_ok=True)
        forget_sums(root)
        for turn, directory in enumerate(sorted(path.name for path in root.iterdir() if path.is_dir())):
            self._places[directory] = turn % self._number
        try:
            begun = [self._begin(index) for index in range(self._number)]
            for child in begun:
                child.wait()
        except BaseException:
            self.stop()
            raise
        return self

    @property
    def port(self) -> "EnginePort":
        return cast("EnginePort", self._port)

    @property
    def is_alive(self) -> bool:
        """True until the pool is stopped.  The pool itself replaces an engine that ended."""
        return not self._stopping.is_set()

    @property
    def size(self) -> int:
        return self._number

    def engines(self) -> list[int]:
        return list(range(self._number))

    def seat(self, slug: str, *, new: bool = False, again: bool = False) -> "Future[None]":
        """Ensure that an engine serves the sandbox.

        The pool assigns each existing sandbox at its start, and a new one here.
        """
        if new:
            self._place(slug)
        future: Future[None] = Future()
        settle(future)
        return future

    def place_of(self, slug: str) -> int:
        """Return the number of the engine that serves the sandbox, or that would report it as unknown."""
        if is_attached(slug):
            return crc32(slug.encode()) % self._number
        return self._places.get(slug, 0)

    def _place(self, slug: str) -> None:
        with self._changing:
            if slug not in self._places:
                has = list(self._places.values())
                self._places[slug] = min(range(self._number), key=has.count)

    def displace(self, slug: str) -> None:
        """Forget which engine served a deleted sandbox."""
        with self._changing:
            self._places.pop(slug, None)

    def ask(self, index: int, kind: str, *args: Any) -> "Future[Any]":
        """Call one engine.  While the engine is restarting, the future fails at once."""
        child = self._children[index]
        if child is not None:
            return child.ask(kind, *args)
        return failed(EngineBusy("The engine is restarting. Try again in a moment."))

    def say(self, index: int, *message: Any) -> None:
        """Send a message to one engine.  Messages to an ended engine are dropped until the next one has started."""
        child = self._children[index]
        if child is not None:
            try:
                child.say(*message)
            except EngineBusy as error:
                log.warning("engine %d: %s", index, error)

    def stop(self, timeout_s: float = STOP_WITHIN_S) -> None:
        """Stop all engines at the same time, each cleanly if it ends within `timeout_s`."""
        self._stopping.set()
        running = [child for child in self._children if child is not None]
        stops = [threading.Thread(target=child.stop, args=(timeout_s,)) for child in running]
        for stop in stops:
            stop.start()
        for stop in stops:
            stop.join()
        self._lock.close()

    def _begin(self, index: int) -> Child:
        with self._changing:
            mine = frozenset(slug for slug, engine in self._places.items() if engine == index)
        begin = wire.Begin(
            str(self._home), with_ports_of(self._config, index, self._number), Share(index, mine), self._logging
        )
        began_s = time.monotonic()
        child = Child(
            begin, partial(self._said, index), lambda child: self._ended(index, child, began_s), (self._lock.fileno(),)
        )
        self._children[index] = child
        return child

    def _said(self, index: int, message: wire.Message | None) -> None:
        for listener in list(self.listeners):
            listener(index, message)

    def _ended(self, index: int, child: Child, began_s: float) -> None:
        """Start the next process, in the thread that read from the ended one."""
        if self._stopping.is_set() or self._children[index] is not child:
            return
        self._children[index] = None
        self._said(index, None)
        pause_s = FIRST_PAUSE_S if time.monotonic() - began_s > WELL_S else self._pauses_s[index]
        self._pauses_s[index] = min(MOST_PAUSE_S, pause_s * 2)
        log.error("engine process %d ended; another one starts in %.1f s", child.pid, pause_s)
        if not self._stopping.wait(pause_s):
            self._begin(index)
