"""The start and the stop of a client, step by step, as the journal tells it."""

from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.journal.events import LifecycleStep
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock


class Lifecycle:
    """Counts the steps of one phase and says how long each took, also one that failed."""

    def __init__(self, journal: Journal, clock: Clock, *, group: str, client_id: str, phase: str) -> None:
        self._journal = journal
        self._clock = clock
        self._group = group
        self._client_id = client_id
        self._phase = phase
        self._step = 0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """What happens inside is the next step."""
        self._step += 1
        number, began_s = self._step, self._clock.monotonic()
        try:
            yield
        finally:
            took_ms = round((self._clock.monotonic() - began_s) * 1000)
            self._journal.write(LifecycleStep(
                group=self._group, client_id=self._client_id, phase=self._phase, step=number, name=name,
                took_ms=took_ms,
            ))  # fmt: skip
