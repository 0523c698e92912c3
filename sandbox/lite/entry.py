"""Entry of the engine in a browser's worker: one host, one hub, and a viewer for each socket that a page opens."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeVar

from sandbox.cluster.config import HostConfig
from sandbox.control.actions import StartLab
from sandbox.control.branch_orders import RunOrder
from sandbox.control.limits import HostLimits, SocketLimits
from sandbox.control.recipe_text import unpack
from sandbox.control.rights import Actor
from sandbox.hosting.host import Host
from sandbox.hosting.incident_notes import order_of
from sandbox.hosting.port import EnginePort
from sandbox.hosting.sandbox import Sandbox
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.labs.incidents import INCIDENTS
from sandbox.lite.environment import LiteEnvironment
from sandbox.lite.saved_files import SavedFiles
from sandbox.live import frames
from sandbox.live.hub import Hub
from sandbox.live.viewer import Viewer
from sandbox.live.visible_parts import Sight

T = TypeVar("T")

ADDRESS = "worker"  # of all viewers
OWNER = Actor(role="owner", name="reader")
FLIGHTS = "flights"  # the template with the feed
FEED = b'"feed":"flights"'  # in the journal, once a producer reads it
MOST_KEPT_BYTES = 250_000_000  # of files: a new log needs as much memory once more
LOG_BYTES = 8_000_000  # a shorter log does not begin anew
LOOK_S = 0.2  # between two looks at a run that is executed again

Kind = Literal["template", "lab", "incident", "recipe"]


class Lite:
    """The engine of one worker.  `say` gets the number of a socket and a text for it, `closed` a number and a code.

    `log`: what `record` returned before, one after the other; then `resume` instead of `begin`.
    """

    def __init__(
        self,
        home: str,
        say: Callable[[int, str], None],
        closed: Callable[[int, int], None],
        config: HostConfig | None = None,
        *,
        log: bytes = b"",
    ) -> None:
        self._home = Path(home) / "sandboxes"
        self._saved = SavedFiles(self._home)
        self.restored_bytes = self._saved.restore(log)
        loop = asyncio.get_running_loop()
        self._config = config or HostConfig()
        environment = LiteEnvironment(loop)
        self.now_ms = environment.wall.now_ms  # of this machine
        self._host = Host(Path(home), self._config, environment)
        self.port = EnginePort(loop, self._host)
        self._host.start()
        self._hub = Hub(self.port)
        self._say = say
        self._closed = closed
        self._viewers: dict[int, Viewer] = {}

    async def begin(
        self, slug: str, kind: Kind, name: str, seed: str | None = None, progress: Callable[[float], None] | None = None
    ) -> None:
        """Create the sandbox of this worker and open it.

        `name`: of a template, a lab or an incident, or the text of a recipe.  `progress` gets the share of an incident
        or recipe that is executed, 0 to 1.  Raises ActionRefused: 404 if there is none of that name, else as
        `EnginePort.create` and `EnginePort.branch`.
        """
        if kind == "template":
            await asyncio.wrap_future(self.port.create(slug, name, seed=seed))
        elif kind == "lab":
            await self._begin_lab(slug, name, seed)
        elif kind == "incident":
            await self.execute(slug, order_of(_known(INCIDENTS, name), self._config), progress)
        else:
            await self.execute(slug, unpack(name, HostLimits()), progress)

    async def resume(self) -> str:
        """Open the restored sandbox and return its slug.  Raises ActionRefused (409) if it cannot be opened."""
        [slug] = self._host.status()["sandboxes"]
        await asyncio.wrap_future(self.port.wake(slug))
        return slug

    def record(self) -> tuple[bytes, bool] | None:
        """Return a record for the log, empty if nothing has changed, and whether a new log begins with it.

        None: the files are too large to be kept.
        """
        if self._saved.file_bytes > MOST_KEPT_BYTES:
            return None
        self._write_out()
        if self._saved.log_bytes > max(LOG_BYTES, 2 * self._saved.file_bytes) or not self._saved.log_bytes:
            return self._saved.whole(), True
        return self._saved.changes(), False

    def files(self) -> bytes | None:
        """Return all files as they are, for another worker (`sandbox.lite.recorder`); None: they are too large."""
        if self._saved.file_bytes > MOST_KEPT_BYTES:
            return None
        self._write_out()
        return SavedFiles(self._home).whole()

    def directory(self, slug: str) -> Path:
        """Return the directory of a sandbox's files."""
        return self._home / slug

    def awake(self, slug: str) -> Sandbox:
        """Return the open sandbox."""
        return self._host.awake(slug)

    def stay_awake(self, slug: str) -> None:
        """Keep the sandbox open also while no page looks."""
        self._host.subscribe(slug, self)

    def ring(self) -> None:
        """Do nothing: as a bell, this only keeps a sandbox awake."""

    def hold_again(self, slug: str, hold: Mapping[str, object]) -> None:
        """Put a teacher's hold on the sandbox, as it was when its run was interrupted."""
        self._host.interventions.hold_again(slug, hold)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the open sockets."""
        return list(self._viewers)

    def _write_out(self) -> None:
        for slug in self._host.status()["sandboxes"]:
            self._host.branches.show(slug)

    async def _begin_lab(self, slug: str, name: str, seed: str | None) -> None:
        lab = _known(LABS, name)
        made = self.port.create(slug, lab.template, preset=lab.preset, seed=seed, changes=dict(lab.changes) or None)
        await asyncio.wrap_future(made)
        await asyncio.wrap_future(self.port.act(slug, StartLab(lab=name), OWNER))

    async def execute(self, slug: str, order: RunOrder, progress: Callable[[float], None] | None = None) -> None:
        """Execute a run until the sandbox goes on by itself."""
        await asyncio.wrap_future(self.port.branch(slug, order))
        while (row := self._host.status()["sandboxes"][slug])["state"] == "branching":
            if progress is not None:
                progress(row["progress"] or 0.0)
            await asyncio.sleep(LOOK_S)
        await asyncio.wrap_future(self.port.wake(slug))

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


def reads_flights(kind: Kind, name: str, log: bytes = b"") -> bool:
    """Return True if a sandbox that begins so, or goes on from this log, sends departures.

    Then it needs the whole feed, of which a page has a part.
    """
    if FEED in log:
        return True
    if kind == "recipe":
        order = unpack(name, HostLimits())
        return order.template == FLIGHTS or any((event.fields or {}).get("feed") for event in order.came)
    if kind == "lab":
        return _known(LABS, name).template == FLIGHTS
    if kind == "incident":
        return _known(INCIDENTS, name).template == FLIGHTS
    return name == FLIGHTS


def _known(catalogue: Mapping[str, T], name: str) -> T:
    if name not in catalogue:
        raise ActionRefused(404, "There is no {name}.", "Choose one of the list.", name=name)
    return catalogue[name]
