"""Sandboxes that begin with a history, on the engine's loop."""

import logging
import shutil

from sandbox.cluster.environment import Environment
from sandbox.hosting.histories import Histories
from sandbox.hosting.registry import Registry

log = logging.getLogger(__name__)


class Beginnings:
    """Of one host."""

    def __init__(self, histories: Histories, registry: Registry, environment: Environment) -> None:
        self._histories = histories
        self._registry = registry
        self._environment = environment

    async def begun(self, slug: str, template: str, preset: str) -> bool:
        """Whether there is one now, asleep: where no history can be had, a sandbox begins without.

        Raises ActionRefused: 409 another one took the name meanwhile, 422 as `template_of`, 503.
        """
        copied = await self._environment.run_blocking(lambda: self._histories.copy(template, preset))
        try:
            self._registry.demand_free(slug)  # and taken without a wait in between, with or without a history
            if copied is None:
                return False
            record = self._histories.begin(copied, self._registry.directory(slug), self._registry.ports())
        except OSError as why:
            log.warning("%s begins without a history: %s", slug, why)
            return False
        finally:
            if copied is not None:
                shutil.rmtree(copied.parent, ignore_errors=True)
        self._registry.add(slug, record)
        return True
