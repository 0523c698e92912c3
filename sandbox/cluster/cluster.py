"""One running cluster: servers, actors, clock, journal, and the record that outlives its process."""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from sandbox.cluster import journal_files
from sandbox.cluster import record as records
from sandbox.cluster.actors.actors import Actors
from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.config import HostConfig
from sandbox.cluster.console import Console
from sandbox.cluster.context import Context
from sandbox.cluster.disk_full import GO_ON_BYTES, DiskFull
from sandbox.cluster.environment import Environment
from sandbox.cluster.frame_recorder import FrameRecorder
from sandbox.cluster.limit_guard import LimitGuard
from sandbox.cluster.links import Links
from sandbox.cluster.listeners import Listeners
from sandbox.cluster.node_names import NodeNames
from sandbox.cluster.nodes import Nodes
from sandbox.cluster.notices import Notice, note_cut, note_tables, of_cuts, of_damaged, of_tables
from sandbox.cluster.presets import Preset, preset_of
from sandbox.cluster.steps import Steps
from sandbox.cluster.topic_origins import TopicOrigins
from sandbox.cluster.wire_access import WireAccess
from sandbox.cluster.wire_connections import WireConnection
from sandbox.control.access_keys import Keys
from sandbox.control.limits import SandboxLimits
from sandbox.journal.events import ClockChanged, StretchEnded
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.store.json_files import TableRead

BEHIND_MS = 1_000  # a clock that is behind by less is not advanced
AFTER_CRASH_MS = 1_000  # the newest stored message may be younger than the journal's last entry
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class Companion(Protocol):
    """State that queries keep for a cluster between two readings."""

    @classmethod
    def beside(cls, cluster: "Cluster") -> Self: ...


C = TypeVar("C", bound=Companion)


