"""Sandbox: a cluster with its life cycle, from opening to closing or a crash, and its actions and questions."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import cast

from sandbox.cluster import record as records
from sandbox.cluster.actors.actors import start_or_refuse
from sandbox.cluster.cluster import Cluster
from sandbox.cluster.config import HostConfig
from sandbox.cluster.environment import Environment
from sandbox.cluster.lab_progress import LabProgress
from sandbox.cluster.notices import Notice
from sandbox.cluster.teacher_hold import TeacherHold
from sandbox.cluster.templates import template_of
from sandbox.commands import prepare
from sandbox.control.access_keys import Keys
from sandbox.control.actions import Action, fields_of, name_of
from sandbox.control.questions import Question
from sandbox.control.readings import Reading
from sandbox.hosting import last_readings
from sandbox.hosting.finding_looks import FindingLooks
from sandbox.hosting.guards import GUARDS
from sandbox.journal.events import ActionTaken, ClockChanged, Position, SandboxOpened, SandboxSlept, SandboxWoken
from sandbox.journal.events.life import HISTORY
from sandbox.kernel.engine_version import ENGINE
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.questions import answer
from sandbox.queries.recent_lag import RecentLag
from sandbox.queries.rows.group_states import Groups
from sandbox.queries.rows.snapshot import Snapshot
from sandbox.queries.rows.tile import Tile
from sandbox.queries.snapshot.channels import read_channel, reading_of
from sandbox.queries.snapshot.whole_sandbox import draw_snapshot
from sandbox.queries.snapshot_cache import SnapshotCache

log = logging.getLogger(__name__)

HEX = "0123456789abcdef"


class Sandbox:
    """Cluster with its life cycle, open from `open` to `close` (or `crash`).

    Everything runs on the engine's loop, without locks.
    """

    def __init__(
        self, directory: Path, config: HostConfig, environment: Environment, *, home: Path, why_live: str = "ports"
    ) -> None:
        """Create a closed sandbox from its directory.

        `why_live`: one of STRETCH_ENDS, for a recorded run that continues but can no longer be repeated.
        """
        self.directory = directory
        self._why_live = why_live
        self.config = config
        self.cluster = Cluster(directory, config, environment, home=home)
        self.record = self.cluster.record
        self.cluster.companion(SnapshotCache)  # sees every fact from the first one on
        self.recent_lag = self.cluster.companion(RecentLag)
        self.findings = FindingLooks(self.cluster)
        if environment.repeatable:
            with self.cluster.apart():
                self.cluster.companion(SnapshotCache)

    @property
    def slug(self) -> str:
        return self.record.slug

    @property
    def held(self) -> TeacherHold:
        return self.cluster.companion(TeacherHold)

    @property
    def ended(self) -> bool:
        return self.cluster.ended

    # Life.

    async def open(self) -> None:
        """Recover, start the servers, then the actors as new processes.  The first time, run the template's setup.

        Raises StoreError (and leaves everything closed) if a broker's files cannot be opened.
        """
        cluster, record = self.cluster, self.record
        last_readings.forget(self.directory)
        self._write_awakening()
        record.running = True
        cluster.save()
        try:
            cluster.nodes.start()
            ran = cluster.actors.restore(record.actors, crashed=cluster.crashed)
            cluster.restored = True
            for actor in ran:
                start_or_refuse(cluster.actors, actor)
            if not record.built:
                self._run_setup()
        except BaseException:
            self.crash()
            record.running = cluster.crashed
            cluster.save()
            raise
        cluster.clock.set_rate(record.rate)
        cluster.companion(LabProgress).resume()
        cluster.journal_files.start(self._draw_keyframe)
        self.recent_lag.start()
        self.findings.start()
        self._remember()
        if record.listening:
            await self._open_again()

    async def _open_again(self) -> None:
        """Open the ports that were open before sleep; if a port is taken, the sandbox opens without ports."""
        try:
            await self.cluster.listeners.open()
        except ActionRefused as error:
            log.warning("%s is awake, and its ports stay closed: %s", self.slug, error)

    def _run_setup(self) -> None:
        """Run the template's setup actions.

        After a kill during the setup, actions already done are refused and skipped.
        """
        for action in template_of(self.record.template).setup:
            try:
                self.act(action, "template")
            except ActionRefused:
                if not self.cluster.crashed:
                    raise
        self.record.built = True

    async def close(self, reason: str, *, came: Position | None = None) -> None:
        """Stop the actors, then the brokers, then the clock, all cleanly.

        `came`: position of the request in the run.
        """
        cluster, record = self.cluster, self.record
        self._keep_last_state()
        self.findings.stop()
        before = cluster.disk_full.rate_before
        record.rate = cluster.clock.rate if before is None else before
        cluster.save()
        cluster.disk_full.end()
        cluster.frames.close()
        await cluster.listeners.close()
        if cluster.clock.rate < 1:
            cluster.clock.set_rate(1)  # with a stopped clock, nothing could finish
        await cluster.actors.stop_all()
        await cluster.console.close()
        cluster.nodes.stop()
        slept = cluster.journal.write(SandboxSlept(reason), came=came)
        if reason == HISTORY:
            record.history_until = slept
        record.clock_ms = cluster.clock.now_ms()
        cluster.ended = True
        cluster.journal_files.close()
        cluster.clock.close()
        record.wall_ms, record.running = cluster.environment.wall.now_ms(), False
        record.closed_ms = 0 if reason == HISTORY else cluster.environment.outside.now_ms()
        try:
            self.recent_lag.save()
            records.save(self.directory, record)
        except OSError as error:
            log.error("keeping the end of %s failed, so it counts as killed: %s", self.slug, error)

    def crash(self) -> None:
        """Stop everything as when the server is killed: nothing more is written."""
        cluster = self.cluster
        cluster.frames.close()
        cluster.listeners.crash()
        cluster.actors.crash_all()
        cluster.console.crash()
        cluster.nodes.kill()
        cluster.ended = True
        cluster.journal_files.abandon()
        cluster.disk_full.end()
        cluster.clock.close()

    # Actions and questions.

    def act(self, action: Action, by: str) -> int:
        """Execute `action`; return the seq of its ActionTaken.

        A refused action has no effect and writes no event.  An answer that was received before has none, either: its
        seq is returned again.
        """
        cluster = self.cluster
        received = cluster.companion(LabProgress).seq_of(action)
        if received is not None:
            cluster.journal_files.show()  # it may be written in this very turn, and must outlive a kill
            return received
        for guard in GUARDS:
            guard(cluster, name_of(action), by)
        carry_out = prepare(cluster, action)
        came = cluster.environment.position()
        fields = fields_of(action, whole=came is not None)
        seq = cluster.journal.write(ActionTaken(name_of(action), fields, by), came=came)
        with cluster.journal.caused_by(seq):
            carry_out(seq, by)
        if self.record.built:
            cluster.save()
            cluster.journal_files.show()  # before the answer: a kill loses no action that was answered
        return seq

    def plan(self, in_s: float, fn: Callable[[], None], over: Callable[[], None]) -> int:
        """Call `fn` after `in_s` of the machine's time, or `over` if the sandbox sleeps before.

        Return the sandbox's time then in ms, if its rate does not change.
        """
        self.cluster.environment.wall.call_later(in_s, lambda: over() if self.ended else fn())
        return self._ms_in(in_s)

    def _ms_in(self, in_s: float) -> int:
        clock = self.cluster.clock
        return clock.ms_at(clock.monotonic() + in_s * clock.rate)

    def ask(self, question: Question) -> dict[str, object]:
        return answer(self.cluster, question)

    def snapshot(self) -> Snapshot:
        """Return the snapshot of the sandbox (catalogue 9), read in this turn."""
        return {**draw_snapshot(self.cluster), "machine_ms": self.cluster.environment.outside.now_ms()}

    def read(self, kind: str, rest: list[str]) -> Reading:
        """Return the data of one of its live channels (catalogue 10).  Raises ChannelUnknown."""
        if kind == "findings":
            return reading_of(self.cluster, self.findings.read())
        reading = read_channel(self.cluster, kind, rest)
        if kind == "groups":
            return reading._replace(data=self.findings.watch.marked(cast(Groups, reading.data)))
        if kind == "tile":
            tile = cast(Tile, reading.data)["tile"]
            mark = self.findings.watch.mark()
            return reading if mark is None else reading._replace(data={"tile": {**tile, "finding": mark}})
        return reading

    def _draw_keyframe(self) -> Snapshot:
        """Return the snapshot of a keyframe; in a repeatable run without values that depend on machine or viewers.

        A branch has the slug of its run in them, because that began as another sandbox's.
        """
        if not self.cluster.environment.repeatable:
            return self.snapshot()
        run = self.record.branch_of.get("run", self.slug)
        with self.cluster.apart():
            drawn = draw_snapshot(self.cluster)
        return {**drawn, "sandbox": {**drawn["sandbox"], "slug": run, "name": run}, "reached_rate": None}

    @property
    def trouble(self) -> str | None:
        """Reason why the sandbox does not run although it was not paused; None if it runs."""
        return self.cluster.disk_full.sentence

    def set_home_full(self, full: Notice | None) -> None:
        """Set whether all sandboxes together use too much space; brokers then store no more messages."""
        self.cluster.set_home_full(full)

    def dismiss_notices(self) -> None:
        self.cluster.dismiss_notices()

    # External clients.

    async def open_listeners(self) -> None:
        """Open its ports, now and after every sleep.  Raises ActionRefused (409); then none is open."""
        self.cluster.disk_full.check()
        await self.cluster.listeners.open()
        self.record.listening = True
        self.cluster.save()

    async def close_listeners(self) -> None:
        """Close the ports and end every connection."""
        self.record.listening = False
        await self.cluster.listeners.close()
        self.cluster.save()

    def set_keys(self, keys: Keys | None) -> None:
        """Set the keys with which external clients sign; None requires none.  Raises ActionRefused (409, 422)."""
        self.cluster.disk_full.check()
        self.cluster.use_keys(keys)
        self.cluster.save()

    # Its record.

    def _remember(self) -> None:
        """Save at intervals, so that a kill costs a feed or a clock little progress."""
        if self.ended:
            return
        self.cluster.save()
        self.cluster.environment.wall.call_later(self.config.remember_s, self._remember)

    def _keep_last_state(self) -> None:
        try:
            records.save_snapshot(self.directory, self.snapshot())
            last_readings.keep(self)
        except OSError as error:
            log.error("keeping how %s fell asleep failed: %s", self.slug, error)

    def _write_awakening(self) -> None:
        cluster, record = self.cluster, self.record
        record.wakes += 1
        record.epoch = f"{record.wakes:x}" + cluster.chance.fork(f"epoch {record.wakes}").token(3, HEX)
        wall_ms = cluster.environment.wall.now_ms()
        if record.wakes == 1:
            cluster.journal.write(SandboxOpened(record.template, record.preset, record.seed, record.epoch))
        else:
            is_begin = record.history_until and record.wakes == 2
            reason = "after a kill" if cluster.crashed else HISTORY if is_begin else "visit"
            cluster.journal.write(SandboxWoken(reason, self._slept_ms(wall_ms), record.epoch))
        cluster.journal.write(ClockChanged(record.rate, "wake", wall_ms))
        before, record.engine = record.engine, ENGINE
        if cluster.crashed:
            cluster.end_stretch("kill")
        elif not cluster.environment.repeatable:
            cluster.end_stretch(self._why_live)
        elif before != ENGINE:
            cluster.end_stretch("engine")

    def _slept_ms(self, woken_ms: int) -> int | None:
        """Return the time asleep by the server's clock in ms; None if unknown.

        The clock of the sandbox's own machines may have been behind when it closed.
        """
        closed_ms = self.record.closed_ms
        return woken_ms - closed_ms if closed_ms and not self.cluster.crashed and woken_ms >= closed_ms else None
