"""Branches that are being created: each a task of the engine's loop, in slices."""

import logging
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

from sandbox.cluster import record as records
from sandbox.cluster.config import HostConfig
from sandbox.cluster.disk_full import said_by
from sandbox.cluster.environment import Environment
from sandbox.control.branch_orders import AnyOrder, BranchOrder, RecipeOrder, RunOrder
from sandbox.hosting.branching import (
    MARK,
    Branching,
    Run,
    prepare,
    read_recipe,
    read_run,
)
from sandbox.hosting.recipes import recipe_of, run_of
from sandbox.hosting.registry import Registry, Slot
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.queries.rows.host import HostedRow

log = logging.getLogger(__name__)


class Branches:
    """Creation of branches on one engine.

    `demand_room` and `make_room` raise ActionRefused if no other sandbox of that name can be created, or opened.
    """

    def __init__(
        self,
        home: Path,
        config: HostConfig,
        environment: Environment,
        registry: Registry,
        demand_room: Callable[[str], Awaitable[None]],
        make_room: Callable[[], Awaitable[None]],
    ) -> None:
        self._home = home
        self._config = config
        self._environment = environment
        self._registry = registry
        self._demand_room = demand_room
        self._make_room = make_room

    async def begin(self, slug: str, order: AnyOrder) -> HostedRow:
        """Start to create a sandbox from another one's run, or from the run that `order` describes.

        Return its row; its state is `branching` until it continues by itself.
        """
        if not isinstance(order, RunOrder):
            self._shown(order.parent)
        if sum(slot.branching is not None for slot in self._registry.all()) >= self._config.limits.branches_at_once:
            raise ActionRefused(503, "Other branches are being created.", "Try again in a minute.")
        await self._demand_room(slug)
        await self._make_room()
        if isinstance(order, RunOrder):
            run = run_of(order, self._config)
        else:
            directory = self._shown(order.parent)
            run = await self._environment.run_blocking(lambda: self._read(directory, order))
        branch_directory = self._registry.directory(slug)
        try:
            record = prepare(branch_directory, run, order, self._config, self._registry.ports())
        except (OSError, ActionRefused) as error:
            shutil.rmtree(branch_directory, ignore_errors=True)
            if isinstance(error, ActionRefused):
                raise
            raise ActionRefused(
                503, "The data home accepts no more data: {why}.", "Free some space on the server.", why=said_by(error)
            ) from error
        self._registry.add(slug, record)
        slot = self._registry.get(slug)
        branching = Branching(branch_directory, run, order, self._config, self._environment, home=self._home)
        slot.state, slot.branching = "branching", branching
        slot.change = self._environment.loop.create_task(self._make(slot, branching))
        return slot.row()

    async def recipe(self, slug: str, at: int) -> RunOrder:
        """Return the order that reproduces the run up to event `at`.  Raises ActionRefused: 404, 409, 422."""
        directory = self._shown(slug)
        return await self._environment.run_blocking(lambda: recipe_of(directory, at, self._config.limits))

    def show(self, slug: str) -> None:
        """Make the sandbox's journal readable for others, up to its newest entry.  Raises ActionRefused (404)."""
        if (sandbox := self._registry.get(slug).sandbox) is not None:
            sandbox.cluster.journal_files.show()

    def _shown(self, slug: str) -> Path:
        """Return the sandbox's directory with its complete journal.

        If another engine serves the sandbox, that engine has made the journal readable.
        """
        if not self._registry.is_of_others(slug):
            self.show(slug)
        return self._registry.directory(slug)

    def _read(self, directory: Path, order: BranchOrder | RecipeOrder) -> Run:
        if isinstance(order, RecipeOrder):
            return read_recipe(directory, order, self._config.limits)
        return read_run(directory, order, self._config.limits)

    def cancel(self, slug: str) -> None:
        """Cancel the creation of a branch; a complete branch stays."""
        if (branching := self._registry.get(slug).branching) is not None:
            branching.cancelled = True

    async def _make(self, slot: Slot, branching: Branching) -> None:
        try:
            sandbox = await branching.make()
            if sandbox is None:
                slot.closed(records.load(self._registry.directory(slot.slug)))
            else:
                slot.opened(sandbox, self._environment.wall.monotonic())
        except Exception as error:
            if not isinstance(error, SandboxError):
                log.exception("branching %s failed", slot.slug)
            slot.failed(str(error))
        finally:
            slot.change = slot.branching = None
            slot.ring()


def demand_complete(slot: Slot, directory: Path) -> None:
    """Raise ActionRefused (409) for a branch that is being created, or whose creation was not completed."""
    if slot.branching is not None:
        raise ActionRefused(
            409,
            "This branch is being created: {percent} %.",
            "Wait until the branch is complete, or delete it.",
            percent=int(slot.branching.share * 100),
        )
    if (directory / MARK).exists():
        raise ActionRefused(409, "This branch was not completed.", "Delete the branch, then branch again.")
