"""Sandboxes of a data home and the state of each."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.cluster import record as records
from sandbox.cluster.new_sandbox import port_of
from sandbox.cluster.record import SandboxRecord
from sandbox.control.readings import Bell
from sandbox.hosting.engine_share import Share
from sandbox.hosting.reclaimed_copies import newest
from sandbox.kernel.errors import ActionRefused, CorruptRecord, SandboxError
from sandbox.queries.rows.host import HostedRow
from sandbox.queries.rows.snapshot import SandboxRow

if TYPE_CHECKING:
    import asyncio

    from sandbox.hosting.branching import Branching
    from sandbox.hosting.sandbox import Sandbox

log = logging.getLogger(__name__)


class Slot:
    """Sandbox as its host sees it.  `state`: asleep, branching, waking, live, going to sleep, failed."""

    def __init__(self, slug: str, record: SandboxRecord | None, why_failed: str | None = None) -> None:
        self.slug = slug
        self.state = "asleep" if why_failed is None else "failed"
        self.why_failed = why_failed
        self.sandbox: Sandbox | None = None
        self.change: asyncio.Task[None] | None = None  # a task that is opening or closing it
        self.branching: Branching | None = None  # how it is being made of another one's run
        self.looked_s = 0.0
        self.with_ports = False  # its ports are to be opened
        self._record = record
        self._bells: list[Bell] = []

    @property
    def watched(self) -> bool:
        """True if the sandbox has a viewer or a connected external client."""
        return bool(self._bells) or (self.sandbox is not None and bool(self.sandbox.cluster.wire_clients()))

    @property
    def is_idle(self) -> bool:
        """True if the sandbox is asleep or failed and has no viewers."""
        return self.state in ("asleep", "failed") and self.change is None and not self.watched

    @property
    def killed(self) -> bool:
        """True if the server was killed while the sandbox ran: its last state is unknown."""
        return self.sandbox is None and self._record is not None and self._record.running

    @property
    def listening(self) -> bool:
        """True if the sandbox's ports should be open."""
        return self._record is not None and self._record.listening

    @property
    def is_paced(self) -> bool:
        """True if the sandbox runs in its own virtual time: its run is recorded, and no port is open."""
        return self._record is not None and self._record.repeatable and not (self.listening or self.with_ports)

    @property
    def ports(self) -> set[int]:
        nodes = self._record.nodes if self._record is not None else []
        return {port_of(node.own or node.address) for node in nodes}

    def opened(self, sandbox: "Sandbox", now_s: float) -> None:
        """Record that the sandbox is open.

        Its idle time begins at `now_s` of the machine, because opening counts as a view.
        """
        self.sandbox, self.state, self.why_failed, self.looked_s = sandbox, "live", None, now_s
        for bell in self._bells:
            sandbox.cluster.journal.subscribe(bell.ring)
        self.ring()

    def closed(self, record: SandboxRecord) -> None:
        self.sandbox, self._record, self.state = None, record, "asleep"

    def failed(self, reason: str) -> None:
        self.sandbox, self.state, self.why_failed = None, "failed", reason

    def subscribe(self, bell: Bell) -> None:
        if bell not in self._bells:
            self._bells.append(bell)
            if self.sandbox is not None:
                self.sandbox.cluster.journal.subscribe(bell.ring)

    def unsubscribe(self, bell: Bell) -> None:
        if bell in self._bells:
            self._bells.remove(bell)
            if self.sandbox is not None:
                self.sandbox.cluster.journal.unsubscribe(bell.ring)

    def ring(self) -> None:
        """Report a change without an event to the viewers: opened, closed, or deleted."""
        for bell in self._bells:
            bell.ring()

    def stop_listening(self, directory: Path) -> None:
        """Keep the ports of a sleeping sandbox closed when it is opened."""
        if self._record is not None and self._record.listening:
            self._record.listening = False
            records.save(directory, self._record)

    def identity(self) -> SandboxRow:
        record = self._record
        return {
            "slug": self.slug,
            "template": record.template if record else None,
            "preset": record.preset if record else None,
            "state": self.state,
        }

    def row(self) -> HostedRow:
        record = self._record
        return {
            "slug": self.slug,
            "template": record.template if record else None,
            "preset": record.preset if record else None,
            "state": self.state,
            "progress": self.branching.share if self.branching is not None else None,
            "watched": self.watched,
            "failed": self.why_failed,
            "listening": self.sandbox is not None and self.sandbox.cluster.listeners.is_open,
            "epoch": self.sandbox.record.epoch if self.sandbox is not None else None,
            "trouble": self.sandbox.trouble if self.sandbox is not None else None,
        }


