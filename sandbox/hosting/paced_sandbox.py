"""Sandbox with a repeatable run: its virtual loop is paced by the machine's time."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox.cluster import record as records
from sandbox.cluster.config import HostConfig
from sandbox.cluster.environment import Environment
from sandbox.cluster.notices import Notice
from sandbox.cluster.origin import OF_THE_RUN, load_origin
from sandbox.cluster.paced import PacedEnvironment
from sandbox.control.access_keys import Keys
from sandbox.control.actions import Action
from sandbox.control.questions import Question
from sandbox.control.readings import Reading
from sandbox.hosting.loop_pacer import Pace
from sandbox.hosting.sandbox import Sandbox
from sandbox.journal.events import Position
from sandbox.kernel.errors import CorruptRecord
from sandbox.queries.rows.snapshot import Snapshot

log = logging.getLogger(__name__)


class PacedSandbox(Sandbox):
    """Sandbox in virtual time.

    Actions run between two turns of its loop, and the journal records their positions; reading changes nothing.
    """

    def __init__(
        self,
        directory: Path,
        config: HostConfig,
        machine: Environment,
        *,
        home: Path,
        paced: PacedEnvironment | None = None,
    ) -> None:
        origin = load_origin(directory)
        kept = {name: getattr(origin.config, name) for name in OF_THE_RUN}
        self._paced = paced or PacedEnvironment(
            records.load(directory).seed,
            wall_ms=machine.wall.now_ms(),
            memory_bytes=origin.memory_bytes,
            workers=machine.workers,
            outside=machine.wall,
            make_disk=machine.make_paced_disk,
        )
        self._pace = Pace(self._paced, machine, slice_ms=config.limits.slice_ms)
        with self._paced.sim.entered():
            super().__init__(
                directory, replace(config, sandbox_limits=origin.config.sandbox_limits, **kept), self._paced, home=home
            )

    async def open(self) -> None:
        try:
            await self._pace.run(super().open)
        except BaseException:
            self._pace.stop()
            raise

    def go_on(self) -> None:
        """Continue with the machine's time, after another owner ran the sandbox's loop."""
        self._pace.go_on()

    async def close(self, reason: str, *, came: Position | None = None) -> None:
        def begin() -> Any:
            return Sandbox.close(self, reason, came=self._paced.position())

        await self._pace.run(begin)
        self._pace.stop()

    def crash(self) -> None:
        self._pace.turn(super().crash)
        if not self._paced.sim.in_turn:
            self._pace.stop()

    def act(self, action: Action, by: str) -> int:
        return self._pace.turn(lambda: Sandbox.act(self, action, by))

    def plan(self, in_s: float, fn: Callable[[], None], over: Callable[[], None]) -> int:
        """Plan a call at a fixed ms of the loop, also if the machine is late; return the ms of the sandbox's clock."""
        at_ms = self._pace.plan(in_s, fn, over)
        return self._ms_in(at_ms / 1000 - self._paced.sim.time())

    def ask(self, question: Question) -> dict[str, object]:
        self._pace.catch_up()
        return super().ask(question)

    def read(self, kind: str, rest: list[str]) -> Reading:
        self._pace.catch_up()
        return super().read(kind, rest)

    def snapshot(self) -> Snapshot:
        self._pace.catch_up()
        return super().snapshot()

    def set_home_full(self, full: Notice | None) -> None:
        self._pace.turn(lambda: Sandbox.set_home_full(self, full))

    def set_keys(self, keys: Keys | None) -> None:
        self._pace.turn(lambda: Sandbox.set_keys(self, keys))


def in_virtual_time(directory: Path, config: HostConfig, machine: Environment, *, home: Path) -> Sandbox:
    """Return the sandbox in virtual time, or in the machine's time if its origin cannot be read."""
    try:
        load_origin(directory)
    except (CorruptRecord, OSError) as error:
        log.error("%s goes on in the machine's time: %s", directory.name, error)
        return Sandbox(directory, config, machine, home=home, why_live="origin")
    return PacedSandbox(directory, config, machine, home=home)
