"""Interventions of teachers in one engine's sandboxes: planned to a millisecond, ended if no page renews them."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from sandbox.cluster.environment import Environment
from sandbox.cluster.teacher_hold import Coming, Effect
from sandbox.commands.interventions import begins_again, is_needed, resolve, subject_of
from sandbox.control.actions import Action, SetRate
from sandbox.control.interventions import FAULTS, LEASE_S, MOST_AHEAD_S, MOST_PLANNED, Done, Fault, Intervention, Kind
from sandbox.control.rights import Actor
from sandbox.hosting.sandbox import Sandbox
from sandbox.kernel.errors import ActionRefused, EngineBusy

log = logging.getLogger(__name__)

LOOK_S = 1.0
PAGE_GONE = Actor("instructor", "")


class Interventions:
    """Planned and active interventions.  `find` returns the open sandbox of a slug or raises ActionRefused."""

    def __init__(self, environment: Environment, find: Callable[[str], Sandbox]) -> None:
        self._environment = environment
        self._find = find
        self._until_s: dict[str, float] = {}
        self._looks = False

    async def carry_out(self, slug: str, what: Intervention, by: Actor) -> Done:
        """Execute an intervention at its time, which may have passed.

        Raises ActionRefused: 404, 503 if asleep, 409 if it has no target, 422 if too far ahead, 429 if too many are
        planned.  Raises EngineBusy if the sandbox fell asleep before.
        """
        sandbox, loop = self._find(slug), asyncio.get_running_loop()
        in_s = (what.at_wall_ms - self._environment.wall.now_ms()) / 1000
        if in_s > MOST_AHEAD_S:
            raise ActionRefused(
                422,
                "An intervention can be planned at most {most} s ahead.",
                "Choose an earlier time.",
                most=MOST_AHEAD_S,
            )
        if len(sandbox.held.coming) >= MOST_PLANNED:
            raise ActionRefused(
                429,
                "{most} interventions are already planned.",
                "Wait until the planned interventions are done.",
                most=MOST_PLANNED,
            )
        answer: asyncio.Future[Done] = loop.create_future()

        def settle(value: Done | BaseException) -> None:
            sandbox.held.coming.remove(coming)
            if answer.done():
                return
            if isinstance(value, BaseException):
                answer.set_exception(value)
            else:
                answer.set_result(value)

        def begin() -> None:
            try:
                seq = self._do(sandbox, what, by)
                late_ms = max(0.0, self._environment.wall.now_ms() - what.at_wall_ms)
                again = sandbox.held.effect is not None and sandbox.held.effect.again
                settle(Done(seq, planned_ms, sandbox.cluster.clock.now_ms(), late_ms, again))
            except Exception as error:
                if not isinstance(error, ActionRefused):
                    log.exception("an intervention in %s failed", slug)
                settle(error)

        coming = Coming(what.kind, what.at_wall_ms)
        sandbox.held.coming.append(coming)
        planned_ms = sandbox.plan(
            max(0.0, in_s), begin, lambda: settle(EngineBusy("The sandbox fell asleep before the planned time."))
        )
        return await answer

    def renew(self, slug: str, lease_s: float) -> None:
        """Extend the sandbox's interventions by `lease_s`; do nothing if it has none."""
        if slug in self._until_s:
            self._until_s[slug] = self._environment.wall.monotonic() + lease_s

    def hold_again(self, slug: str, hold: Mapping[str, object]) -> None:
        """Put a hold on a sandbox whose run was executed again: it was interrupted while the hold was there.

        Without a teacher's page it ends like any other.
        """
        sandbox = self._find(slug)
        sandbox.record.hold = dict(hold)
        sandbox.cluster.save()
        self._until_s[slug] = self._environment.wall.monotonic() + LEASE_S
        self._look_later()

    def heal_left(self, sandbox: Sandbox) -> None:
        """End the interventions that a killed server left, because the page that renews them is unknown."""
        if not sandbox.held.is_empty:
            self._end(sandbox, PAGE_GONE)

    def _do(self, sandbox: Sandbox, what: Intervention, by: Actor) -> int | None:
        """Execute an intervention; return the seq of its first action, None without one."""
        held, kind = sandbox.held, what.kind
        seq: int | None = None
        self._note(sandbox, kind, to_all=what.to_all)
        if kind in FAULTS:
            seq = self._break(sandbox, kind, by)
        elif kind == "freeze":
            if not held.is_frozen:
                rate = sandbox.cluster.clock.rate
                if rate:
                    seq = sandbox.act(SetRate(rate=0.0), str(by))
                held.freeze(rate)
        elif kind == "release":
            seq = self._release(sandbox, by)
        elif kind == "take_over":
            held.take_over(by.name)
        elif kind == "give_back":
            held.give_back()
        else:
            seq = self._end(sandbox, by)
        if held.is_empty:
            self._until_s.pop(sandbox.slug, None)
        else:
            self._until_s[sandbox.slug] = self._environment.wall.monotonic() + what.lease_s
            self._look_later()
        sandbox.cluster.save()
        return seq

    def _note(self, sandbox: Sandbox, kind: Kind, *, to_all: bool) -> None:
        """Record what is carried out now; its actions add what it changes."""
        now_ms = self._environment.wall.now_ms()
        sandbox.held.effect = Effect(kind, "", again=False, to_all=to_all, at_wall_ms=now_ms)

    def _break(self, sandbox: Sandbox, kind: Fault, by: Actor) -> int:
        action, heal = resolve(sandbox.cluster, kind)
        seq = _act(sandbox, action, by)
        if heal is not None:
            sandbox.held.owe(heal)
        assert sandbox.held.effect is not None
        sandbox.held.effect = sandbox.held.effect._replace(what=subject_of(action))
        return seq

    def _release(self, sandbox: Sandbox, by: Actor) -> int | None:
        rate = sandbox.held.release()
        return sandbox.act(SetRate(rate=rate), str(by)) if rate else None

    def _end(self, sandbox: Sandbox, by: Actor) -> int | None:
        """End all interventions of a sandbox; faults that the student has repaired stay so."""
        sandbox.held.give_back()
        first: int | None = None
        for heal in [heal for heal in sandbox.held.heals() if is_needed(sandbox.cluster, heal)]:
            try:
                seq = _act(sandbox, heal, by)
            except ActionRefused as error:
                log.info("not healed in %s: %s", sandbox.slug, error)
                continue
            first = seq if first is None else first
        released = self._release(sandbox, by)
        sandbox.cluster.save()
        return released if first is None else first

    def _look_later(self) -> None:
        if not self._looks:
            self._looks = True
            self._environment.wall.call_later(LOOK_S, self._look)

    def _look(self) -> None:
        """End the interventions that no page renewed."""
        self._looks = False
        now_s = self._environment.wall.monotonic()
        for slug in [slug for slug, until_s in self._until_s.items() if until_s <= now_s]:
            del self._until_s[slug]
            try:
                sandbox = self._find(slug)
                self._note(sandbox, "heal", to_all=True)
                self._end(sandbox, PAGE_GONE)
            except ActionRefused:  # asleep or deleted: it is healed when it wakes
                continue
            except Exception:
                log.exception("the lease of %s was not ended", slug)
        if self._until_s:
            self._look_later()


def _act(sandbox: Sandbox, action: Action, by: Actor) -> int:
    """Execute a fault or heal action; if it affects a sealed prediction, the lab's open step begins again."""
    seq = sandbox.act(action, str(by))
    again = begins_again(sandbox.cluster, action)
    if again is not None:
        sandbox.act(again, str(by))
        if sandbox.held.effect is not None:
            sandbox.held.effect = sandbox.held.effect._replace(again=True)
    return seq
