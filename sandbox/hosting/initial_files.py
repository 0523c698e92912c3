"""First files of a new sandbox, on the engine's loop: those of its template, or a copy of its history."""

import logging
import shutil
from pathlib import Path

from sandbox.cluster import record as records
from sandbox.cluster.config import HostConfig
from sandbox.cluster.disk_full import said_by
from sandbox.cluster.environment import Environment
from sandbox.cluster.new_sandbox import new_record
from sandbox.cluster.origin import save_origin
from sandbox.hosting.histories import Histories
from sandbox.hosting.registry import Registry
from sandbox.kernel.errors import ActionRefused

log = logging.getLogger(__name__)


class Beginnings:
    """Creation of new sandboxes' files, for one host."""

    def __init__(self, home: Path, config: HostConfig, registry: Registry, environment: Environment) -> None:
        self._histories = Histories(home, config)
        self._config = config
        self._registry = registry
        self._environment = environment

    async def begin(
        self,
        slug: str,
        template: str,
        *,
        preset: str,
        seed: str | int | None,
        changes: dict[str, object] | None,
        limits: dict[str, object] | None,
        history: bool,
    ) -> None:
        """Create a sleeping sandbox.

        With `history` it is a copy of the template's history, if one exists and no other parameter is set.  Raises
        ActionRefused: 409 if the name was taken meanwhile, 422 as `new_record`, 503.
        """
        is_plain = (seed, changes, limits) == (None, None, None)
        if history and is_plain and await self._begun_with_history(slug, template, preset):
            return
        record = new_record(
            slug,
            template,
            preset=preset,
            seed=seed,
            changes=changes,
            limits=limits,
            config=self._config,
            ports_taken=self._registry.ports(),
            now_ms=self._environment.wall.now_ms(),
        )
        record.repeatable = self._config.repeatable
        directory = self._registry.directory(slug)
        try:
            directory.mkdir(parents=True)
            records.save(directory, record)
            if record.repeatable:
                save_origin(directory, self._config, self._environment.memory_bytes)
        except OSError as error:
            shutil.rmtree(directory, ignore_errors=True)
            raise ActionRefused(
                503, "The data home accepts no more data: {why}.", "Free some space on the server.", why=said_by(error)
            ) from error
        self._registry.add(slug, record)

    async def _begun_with_history(self, slug: str, template: str, preset: str) -> bool:
        copied = await self._environment.run_blocking(lambda: self._histories.copy(template, preset))
        try:
            self._registry.demand_free(slug)  # and taken without a wait in between, with or without a history
            if copied is None:
                return False
            record = self._histories.begin(copied, self._registry.directory(slug), self._registry.ports())
        except OSError as error:
            log.warning("%s begins without a history: %s", slug, error)
            return False
        finally:
            if copied is not None:
                shutil.rmtree(copied.parent, ignore_errors=True)
        self._registry.add(slug, record)
        return True
