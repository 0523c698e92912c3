"""A tenant with walls: name server, brokers, actors, clock, journal, directory, limits."""

import errno
import logging
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from sandbox.cluster import journal_files
from sandbox.cluster import record as records
from sandbox.cluster.actors.actors import Actors, start_or_refuse
from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.config import HostConfig
from sandbox.cluster.console import Console
from sandbox.cluster.context import Surroundings
from sandbox.cluster.disk_full import GO_ON_BYTES, Standstill
from sandbox.cluster.environment import Ground
from sandbox.cluster.frame_recorder import WireRecorder
from sandbox.cluster.limit_guard import Walls
from sandbox.cluster.links import Links
from sandbox.cluster.listeners import Listening
from sandbox.cluster.node_names import Whereabouts
from sandbox.cluster.nodes import Nodes
from sandbox.cluster.notices import Notice, note_cut, of_cuts
from sandbox.cluster.presets import Preset, preset_of
from sandbox.cluster.snapshot_cache import RowMemory
from sandbox.cluster.steps import Steps
from sandbox.cluster.templates import template_of
from sandbox.cluster.topic_origins import TopicOrigins
from sandbox.cluster.wire_access import Keys, WireAccess
from sandbox.cluster.wire_connections import WireConnection
from sandbox.commands import prepare
from sandbox.control.actions import Action, fields_of, name_of
from sandbox.control.limits import SandboxLimits
from sandbox.control.questions import Question
from sandbox.journal.events import ActionTaken, ClockChanged, SandboxOpened, SandboxSlept, SandboxWoken
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.questions import answer
from sandbox.queries.recent_lag import RecentLag
from sandbox.queries.snapshot.whole import draw_snapshot

log = logging.getLogger(__name__)

