"""The attached clusters of an engine, by slug."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from sandbox.attached.cluster import AttachedCluster
from sandbox.attached.settings import AttachedSettings, checked, is_attached
from sandbox.attached.wire import Wires
from sandbox.client.tasks import within
from sandbox.commands.reset.undo import UndoPoint
from sandbox.control.actions import Action
from sandbox.control.channel_names import ChannelUnknown
from sandbox.control.limits import AttachedLimits
from sandbox.control.questions import Question
from sandbox.control.readings import Bell, Reading, Refusal
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import ActionRefused, BrokerRefused, RemotingError, SandboxError
from sandbox.queries.rows.host import AttachedRow

log = logging.getLogger(__name__)

T = TypeVar("T")


class Clusters:
    """The attached clusters as the host uses them.  Errors of their nodes are converted to sentences."""

    def __init__(self, clock: Clock, limits: AttachedLimits | None = None, *, wires: Wires) -> None:
        self._clock = clock
        self._limits = limits or AttachedLimits()
        self._wires = wires
        self._known: dict[str, AttachedCluster] = {}
        self._changes: dict[str, asyncio.Task[None]] = {}

    async def attach(self, slug: str, settings: AttachedSettings) -> AttachedRow:
        """Attach a cluster and return its row after its first poll, even if that failed.

        The same settings again change nothing, but a cluster without recent viewers is polled first.  Raises
        ActionRefused: 422 for unusable settings, 409 at the limit.
        """
        checked(settings)
        if not is_attached(slug):
            raise ActionRefused(
                422,
                "{slug} is not a valid address.",
                "Enter k. followed by the name of the cluster.",
                field="slug",
                slug=slug,
            )
        await self._settled(slug)
        known = self._known.get(slug)
        if known is None:
            if len(self._known) >= self._limits.clusters:
                raise ActionRefused(
                    409, "{most} clusters are attached.", "Detach a cluster first.", most=self._limits.clusters
                )
            known = self._known[slug] = AttachedCluster(slug, settings, self._clock, self._limits, self._wires)
            await self._change(slug, known.connect())
        elif known.settings != settings:
            await self._change(slug, known.reconnect(settings))
        elif not known.watch.wanted:
            await self._change(slug, known.look_again())
        return known.row()

    async def detach(self, slug: str) -> None:
        """Close and remove the cluster.  Do nothing if it is not attached."""
        await self._settled(slug)
        known = self._known.pop(slug, None)
        if known is not None:
            await known.close()

    async def close(self) -> None:
        for change in list(self._changes.values()):
            change.cancel()
        await asyncio.gather(*(known.close() for known in self._known.values()), return_exceptions=True)
        self._known.clear()

    def get(self, slug: str) -> AttachedCluster:
        known = self._known.get(slug)
        if known is None:
            raise ActionRefused(404, "Cluster {slug} does not exist.", "An administrator attaches clusters.", slug=slug)
        return known

    def rows(self) -> dict[str, AttachedRow]:
        return {slug: self._known[slug].row() for slug in sorted(self._known)}

    def read(self, slug: str, kind: str, rest: list[str]) -> Reading | Refusal:
        try:
            return self.get(slug).read(kind, rest)
        except (ChannelUnknown, ActionRefused):
            return Refusal("unknown")
        except Exception:
            log.exception("reading %s of %s failed", kind, slug)
            return Refusal("failed")

    def unsubscribe(self, slug: str, bell: Bell) -> None:
        if slug in self._known:
            self._known[slug].unsubscribe(bell)

    async def ask(self, slug: str, question: Question) -> dict[str, object]:
        """Return the answer to a question.  Raises ActionRefused; 503 when nodes do not answer in time."""
        answer = await _in_words(within(self._clock, self.get(slug).ask(question), self._limits.question_s))
        if answer is None:
            raise ActionRefused(
                503,
                "The cluster did not answer within {seconds} s.",
                "Try again in a moment.",
                seconds=round(self._limits.question_s),
            )
        return answer

    async def act(self, slug: str, action: Action, by: str, undo: UndoPoint | None = None) -> int:
        """Execute a reset and return its event number.

        There is no time limit: half a reset would be worse than a late one.
        """
        return await _in_words(self.get(slug).act(action, by, undo))

    async def _change(self, slug: str, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._changes[slug] = asyncio.get_running_loop().create_task(coroutine)
        task.add_done_callback(lambda done: self._changes.pop(slug, None))
        await asyncio.shield(task)

    async def _settled(self, slug: str) -> None:
        while slug in self._changes:
            await asyncio.shield(self._changes[slug])


async def _in_words(coroutine: Coroutine[Any, Any, T]) -> T:
    """Await the coroutine and convert errors of a node to ActionRefused, with a sentence for users."""
    try:
        return await coroutine
    except ActionRefused:
        raise
    except BrokerRefused as error:
        raise ActionRefused(
            502,
            "The cluster refused the request: {why}.",
            "The number is RocketMQ's response code.",
            why=str(error)[:300].removesuffix("."),
        ) from error
    except RemotingError as error:
        raise ActionRefused(
            503, "The cluster did not answer: {why}.", "Try again in a moment.", why=str(error)[:300].removesuffix(".")
        ) from error
    except SandboxError as error:
        raise ActionRefused(
            502, "This query is not possible for the cluster: {why}.", why=str(error)[:300].removesuffix(".")
        ) from error
