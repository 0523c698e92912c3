"""Only interface between web and engine: method calls in, plain values out, each as a future.

The engine runs on its own thread.  A call is passed to that thread and runs there in one turn (or as a coroutine,
for opening and closing).  Its value or SandboxError is returned in a `concurrent.futures.Future`.  No engine object
is returned.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from sandbox.attached.settings import is_attached
from sandbox.control.actions import Action
from sandbox.control.interventions import Done, Intervention
from sandbox.control.questions import Question
from sandbox.control.readings import Bell, Entries, LookedBack, Read, Reading, Refusal
from sandbox.control.rights import Actor
from sandbox.journal.event_filter import EventFilter
from sandbox.kernel.errors import EngineBusy

if TYPE_CHECKING:
    from sandbox.attached.settings import AttachedSettings
    from sandbox.commands.reset.undo import UndoPoint
    from sandbox.control.access_keys import Keys
    from sandbox.control.branch_orders import AnyOrder, RunOrder
    from sandbox.hosting.host import Host
    from sandbox.hosting.repeatable_ranges import Line
    from sandbox.queries.changes import Changes
    from sandbox.queries.rows.host import AttachedRow, HostStatus, ListeningRow, OpenedRow
    from sandbox.queries.rows.snapshot import Snapshot
    from sandbox.queries.state_at import Kept, StateAt

T = TypeVar("T")


class EnginePort:
    """Thread-safe interface of the engine.

    Not for use on the engine's own thread, where waiting for a result would deadlock.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, host: "Host") -> None:
        self._loop = loop
        self._host = host

    def create(
        self,
        slug: str,
        template: str,
        *,
        preset: str = "sandbox",
        seed: str | int | None = None,
        changes: dict[str, object] | None = None,
        limits: dict[str, object] | None = None,
        history: bool = False,
    ) -> "Future[OpenedRow]":
        """Create a sandbox and open it; the value is its `status` row.  409 if the slug is taken.

        `history`: it starts with its template's history, if there is one and no other parameter is set.
        """
        return self._run(
            lambda: self._host.create(
                slug, template, preset=preset, seed=seed, changes=changes, limits=limits, history=history
            )
        )

    def branch(self, slug: str, order: "AnyOrder") -> "Future[OpenedRow]":
        """Start to create a sandbox from another one's run; the value is its `status` row, with `progress`.

        404 no such sandbox or event, 409 that run cannot be executed again, 422 no such action, 503 no room.
        """
        return self._run(lambda: self._host.branches.begin(slug, order))

    def show(self, slug: str) -> "Future[None]":
        """Write the sandbox's journal to its directory up to now, for other readers.  404 no such sandbox."""
        return self._turn(lambda: self._host.branches.show(slug))

    def recipe(self, slug: str, at: int) -> "Future[RunOrder]":
        """Return the recipe of the run up to event `at`, without its journal.

        404 no such sandbox or event, 409, 422.
        """
        return self._run(lambda: self._host.branches.recipe(slug, at))

    def cancel_branch(self, slug: str) -> "Future[None]":
        """Cancel the branch.  Its files so far stay until it is deleted; a complete branch continues."""
        return self._turn(lambda: self._host.branches.cancel(slug))

    def hold(self, slug: str, *, new: bool = False) -> "Future[None]":
        """Claim a sandbox, if engines of several machines share a data home; `new`: it will be created.

        Does nothing if the sandbox does not exist.  Raises HeldElsewhere, LeaseLost, OSError.
        """
        return self._run(lambda: self._host.hold(slug, new=new))

    def drain(self, moved: Callable[[str], None]) -> "Future[None]":
        """Close all sandboxes for other machines' engines and accept no new ones; call `moved` with each."""
        return self._run(lambda: self._host.drain(moved))

    def wake(self, slug: str) -> "Future[OpenedRow]":
        """Open a sleeping sandbox; the value is its `status` row.

        404 unknown, 503 no room, 409 it cannot be opened.
        """
        return self._run(lambda: self._host.wake(slug))

    def sleep(self, slug: str, reason: str) -> "Future[None]":
        """Stop the sandbox's actors and brokers cleanly and close its files."""
        return self._run(lambda: self._host.sleep(slug, reason))

    def delete(self, slug: str) -> "Future[None]":
        """Close the sandbox and remove its directory."""
        return self._run(lambda: self._host.delete(slug))

    def open_listener(self, slug: str) -> "Future[ListeningRow]":
        """Open the sandbox's ports to external clients, also after sleep.  The value is {"open", "name_servers"}.

        404 unknown, 503 asleep, 409 a port is taken.
        """
        return self._run(lambda: self._host.open_listener(slug))

    def close_listener(self, slug: str) -> "Future[ListeningRow]":
        """Close the sandbox's ports and their connections; a sleeping sandbox keeps them closed when it wakes."""
        return self._run(lambda: self._host.close_listener(slug))

    def set_keys(self, slug: str, keys: "Keys | None") -> "Future[None]":
        """Set the keys with which external clients sign (ACL 4.x) from the next request on; None requires none.

        404 unknown, 503 asleep, 409 without keys while other machines reach its ports, 422 RocketMQ refuses the keys.
        """
        return self._turn(lambda: self._host.set_keys(slug, keys))

    def dismiss_notices(self, slug: str) -> "Future[None]":
        """Remove the notices that the owner has read.  404 unknown, 503 asleep."""
        return self._turn(lambda: self._host.dismiss_notices(slug))

    def attach(self, slug: str, settings: "AttachedSettings") -> "Future[AttachedRow]":
        """Register a real cluster as `k.<name>`; every other method accepts that slug like a sandbox's.

        The value is its `status` row after the first poll; a cluster that does not answer is no error.  The same
        settings again change nothing, other settings reconnect.  422 unusable settings, 409 too many.
        """
        return self._run(lambda: self._host.clusters.attach(slug, settings))

    def detach(self, slug: str) -> "Future[None]":
        """Close the cluster's connections and remove it, with the journal of the actions executed here."""
        return self._run(lambda: self._host.clusters.detach(slug))

    def act(self, slug: str, action: Action, by: Actor, *, undo: "UndoPoint | None" = None) -> "Future[int]":
        """Execute an action; the value is the seq of its `ActionTaken`.  Raises ActionRefused.

        On an attached cluster it completes when the brokers have answered, after `OffsetsReset` is written; an
        UndoReset needs `undo` there, which the engine does not keep.
        """
        if is_attached(slug):
            return self._run(lambda: self._host.clusters.act(slug, action, str(by), undo))
        return self._turn(lambda: self._host.awake(slug).act(action, str(by)))

    def intervene(self, slug: str, what: Intervention, by: Actor) -> "Future[Done]":
        """Execute a teacher's intervention at its time; completes after it.

        404 unknown, 503 asleep, 409 no target, 422 too far ahead, 429 too many planned.
        """
        return self._run(lambda: self._host.interventions.carry_out(slug, what, by))

    def renew_hold(self, slug: str, lease_s: float) -> "Future[None]":
        """Extend the sandbox's interventions by `lease_s`, because the teacher's page is open."""
        return self._turn(lambda: self._host.interventions.renew(slug, lease_s))

    def ask(self, slug: str, question: Question) -> "Future[dict[str, Any]]":
        """Answer a question (`control.questions`) without effect.  Raises ActionRefused.

        For an attached cluster the answer may take up to `AttachedLimits.question_s`.
        """
        return self._run(lambda: self._host.ask(slug, question))

    def read(self, channels: Sequence[str], *, last: bool = False) -> "Future[list[Reading | Refusal]]":
        """Read several channels in one turn, in this order; names as in catalogue 10, parts percent-encoded.

        `last`: of a sleeping sandbox, as they were when it fell asleep; otherwise such a channel is refused.
        """
        names = list(channels)
        return self._run(lambda: self._host.read(names, last=last))

    def read_within(self, channels: Sequence[str], budget_s: float) -> "Future[list[Read]]":
        """Read channels as `read` does, but start none after `budget_s`: the list may be shorter than `channels`."""
        names = list(channels)
        return self._run(lambda: self._host.read_within(names, budget_s))

    def newest_seq(self, slug: str) -> "Future[int]":
        """Return the seq of the newest event; of a sleeping sandbox, that at its closing."""
        return self._turn(lambda: self._host.newest_seq(slug))

    def snapshot(self, slug: str) -> "Future[Snapshot]":
        """Return the whole sandbox as defined in catalogue 9; of a sleeping one, its state at its closing."""
        return self._turn(lambda: self._host.snapshot(slug))

    def entries(
        self, slug: str, after: int, limit: int, *, facts_only: bool = False, longs_as_text: bool = True
    ) -> "Future[Entries]":
        """Return at most `limit` rows with seq > `after`; older ones are read from the journal's files.

        `facts_only` omits flow events and keyframes.  64-bit numbers are text, for browsers, unless `longs_as_text`
        is False.
        """
        return self._run(
            lambda: self._host.past.entries(slug, after, limit, facts_only=facts_only, longs_as_text=longs_as_text)
        )

    def look_back(
        self, slug: str, event_filter: EventFilter, *, before: int | None = None, after: int = -1, most: int = 100
    ) -> "Future[LookedBack]":
        """Return the newest rows that match, with `after` < seq < `before`, from memory and then from the files."""
        return self._run(lambda: self._host.past.look_back(slug, event_filter, before=before, after=after, most=most))

    def kept(self, slug: str) -> "Future[Kept]":
        """Return the oldest and the newest event of the journal's files.  410 if there are none."""
        return self._run(lambda: self._host.past.kept(slug))

    def line(self, slug: str) -> "Future[Line]":
        """Return the repeatable ranges (stretches) of the journal's files, and their first keyframe."""
        return self._run(lambda: self._host.past.line(slug))

    def changes(self, slug: str, first: int, last: int | None = None) -> "Future[Changes]":
        """Return the differences between two events.  422 and 410 as for `state_at`."""
        return self._run(lambda: self._host.past.changes(slug, first, last))

    def state_at(self, slug: str, at: int | None = None) -> "Future[StateAt]":
        """Return the snapshot at event `at` (by default the newest), from the journal's files.

        422 no such event, 410 it is no longer kept.
        """
        return self._run(lambda: self._host.past.state_at(slug, at))

    def subscribe(self, slug: str, bell: Bell) -> "Future[None]":
        """Ring `bell` (on the engine's thread) at every event.  A sandbox with a bell counts as watched."""
        return self._turn(lambda: self._host.subscribe(slug, bell))

    def unsubscribe(self, slug: str, bell: Bell) -> "Future[None]":
        return self._turn(lambda: self._host.unsubscribe(slug, bell))

    def status(self) -> "Future[HostStatus]":
        """Return the state of the engine, its sandboxes and attached clusters:

        {"awake", "known", "cap", "fds", "fd_limit", "sandboxes": {slug: {"state", "watched", "template", …}},
        "attached": {slug: the same of clusters}}
        """
        return self._turn(self._host.status)

    def _turn(self, fn: Callable[[], T]) -> "Future[T]":
        future: Future[T] = Future()
        self._carry(lambda: _settle(future, fn), future)
        return future

    def _run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> "Future[T]":
        """Run a coroutine on the engine's loop.  Cancelling the future does not stop a coroutine that has started."""
        future: Future[T] = Future()
        self._carry(lambda: self._host.run(make(), future), future)
        return future

    def _carry(self, work: Callable[[], None], future: "Future[Any]") -> None:
        try:
            self._loop.call_soon_threadsafe(work)
        except RuntimeError:
            future.set_exception(EngineBusy("The engine is stopped."))


def _settle(future: "Future[T]", fn: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return  # the future was cancelled
    try:
        future.set_result(fn())
    except BaseException as error:
        future.set_exception(error)
