"""Past states of sandboxes and clusters: journals in memory are read on the loop, files by workers."""

from pathlib import Path

from sandbox.attached.clusters import Clusters
from sandbox.attached.settings import is_attached
from sandbox.cluster.environment import Environment
from sandbox.cluster.journal_backwards import look_back
from sandbox.cluster.journal_files import DIRECTORY, JournalFiles, page_of
from sandbox.control.limits import HostLimits
from sandbox.control.readings import Entries, LookedBack
from sandbox.hosting.registry import Registry
from sandbox.hosting.repeatable_ranges import Line, line_of
from sandbox.journal.event_filter import EventFilter
from sandbox.journal.events import Entry
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.changes import Changes, changes_between
from sandbox.queries.state_at import Kept, StateAt, kept_in, state_at


class Past:
    """Engine's side of `EnginePort` for past states."""

    def __init__(self, registry: Registry, clusters: Clusters, environment: Environment, limits: HostLimits) -> None:
        self._registry = registry
        self._clusters = clusters
        self._environment = environment
        self._limits = limits

    async def entries(
        self, slug: str, after: int, limit: int, *, facts_only: bool, longs_as_text: bool = True
    ) -> Entries:
        if is_attached(slug):
            return self._clusters.get(slug).entries(after, limit, facts_only=facts_only, longs_as_text=longs_as_text)
        return await page_of(
            self._registry.directory(slug),
            self._kept(slug),
            self._environment,
            after,
            limit,
            facts_only=facts_only,
            longs_as_text=longs_as_text,
        )

    async def look_back(
        self, slug: str, event_filter: EventFilter, *, before: int | None, after: int, most: int
    ) -> LookedBack:
        newest: list[Entry] = []
        if is_attached(slug):
            memory, files = self._clusters.get(slug).tail(), None
        else:
            kept = self._kept(slug)
            memory, newest = (kept.journal.tail(), list(kept.journal.newest)) if kept is not None else ([], [])
            files = self._files(slug)
        return await self._environment.run_blocking(
            lambda: look_back(memory, files, event_filter, before=before, after=after, most=most, newest=newest)
        )

    async def kept(self, slug: str) -> Kept:
        _, files = self._shown(slug)
        return await self._environment.run_blocking(lambda: kept_in(files))

    async def line(self, slug: str) -> Line:
        _, files = self._shown(slug)
        return await self._environment.run_blocking(lambda: line_of(files.parent))

    async def state_at(self, slug: str, at: int | None) -> StateAt:
        kept, files = self._shown(slug)
        most, held_from_ms = self._limits.folded_events, kept.journal.held_from_ms if kept is not None else None
        return await self._environment.run_blocking(lambda: state_at(files, at, most=most, held_from_ms=held_from_ms))

    async def changes(self, slug: str, first: int, last: int | None) -> Changes:
        return changes_between(await self.state_at(slug, first), await self.state_at(slug, last))

    def _shown(self, slug: str) -> tuple[JournalFiles | None, Path]:
        """Return the open journal (None if closed) and the directory of its files, which are complete."""
        if is_attached(slug):
            raise ActionRefused(
                409, "Only the current state of an attached cluster is known.", "View the current state of the cluster."
            )
        kept = self._kept(slug)
        if kept is not None:
            kept.show()
        return kept, self._files(slug)

    def _files(self, slug: str) -> Path:
        return self._registry.directory(slug) / DIRECTORY

    def _kept(self, slug: str) -> JournalFiles | None:
        """Return the journal files of an open sandbox; None if it is closed.  Raises ActionRefused (404) if unknown."""
        sandbox = self._registry.get(slug).sandbox
        return sandbox.cluster.journal_files if sandbox is not None else None