BEHIND_MS = 1_000  # of a clock that is not worth a jump
AFTER_CRASH_MS = 1_000  # the newest stored message may be younger than what the journal still knows
HEX = "0123456789abcdef"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class Sandbox:
    """Awake from `open` to `close` (or `crash`).  Everything runs on the engine's loop, nothing is locked."""

    def __init__(self, directory: Path, config: HostConfig, ground: Ground, *, home: Path) -> None:
        self.directory = directory
        self.ground = ground
        self.config = config
        self.record = record = records.load(directory)
        self.limits: SandboxLimits = replace(config.sandbox_limits, **_known(record.limits))
        self.preset = preset_of(record.preset, record.changes)
        self.crashed = record.running  # the last life did not end
        self.clock = ScaledClock(ground.loop, start_ms=self._start_ms())
        self.chance = Chance(record.seed)
        self.diary = journal_files.Diary(directory, self.clock, ground, config, self.limits, crashed=self.crashed,
                                 draw=self.snapshot)
        self.journal = self.diary.journal
        self.memory = RowMemory(self.clock)
        self.origins = TopicOrigins(record.origins)
        self.steps = Steps(self.clock, self.journal, ground.loop)
        access = WireAccess(self.clock, keys_of(record))
        self.listening = Listening(ground, self.clock, self.journal, self.limits, record.nodes, access,
                                   pin=self._pin_clock)
        self.network = ground.network(self.clock)
        self.around = around = Surroundings(directory, ground, self.network, self.clock, self.chance, self.journal,
                                            self.preset, self.limits, self.listening)
        self.nodes = Nodes(record.nodes, around)
        self.actors = Actors(around, home, self.nodes.addresses, record.processes)
        self.diary.tell_facts(self.memory.note, self.origins.note, self.listening.connections.note, self.actors.note,
                              self.actors.repeats.note)
        self.actors.strategies = record.strategies
        self.actors.is_wire_client = lambda client: bool(self.connections_of(client))
        for group, kept in record.ledgers.items():
            self.actors.ledger(group).restore(kept, crashed=self.crashed)
        self.whereabouts = Whereabouts(self.nodes, self.actors)
        self.links = Links(self.network, self.journal, self.whereabouts.name_of)
        self.links.restore(record.links)
        self.wire = WireRecorder(self.network, self.listening, self.clock, ground.wall, self.journal, self.limits,
                                 self.whereabouts.name_of)
        self.nodes.skew(record.skews)
        self.nodes.keep_locks(record.lock_lives)
        self.nodes.stay_down(record.down)
        self.walls = Walls(ground.wall, self.journal)
        self.console = Console(around, self.actors, self.nodes.addresses)
        self.standstill = Standstill(self.clock, ground.wall, self.journal, self.steps, try_again=self._disk_takes)
        self.diary.refused = self.standstill.begin
        around.disk_refused = self._disk_refused
        around.log_cut = lambda node, report: note_cut(record.cuts, node, report)
        self.recent_lag = RecentLag(self)
        self._home_full: Notice | None = None
        self._restored = False
        self.ended = False  # closed or crashed: another object is the next life

    @property
    def slug(self) -> str:
        return self.record.slug

    @property
    def epoch(self) -> str:
        return self.record.epoch

    # Life.

    async def open(self) -> None:
        """Recover, start the servers, then the actors as new processes.  The first time, build the stage.

        Raises StoreError (and leaves everything closed) when a broker's files cannot be opened.
        """
        record = self.record
        self._write_awakening()
        record.running = True
        self._save()
        try:
            self.nodes.start()
            ran = self.actors.restore(record.actors, crashed=self.crashed)
            self._restored = True
            for actor in ran:
                start_or_refuse(self.actors, actor)
            if not record.built:
                self._build_stage()
        except BaseException:
            self.crash()
            record.running = self.crashed
            self._save()
            raise
        self.clock.set_rate(record.rate)
        self.diary.start()
        self.recent_lag.start()
        self._remember()
        if record.listening:
            await self._open_again()

    async def _open_again(self) -> None:
        """Its ports were open when it fell asleep; whoever has taken one meanwhile does not keep it from waking."""
        try:
            await self.listening.open()
        except ActionRefused as why:
            log.warning("%s is awake, and its ports stay closed: %s", self.slug, why)

    def _build_stage(self) -> None:
        """All of it, or what a kill in the middle had left undone."""
        for action in template_of(self.record.template).stage:
            try:
                self.act(action, "template")
            except ActionRefused:
                if not self.crashed:
                    raise
        self.record.built = True

    async def close(self, reason: str) -> None:
        """Actors stop cleanly, brokers stop cleanly, the clock stops."""
        record = self.record
        self._keep_snapshot()
        record.rate = self.clock.rate if self.standstill.rate_before is None else self.standstill.rate_before
        self._save()
        self.standstill.end()
        self.wire.close()
        await self.listening.close()
        if self.clock.rate < 1:
            self.clock.set_rate(1)  # a stopped world could not finish what it is doing
        await self.actors.stop_all()
        await self.console.close()
        self.nodes.stop()
        self.journal.write(SandboxSlept(reason))
        record.clock_ms = self.clock.now_ms()
        self.ended = True
        self.diary.close()
        self.clock.close()
        record.wall_ms, record.running = self.ground.wall.now_ms(), False
        try:
            self.recent_lag.save()
            records.save(self.directory, record)
        except OSError as why:
            log.error("keeping the end of %s failed, so it counts as killed: %s", self.slug, why)

    def crash(self) -> None:
        """As when the server is killed: nothing is written any more."""
        self.wire.close()
        self.listening.crash()
        self.actors.crash_all()
        self.console.crash()
        self.nodes.kill()
        self.ended = True
        self.diary.abandon()
        self.standstill.end()
        self.clock.close()

    # Doing and asking.

    def act(self, action: Action, by: str) -> int:
        """Carry `action` out; returns the seq of its ActionTaken.  Refusals leave nothing behind, not even an event."""
        self.standstill.check()
        carry_out = prepare(self, action)
        seq = self.journal.write(ActionTaken(name_of(action), plain(fields_of(action)), by))
        with self.journal.caused_by(seq):
            carry_out(seq, by)
        if self.record.built:
            self._save()
        return seq

    @property
    def trouble(self) -> str | None:
        """Why the sandbox stands still, when it is not by anybody's wish."""
        return self.standstill.sentence

    def tell_home(self, full: Notice | None) -> None:
        """Whether all sandboxes together take too much; then brokers take nothing more."""
        self._home_full = full
        self.around.home_full = full is not None
        for broker in self.nodes.brokers:
            broker.look_at_home()

    @property
    def notices(self) -> list[Notice]:
        """What everybody who looks should know, beside `trouble`."""
        full = [] if self._home_full is None else [self._home_full]
        return full + of_cuts(self.record.cuts)

    def dismiss_notices(self) -> None:
        self.record.cuts.clear()
        self._save()

    def ask(self, question: Question) -> dict[str, Any]:
        return answer(self, question)

    def snapshot(self) -> dict[str, Any]:
        """Catalogue 9, read in this turn."""
        return draw_snapshot(self)

    def label_of(self, client_id: str) -> str:
        """How people know a client: its actor's label, or its id when it is not ours."""
        return next((actor.label for actor in self.actors.by_label.values() if actor.client_id == client_id), client_id)

    def change_preset(self, preset: Preset) -> None:
        """What starts from here on has these sizes and thresholds."""
        self.preset = self.around.preset = preset

    def promote(self, slave: BrokerNode) -> None:
        """Restart it as master; it and its dead master change names, and their links go with them."""
        names = self.nodes.promote(slave)
        self.links.rename(names)
        for name in names:
            self.memory.forget_store(name)

    # Other people's clients.

    async def open_listener(self) -> None:
        """Open its ports, now and after every sleep.  Raises ActionRefused (409), and then none is open."""
        self.standstill.check()
        await self.listening.open()
        self.record.listening = True
        self._save()

    async def close_listener(self) -> None:
        """Close them, and cut whoever is connected."""
        self.record.listening = False
        await self.listening.close()
        self._save()

    def set_keys(self, keys: Keys | None) -> None:
        """What strangers sign with from now on; None: nobody must.  Raises ActionRefused (409, 422)."""
        self.standstill.check()
        if keys is None:
            self.listening.admit_without_keys()
        else:
            self.listening.access.set(keys)
        self.record.keys = {} if keys is None else keys._asdict()
        self._save()

    def wire_clients(self) -> list[str]:
        """Addresses of clients that came over a real wire."""
        return [connection.address for connection in self.listening.connections.open.values()]

    def connections_of(self, client: str) -> list[WireConnection]:
        """Those of a client by its id, or the one from an `ip:port` that has not said whose it is."""
        return [connection for connection in self.listening.connections.open.values()
                if client in (connection.client_id, connection.address)]

    def _pin_clock(self, opening: bool) -> None:
        """A wire client has clocks of its own: from here on a second is a second and, if that is ahead, now is now."""
        if self.standstill.why is not None:
            self.standstill.rate_before = 1.0
            return
        wall_ms = self.ground.wall.now_ms()
        if opening or self.clock.rate != 1 or self.clock.stepping:
            self.steps.end()
            self.clock.set_rate(1)
            self.journal.write(ClockChanged(1.0, "wire", wall_ms))
        if wall_ms - self.clock.now_ms() > BEHIND_MS:
            self.clock.jump_to(wall_ms)
            self.journal.write(ClockChanged(1.0, "jump", wall_ms))

    # What it remembers.

    def _remember(self) -> None:
        """Save now and then, so that a kill costs a feed or a clock little of its way."""
        if self.ended:
            return
        self._save()
        self.ground.wall.call_later(self.config.remember_s, self._remember)

    def _save(self) -> None:
        record = self.record
        record.clock_ms, record.wall_ms = self.clock.now_ms(), self.ground.wall.now_ms()
        record.processes = self.actors.processes
        if self._restored:
            record.actors = self.actors.records()
        if not self.ended:
            record.down = self.nodes.last_known()
        record.strategies = self.actors.strategies
        record.links, record.skews = self.links.rows(), self.nodes.skews()
        record.lock_lives = self.nodes.lock_lives()
        record.ledgers = {group: ledger.record() for group, ledger in sorted(self.actors.ledgers.items())}
        try:
            records.save(self.directory, record)
        except OSError as why:
            self.standstill.begin(why)

    def _keep_snapshot(self) -> None:
        try:
            records.save_snapshot(self.directory, self.snapshot())
        except OSError as why:
            log.error("keeping how %s fell asleep failed: %s", self.slug, why)

    def _disk_refused(self, why: OSError, asked_bytes: int) -> None:
        if why.errno in NO_ROOM:
            self.standstill.begin(why, asked_bytes)

    def _disk_takes(self) -> bool:
        """Does the data home take what waits to be kept, and what comes next?"""
        self.diary.flush()
        wanted = self.standstill.refused_bytes + GO_ON_BYTES
        if self.diary.is_refused or not all(broker.has_room(wanted) for broker in self.nodes.brokers):
            return False
        try:
            records.save(self.directory, self.record)
        except OSError:
            return False
        return True

    def _start_ms(self) -> int:
        record = self.record
        if record.clock_ms == 0:
            return self.ground.wall.now_ms()
        if not self.crashed:
            return record.clock_ms
        return max(record.clock_ms, journal_files.last_time_ms(self.directory)) + AFTER_CRASH_MS

    def _write_awakening(self) -> None:
        record = self.record
        record.wakes += 1
        record.epoch = f"{record.wakes:x}" + self.chance.fork(f"epoch {record.wakes}").token(3, HEX)
        wall_ms = self.ground.wall.now_ms()
        if record.wakes == 1:
            self.journal.write(SandboxOpened(record.template, record.preset, record.seed, record.epoch))
        else:
            reason = "after a kill" if self.crashed else "visit"
            self.journal.write(SandboxWoken(reason, max(0, wall_ms - record.wall_ms), record.epoch))
        self.journal.write(ClockChanged(record.rate, "wake", wall_ms))


def keys_of(record: records.SandboxRecord) -> Keys | None:
    return Keys(**record.keys) if record.keys else None


def plain(value: Any) -> Any:
    """As JSON values: a NamedTuple becomes an object."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def _known(changes: dict[str, Any]) -> dict[str, Any]:
    """Limits a course or the settings changed; names that are no limits any more are left out."""
    names = {field.name for field in fields(SandboxLimits)}
    return {name: value for name, value in changes.items() if name in names}