class NotHeld(SandboxError):
    """Error: another engine has claimed the sandbox, or may have; call `hold` first."""


class Registry:
    """Sandboxes of a data home by slug; the directories decide which exist.

    `share`: of sandboxes of other engines only the ports are read.  `is_leased`: engines of other machines share the
    directories, too, and a sandbox that is not claimed here may exist.
    """

    def __init__(self, root: Path, share: Share | None = None, *, is_leased: bool = False) -> None:
        self._root = root
        self._share = share
        self._is_leased = is_leased
        self._slots: dict[str, Slot] = {}
        self._fences: dict[str, int] = {}
        self._ports_of_others: set[int] = set()

    def scan(self) -> None:
        self._root.mkdir(parents=True, exist_ok=True)
        for slug in sorted(path.name for path in self._root.iterdir() if path.is_dir()):
            if not (self.directory(slug) / records.FILE_NAME).exists():
                continue
            slot = self._read(slug)
            if self._share is None or slug in self._share.slugs:
                self._slots[slug] = slot
            else:
                self._ports_of_others |= slot.ports

    def _read(self, slug: str) -> Slot:
        try:
            return Slot(slug, records.load(self.directory(slug)))
        except (CorruptRecord, OSError) as error:
            log.error("reading %s: %s", slug, error)
            return Slot(slug, None, str(error))

    def __contains__(self, slug: str) -> bool:
        return slug in self._slots or self.directory(slug).exists()

    def directory(self, slug: str) -> Path:
        """Return the directory of the sandbox's files; for a claimed sandbox, never that of a later claim."""
        fence = self._fences.get(slug)
        return newest(self._root / slug, None if fence is None else fence + 1)

    def root_of(self, slug: str) -> Path:
        """Return the directory of the sandbox with all copies of its files."""
        return self._root / slug

    def has(self, slug: str) -> bool:
        """Return True if this engine serves the sandbox."""
        return slug in self._slots

    def adopt(self, slug: str, fence: int) -> None:
        """Serve an existing sandbox; `fence`: the number of the claim."""
        self._fences[slug] = fence
        self._slots[slug] = self._read(slug)

    def is_of_others(self, slug: str) -> bool:
        """Return True if the sandbox exists and another engine serves it."""
        return self._share is not None and slug not in self._slots and self.directory(slug).exists()

    def add(self, slug: str, record: SandboxRecord) -> None:
        self._slots[slug] = Slot(slug, record)

    def demand_free(self, slug: str) -> None:
        """Raise ActionRefused (409) if a sandbox has this name."""
        if slug in self:
            raise ActionRefused(409, "Sandbox {slug} already exists.", "Choose another name.", slug=slug)

    def remove(self, slug: str) -> None:
        self._fences.pop(slug, None)
        if (slot := self._slots.pop(slug, None)) is not None and self._is_leased:
            self._ports_of_others |= slot.ports

    def get(self, slug: str) -> Slot:
        slot = self._slots.get(slug)
        if slot is None and self._is_leased and self.root_of(slug).exists():
            raise NotHeld(slug)
        if slot is None:
            raise ActionRefused(404, "Sandbox {slug} does not exist.", "The sandbox may have expired.", slug=slug)
        return slot

    def all(self) -> list[Slot]:
        return [self._slots[slug] for slug in sorted(self._slots)]

    def awake(self) -> list[Slot]:
        return [slot for slot in self.all() if slot.sandbox is not None]

    def ports(self) -> set[int]:
        """Return the ports in use; a node keeps its port as long as the sandbox exists."""
        return self._ports_of_others.union(*(slot.ports for slot in self._slots.values()))
