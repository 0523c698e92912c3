"""The invariant that no request handler fails with an unexpected exception."""

from sandbox.journal.events import HandlerFailed
from sandbox.simulation.observed import Observed
from sandbox.simulation.violation import Violation


def check_calm(observed: Observed) -> list[Violation]:
    """Return a violation for each `HandlerFailed` in the journal.

    A failed handler answers SYSTEM_ERROR and writes this event.  Errors of tasks end the run by themselves.
    """
    return [
        Violation("calm", f"{entry.event.node} failed at request {entry.event.request_code}: {entry.event.remark}")
        for entry in observed.entries
        if isinstance(entry.event, HandlerFailed)
    ]
