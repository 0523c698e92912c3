"""The engines of a Ray cluster in one web process: their list, and the engine of each sandbox.

The database has both (`hosting.lease`) and is read every second.  An engine that does not serve the requested
sandbox reports which one does.  Ray selects machines, restarts engines and carries messages.
"""

import logging
import secrets
import threading
from collections import Counter
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from queueviz.engines import ray_cluster
from queueviz.engines.actor_link import ActorLink
from queueviz.engines.futures import failed, settle
from queueviz.engines.lease_rows import LeaseRows
from queueviz.engines.port import Listener, PoolPort
from queueviz.engines.wire import Message
from sandbox.attached.settings import is_attached
from sandbox.hosting.home_lock import lock
from sandbox.hosting.lease import HeldElsewhere, LeaseUnreachable, Listed
from sandbox.kernel.errors import EngineBusy

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

log = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
START_WITHIN_S = 60.0
TRIES = 3  # engines asked for one sandbox: its engine may change meanwhile
NO_ENGINE = "No engine accepts sandboxes at the moment. Try again in a moment."
GONE = "The engine with this sandbox is gone. Another engine may take over in a few seconds: try again."
NOT_LINKED = "The engine is not reachable. Try again in a moment."


class RayPool:
    """The pool of a Ray cluster's engines, with the interface of `Pool` for its port and for viewers.

    Thread-safe.  Engines are identified by their ids.
    """

    def __init__(self, address: str, home: Path, number: int) -> None:
        """Lock the data home, shared.

        `number`: the least number of engines in the cluster.  Raises Locked, OSError.
        """
        home.mkdir(parents=True, exist_ok=True)
        self._lock = lock(home, shared=True)
        self._address, self._number = address, number
        self._web = secrets.token_hex(4)
        self._table = LeaseRows()
        self._changing = threading.Lock()  # of the five below
        self._links: dict[str, ActorLink] = {}
        self._listed: dict[str, Listed] = {}
        self._places: dict[str, str] = {}
        self._confirmed: dict[str, str] = {}  # places that engines confirmed after the table was asked
        self._given: Counter[str] = Counter()  # new ones, since the list was read
        self._stopping = threading.Event()
        self._found = threading.Event()
        self._port = PoolPort(self)
        self.listeners: list[Listener] = []

    def start(self) -> "RayPool":
        """Connect and wait for the first engine.

        Raises EngineBusy if no cluster is there, or no engine appears in time.
        """
        try:
            ray_cluster.connect(self._address)
            ray_cluster.see_that_there_are(self._number)
            threading.Thread(target=self._watch, name="engines", daemon=True).start()
            if not self._found.wait(START_WITHIN_S):
                raise EngineBusy(
                    f"The Ray cluster at {self._address} has no engine after {START_WITHIN_S:.0f} s: see "
                    "`manage.py engines`, and that each machine has the same settings."
                )
        except BaseException:
            self.stop()
            raise
        return self

    @property
    def port(self) -> "EnginePort":
        return cast("EnginePort", self._port)

    @property
    def is_alive(self) -> bool:
        return not self._stopping.is_set()

    @property
    def size(self) -> int:
        """The number of engines with a valid lease, connected or not."""
        return len(self._listed)

    def engines(self) -> list[str]:
        """Return the engines that are connected."""
        return sorted(engine for engine, link in list(self._links.items()) if link.is_up)

    def place_of(self, slug: str) -> str:
        """Return the engine that serves the sandbox, as far as known; empty if none does."""
        if is_attached(slug):
            engines = self.engines()
            return engines[crc32(slug.encode()) % len(engines)] if engines else ""
        return self._places.get(slug, "")

    def seat(self, slug: str, *, new: bool = False, again: bool = False) -> "Future[None]":
        """Ensure that an engine serves the sandbox.  Raises EngineBusy if no engine may serve it yet.

        The lease table names an engine from its claim on, while it may still copy the files.  With `again` the
        engine is asked.
        """
        whole: Future[None] = Future()
        if is_attached(slug) or (self._is_up(self.place_of(slug)) and not again):
            settle(whole)
        else:
            self._try(slug, new, self.place_of(slug), TRIES, whole)
        return whole

    def displace(self, slug: str) -> None:
        """Forget which engine served a sandbox that is deleted, or has another engine now."""
        with self._changing:
            self._places.pop(slug, None)
            self._confirmed.pop(slug, None)

    def ask(self, engine: str, kind: str, *args: Any) -> "Future[Any]":
        link = self._links.get(engine)
        return link.ask(kind, *args) if link is not None else failed(EngineBusy(NOT_LINKED))

    def say(self, engine: str, *message: Any) -> None:
        if (link := self._links.get(engine)) is not None:
            try:
                link.say(*message)
            except EngineBusy as error:
                log.warning("engine %s: %s", engine, error)

    def stop(self, timeout_s: float = 0.0) -> None:
        """Disconnect from the engines.  They continue and close the sandboxes without open pages in time."""
        self._stopping.set()
        for link in list(self._links.values()):
            link.close()
        self._lock.close()

    # --- who has it --------------------------------------------------------------------------------------------------

    def _try(self, slug: str, new: bool, engine: str, left: int, whole: "Future[None]") -> None:
        """Ask one engine after the other to serve the sandbox, beginning with `engine` if it is connected."""
        if not self._is_up(engine):
            engine = self._most_room()
        if not engine:
            return settle(whole, why=EngineBusy(NO_ENGINE))
        asked = self.ask(engine, "call", "hold", (slug,), {"new": new})
        return asked.add_done_callback(partial(self._tried, slug, new, engine, left, whole))

    def _tried(self, slug: str, new: bool, engine: str, left: int, whole: "Future[None]", asked: "Future[Any]") -> None:
        error = asked.exception()
        if error is None:
            with self._changing:
                self._places[slug] = self._confirmed[slug] = engine
            return settle(whole)
        if isinstance(error, HeldElsewhere):
            if self._is_up(error.engine) and left > 1:
                return self._try(slug, new, error.engine, left - 1, whole)
            error = EngineBusy(GONE)
        elif isinstance(error, EngineBusy) and left > 1:  # it is being drained: others may have it
            return self._try(slug, new, "", left - 1, whole)
        return settle(whole, why=error)

    def _is_up(self, engine: str) -> bool:
        link = self._links.get(engine)
        return link is not None and link.is_up

    def _most_room(self) -> str:
        """Return the engine with the fewest sandboxes among those that take new ones; empty if there is none."""
        with self._changing:
            rows = [row for row in self._listed.values() if self._is_up(row.engine) and not row.is_draining]
            if not rows:
                return ""
            best = min(rows, key=lambda row: (row.sandboxes + self._given[row.engine], row.engine)).engine
            self._given[best] += 1
            return best

    # --- what the database says --------------------------------------------------------------------------------------

    def _watch(self) -> None:
        lost = False
        while not self._stopping.is_set():
            try:
                self._look()
                lost = False
            except LeaseUnreachable as error:
                if not lost:
                    log.warning("%s", error)
                lost = True
            except Exception:
                log.exception("looking for engines failed")
            self._stopping.wait(LOOK_EVERY_S)
        self._table.close()

    def _look(self) -> None:
        with self._changing:
            self._confirmed.clear()
        listed = {row.engine: row for row in self._table.engines() if row.expires_in_s > 0}
        places = self._table.places()
        with self._changing:
            self._listed, self._places = listed, places | self._confirmed
            self._given.clear()
            missing = [row for row in listed.values() if row.engine not in self._links]
            over = [link for engine, link in self._links.items() if engine not in listed]
            for row in missing:
                self._links[row.engine] = ActorLink(
                    self._web, row.engine, row.name, partial(self._said, row.engine), self._ended
                )
        for link in over:
            link.close()
        if self.engines():
            self._found.set()

    def _said(self, engine: str, message: Message | None) -> None:
        for listener in list(self.listeners):
            listener(engine, message)

    def _ended(self, link: ActorLink) -> None:
        """Drop the link, in the thread that read from it.  If the lease is valid, the next round connects again."""
        with self._changing:
            if self._links.get(link.engine) is link:
                del self._links[link.engine]
        self._said(link.engine, None)
