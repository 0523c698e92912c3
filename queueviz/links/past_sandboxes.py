"""Sandboxes at past events, executed again in processes beside the server for the views of the past.

The newest results are kept in memory.
"""

import atexit
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TypedDict, cast

from queueviz import engine
from queueviz.access.rate_limits import Rate
from queueviz.links.reruns import Play, PlayMessage
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.snapshot import Snapshot

LIMITS = HostLimits()
MOMENTS = Rate(LIMITS.moments_per_minute / 60, LIMITS.moments_per_minute, what="events")
EXECUTE = "sandbox.simulation.moment"


class PastState(TypedDict):
    """A sandbox at an event, as `simulation.moment` prints it."""

    seq: int
    state: str
    snapshot: Snapshot | None  # None: it is asleep
    channels: dict[str, Mapping[str, object]]  # data by channel, without the slug


class Moment(Play):
    """The repeated execution of a sandbox up to one event."""

    @property
    def past(self) -> PastState | None:
        """The result, or None until there is one."""
        return cast("PastState | None", self.result)

    def __init__(self, slug: str, at: int, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(slug, "moment", [EXECUTE, str(engine.directory_of(slug))], {"at": at}, most_s=LIMITS.moment_s)
        self._now = now
        self.asked_s = now()  # for it, the last time

    def run(self) -> None:
        self._drop_unasked()
        super().run()

    def _hear(self, message: PlayMessage) -> None:
        super()._hear(message)
        self._drop_unasked()

    def _drop_unasked(self) -> None:
        if not self.is_over and self._now() - self.asked_s > LIMITS.moment_unasked_s:
            self.cancel()


_moments: OrderedDict[tuple[str, int], Moment] = OrderedDict()
_lock = threading.Lock()
_places = threading.Semaphore(LIMITS.moments_at_once)


def find(slug: str, at: int, admit: Callable[[], None]) -> Moment:
    """Return the execution up to the event `at`; begin it if it does not exist.

    `admit` is called before a new one and raises if the visitor may have no more.  Raises ActionRefused: 503 too
    many wait.
    """
    with _lock:
        moment = _moments.get((slug, at))
        if moment is None or moment.state == "cancelled":
            if sum(not other.is_over for other in _moments.values()) >= LIMITS.moments_waiting:
                raise ActionRefused(503, "Too many events are being replayed.", "Try again in a minute.")
            admit()
            moment = _moments[slug, at] = Moment(slug, at)
            for old in [key for key, other in _moments.items() if other.is_over][: -LIMITS.moments_kept]:
                del _moments[old]
            threading.Thread(target=_in_turn, args=(moment,), name="moment", daemon=True).start()
        _moments.move_to_end((slug, at))
        moment.asked_s = time.monotonic()
        if moment.state == "failed":
            del _moments[slug, at]  # reported once; the next request begins it again
        return moment


def _in_turn(moment: Moment) -> None:
    with _places:
        moment.run()


@atexit.register
def _stop() -> None:
    for moment in list(_moments.values()):
        moment.cancel()