class Cluster:
    """Running cluster of a sandbox, on one loop without locks.

    Queries read it, commands change it, `hosting.Sandbox` opens and closes it.  `record` outlives the process;
    `limits` and `preset` are the current values.
    """

    def __init__(self, directory: Path, config: HostConfig, environment: Environment, *, home: Path) -> None:
        self.directory = directory
        self.environment = environment
        self.record = record = records.load(directory)
        if environment.has_sockets:
            record.nodes = [node.at_its_own for node in record.nodes]
        self.limits: SandboxLimits = replace(config.sandbox_limits, **_known(record.limits))
        self.preset = preset_of(record.preset, record.changes)
        self.crashed = record.running  # the process before did not close it
        self.clock = ScaledClock(environment.loop, start_ms=self._start_ms())
        self.chance = Chance(record.seed)
        self.journal_files = journal_files.JournalFiles(
            directory, self.clock, environment, config, self.limits, crashed=self.crashed
        )
        self.journal = self.journal_files.journal
        self.origins = TopicOrigins(record.origins)
        self.steps = Steps(self.clock, self.journal, environment.loop)
        self.listeners = Listeners(
            environment,
            self.clock,
            self.journal,
            self.limits,
            [node.at_its_own for node in record.nodes],
            WireAccess(self.clock, keys_of(record)),
            pin=self._pin_clock,
        )
        self.network = environment.network(self.clock)
        self.context = context = Context(
            directory,
            environment,
            self.network,
            self.clock,
            self.chance,
            self.journal,
            self.preset,
            self.limits,
            self.listeners,
        )
        self.nodes = Nodes(record.nodes, context)
        self.actors = Actors(context, home, self.nodes.addresses, record.processes)
        self.actors.strategies = record.strategies
        for group, kept in record.ledgers.items():
            self.actors.stats_of(group).restore(kept, crashed=self.crashed)
        self.node_names = NodeNames(self.nodes, self.actors)
        self.links = Links(self.network, self.journal, self.node_names.name_of)
        self.links.restore(record.links)
        self.frames = FrameRecorder(
            self.network,
            self.listeners,
            self.clock,
            environment.outside,
            self.journal,
            self.limits,
            self.node_names.name_of,
            repeatable=environment.repeatable,
        )
        self.nodes.skew(record.skews)
        self.nodes.keep_locks(record.lock_lives)
        self.nodes.stay_down(record.down)
        self.limit_guard = LimitGuard(environment.wall, self.journal, environment.position)
        self.console = Console(context, self.actors, self.nodes.addresses)
        self.disk_full = DiskFull(
            self.clock,
            environment.wall,
            self.journal,
            self.steps,
            try_again=self._disk_takes,
            stopped=lambda: self.end_stretch("disk"),
        )
        self._companions: dict[type[Companion], Any] = {}  # each of its key's type
        self._apart: dict[type[Companion], Any] = {}
        self._home_full: Notice | None = None
        self.restored = False  # the record's actors exist again
        self.ended = False  # closed or crashed: opening makes another object
        self._wire()

    def _wire(self) -> None:
        """Connect the parts that call back: each was created before the part that it calls."""
        self.actors.is_wire_client = lambda client: bool(self.connections_of(client))
        self.journal_files.refused = self.disk_full.begin
        self.context.disk_refused = self._disk_refused
        self.context.tables_read = self._note_tables
        self.context.log_cut = lambda node, report: note_cut(self.record.cuts, node, report)
        self.journal_files.on_fact(
            self.origins.note, self.listeners.connections.note, self.actors.note, self.actors.repeats.note
        )

    @property
    def slug(self) -> str:
        return self.record.slug

    @property
    def epoch(self) -> str:
        return self.record.epoch

    @property
    def reached_rate(self) -> float | None:
        """Rate of the clock that a busy machine reaches; None if it reaches the full rate."""
        share = self.environment.share
        return None if share is None else round(share * self.clock.rate, 2)

    def companion(self, kind: type[C]) -> C:
        """Return the cluster's companion of this class, created at the first call."""
        companion: C | None = self._companions.get(kind)
        if companion is None:
            companion = self._companions[kind] = kind.beside(self)
        return companion

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Use separate companions inside the `with` block.

        So a keyframe of a repeatable run does not depend on the readers of the cluster.
        """
        self._companions, self._apart = self._apart, self._companions
        try:
            yield
        finally:
            self._companions, self._apart = self._apart, self._companions

    # Names and external clients.

    def label_of(self, client_id: str) -> str:
        """Return the display name of a client: its actor's label, or the id of an external client."""
        actor = self.actors.find(client_id)
        return client_id if actor is None else self.actors.names_of(client_id) or actor.label

    def wire_clients(self) -> list[str]:
        """Return the addresses of the connected external clients."""
        return [connection.address for connection in self.listeners.connections.open.values()]

    def connections_of(self, client: str) -> list[WireConnection]:
        """Return the connections of an external client: by its id, or by `ip:port` if it has not sent an id.

        `<client id> <address>` selects one of several with the same id.
        """
        return [
            connection
            for connection in self.listeners.connections.open.values()
            if client in (connection.client_id, connection.address, f"{connection.client_id} {connection.address}")
        ]

    # Changes of several parts.

    def change_preset(self, preset: Preset) -> None:
        """Set the sizes and thresholds of nodes and actors that start from now on."""
        self.preset = self.context.preset = preset

    def promote(self, slave: BrokerNode) -> list[str]:
        """Stop a slave, to be started as master; return the changed names.

        The slave and its dead master swap names, and the names of links change with them.
        """
        names = self.nodes.promote(slave)
        self.links.rename(names)
        return list(names)

    def use_keys(self, keys: Keys | None) -> None:
        """Set the keys with which external clients sign; None means that no signature is needed.

        Raises ActionRefused (409, 422).
        """
        if keys is None:
            self.listeners.admit_without_keys()
        else:
            self.listeners.access.set(keys)
        self.record.keys = {} if keys is None else keys._asdict()

    def end_stretch(self, reason: str) -> None:
        """End the repeatable range: the run can be executed again up to here, and no further.

        Written to the journal once.  `reason`: one of STRETCH_ENDS.
        """
        record = self.record
        if record.repeatable and not record.stretch_ended:
            record.stretch_ended = reason
            self.journal.write(StretchEnded(reason))

    def set_home_full(self, full: Notice | None) -> None:
        """Set whether all sandboxes together use too much space; brokers then store no more messages."""
        if full is not None:
            self.end_stretch("disk")
        self._home_full = full
        self.context.home_full = full is not None
        for broker in self.nodes.brokers:
            broker.look_at_home()

    @property
    def notices(self) -> list[Notice]:
        """Notices for the sandbox's viewers, in addition to the reason why it does not run."""
        full = [] if self._home_full is None else [self._home_full]
        damaged = [notice for node in self.nodes.brokers for notice in of_damaged(node.node, node.damaged)]
        return full + damaged + of_tables(self.record.tables) + of_cuts(self.record.cuts)

    def dismiss_notices(self) -> None:
        """Remove the notices that the owner has read; that of a broker that does not start stays."""
        self.record.cuts.clear()
        self.record.tables.clear()
        self.save()

    def _note_tables(self, node: str, reads: Sequence[TableRead]) -> None:
        note_tables(self.record.tables, node, reads)
        if any(read.from_outside for read in reads):
            self.end_stretch("files")

    # Its record.

    def save(self) -> None:
        """Write `sandbox.json`.  If the disk refuses, the clock stops until the file can be written."""
        record = self.record
        record.clock_ms, record.wall_ms = self.clock.now_ms(), self.environment.wall.now_ms()
        record.processes = self.actors.processes
        if self.restored:
            record.actors = self.actors.records()
        if not self.ended:
            record.down = self.nodes.last_known()
        record.strategies = self.actors.strategies
        record.links, record.skews = self.links.rows(), self.nodes.skews()
        record.lock_lives = self.nodes.lock_lives()
        record.ledgers = {group: stats.record() for group, stats in sorted(self.actors.group_stats.items())}
        try:
            records.save(self.directory, record)
        except OSError as error:
            self.disk_full.begin(error)

    def _pin_clock(self, opening: bool) -> None:
        """Set the clock to rate 1 and, if it is behind, to the machine's time, because external clients use that."""
        if self.disk_full.why is not None:
            self.disk_full.rate_before = 1.0
            return
        wall_ms = self.environment.wall.now_ms()
        if opening or self.clock.rate != 1 or self.clock.stepping:
            self.steps.end()
            self.clock.set_rate(1)
            self.journal.write(ClockChanged(1.0, "wire", wall_ms))
        if wall_ms - self.clock.now_ms() > BEHIND_MS:
            self.clock.jump_to(wall_ms)
            self.journal.write(ClockChanged(1.0, "jump", wall_ms))

    def _disk_refused(self, error: OSError, asked_bytes: int) -> None:
        if error.errno in NO_ROOM:
            self.disk_full.begin(error, asked_bytes)

    def _disk_takes(self) -> bool:
        """Return True if the data home accepts the waiting entries and GO_ON_BYTES more."""
        self.journal_files.flush()
        needed_bytes = self.disk_full.refused_bytes + GO_ON_BYTES
        if self.journal_files.is_refused or not all(broker.has_room(needed_bytes) for broker in self.nodes.brokers):
            return False
        try:
            records.save(self.directory, self.record)
        except OSError:
            return False
        return True

    def _start_ms(self) -> int:
        record = self.record
        if record.clock_ms == 0:
            return self.environment.wall.now_ms()
        if not self.crashed:
            return record.clock_ms
        return max(record.clock_ms, journal_files.last_time_ms(self.directory)) + AFTER_CRASH_MS


def keys_of(record: records.SandboxRecord) -> Keys | None:
    return Keys(**record.keys) if record.keys else None


def _known(changes: dict[str, object]) -> dict[str, Any]:
    """Return the limits that still exist, of those set by a course or the settings."""
    names = {field.name for field in fields(SandboxLimits)}
    return {name: value for name, value in changes.items() if name in names}
