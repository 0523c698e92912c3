"""Claims of sandboxes by engines: rows of a table that all engines reach, under a lease of a few seconds.

An engine renews its one lease for all its sandboxes.  Its own clock decides until when it may write.  That is
earlier than the table's clock lets another engine claim its sandboxes.  Between a look at the clock and the write
that follows, a process may be stopped for any time; therefore

* an acknowledgement is sent after a `check` that follows the write it is about;
* an engine that claims a sandbox which was never given back (`Held.is_clean` is False) copies the files before it
  opens them, so that late writes of the engine before it reach files that are no longer read;
* a copy is named by the number of its claim (`Held.fence`), and the one with the highest number is the sandbox.
  With one name for all, an engine that is stopped before it puts its copy in place would replace a later one;
* an engine that opens a sandbox uses the copy with its own number, or else the highest below, never a later one;
* older copies are removed after a `check` that follows the time at which the own copy was in place;
* a sandbox that was claimed as not clean and never copied is given back as not clean.

`tests/sim/test_leases.py` breaks each of these rules on purpose, and detects it.
"""

import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from sandbox.kernel.errors import SandboxError

T = TypeVar("T")

LEASE_S = 10.0  # by the table's clock, from a renewal on
RENEW_EVERY_S = 3.0
RETRY_EVERY_S = 0.5  # after a renewal that did not reach the table
MARGIN_S = 2.0  # an engine stops this much earlier: the possible difference of clocks during one lease


class LeaseLost(SandboxError):
    """Error: this engine's lease has expired.  It never writes again: it ends, and starts again under another id."""


class LeaseUnreachable(SandboxError):
    """Error: the table did not answer in time.  The request may still have been executed: repeat it."""


class HeldElsewhere(SandboxError):
    """Error: another engine has claimed the sandbox, and its lease is valid.  `engine`: its id."""

    def __init__(self, slug: str, engine: str) -> None:
        super().__init__(f"the sandbox {slug} is with the engine {engine}")
        self.slug = slug
        self.engine = engine


class Held(NamedTuple):
    """Result of a claim.

    `fence` increases with each change of owner, also over deletion and creation of the same slug.  If not
    `is_clean`, the previous engine never released the sandbox and may still have its files open.
    """

    slug: str
    fence: int
    is_clean: bool


class Figures(NamedTuple):
    """Load of an engine, reported with each renewal.  `cap`: the number of sandboxes it can keep awake.

    None means unknown, because the engine was too busy to count in time.
    """

    awake: int | None = None
    cap: int | None = None
    frame_age_ms: int | None = None


class Listed(NamedTuple):
    """Row of an engine.

    `engine`: the id of this incarnation; `sandboxes`: number of its claims; `expires_in_s` < 0: expired.
    """

    engine: str
    name: str
    host: str
    is_draining: bool
    expires_in_s: float
    sandboxes: int
    figures: Figures


class LeaseTable(Protocol):
    """Lease table shared by all engines.  Each call is one transaction; only the table's own clock decides expiry.

    Every call raises LeaseUnreachable if the table does not answer.
    """

    def enlist(self, engine: str, name: str, host: str) -> None:
        """Register a new incarnation by an id that was never used.  Raises LeaseLost if the id is in use.

        Earlier incarnations of that `name` are removed if their lease has expired.
        """

    def renew(self, engine: str, figures: Figures) -> bool:
        """Renew the lease; return True if the engine must drain.

        Raises LeaseLost after expiry, or if another engine claimed a sandbox.
        """

    def retire(self, engine: str) -> None:
        """Remove an engine that has closed everything.

        Sandboxes that it did not give back stay as clean as they were claimed.
        """

    def claim(self, slug: str, engine: str) -> Held:
        """Claim a sandbox; the owner gets the same result again.  Raises HeldElsewhere, LeaseLost.

        An engine whose lease has expired loses it permanently as soon as another engine claims one of its sandboxes.
        """

    def give_back(self, slug: str, engine: str, *, is_clean: bool = True) -> None:
        """Release a closed sandbox for other engines.  Not `is_clean`: it was claimed so and never copied."""

    def forget(self, slug: str, engine: str) -> None:
        """Remove the row of a sandbox that its owner deleted."""

    def drain(self, name: str) -> None:
        """Mark the engines of that name as draining: they accept no new sandboxes."""

    def engines(self) -> list[Listed]:
        """Return all engines by name and id, also those whose lease expired."""

    def places(self) -> dict[str, str]:
        """Return the engine of each claimed slug, for engines with a valid lease only."""


class Lease:
    """An engine's own view of its lease.  Thread-safe; once it has expired it is never valid again.

    It is valid until `lease_s` minus `margin_s` after the time just before the last successful renewal was sent.
    The time until the answer, and any stop of the process meanwhile, counts as used.
    """

    def __init__(
        self,
        table: LeaseTable,
        engine: str,
        monotonic: Callable[[], float],
        *,
        lease_s: float = LEASE_S,
        margin_s: float = MARGIN_S,
    ) -> None:
        """Create a lease that is not enlisted.

        `lease_s`: the table's.  `monotonic`: seconds of a clock that continues while the process is stopped.
        """
        self.engine = engine
        self._table = table
        self._monotonic = monotonic
        self._lasts_s = lease_s - margin_s
        self._good_until_s: float | None = None  # None: not enlisted yet, or lost
        self._lock = threading.Lock()  # of the line above; never held while the table is asked

    @property
    def is_good(self) -> bool:
        with self._lock:
            return self._look()

    def check(self) -> None:
        """Raise LeaseLost if the lease has expired.  Data written before is in the files that the next engine reads."""
        if not self.is_good:
            raise LeaseLost(f"the lease of the engine {self.engine} has run out")

    def enlist(self, name: str, host: str) -> None:
        """Register the engine and start its first lease.

        After LeaseUnreachable the next attempt needs another engine id, too.
        """
        sent_s = self._monotonic()
        self._asked(lambda: self._table.enlist(self.engine, name, host))
        with self._lock:
            self._good_until_s = sent_s + self._lasts_s
        self.check()

    def renew_once(self, figures: Figures) -> bool:
        """Renew the lease; return True if the engine must drain.  Raises LeaseLost, LeaseUnreachable."""
        self.check()
        sent_s = self._monotonic()
        is_draining = self._asked(lambda: self._table.renew(self.engine, figures))
        with self._lock:
            if self._look():  # else it was invalid for a time, and other code may have noticed
                self._good_until_s = sent_s + self._lasts_s
        self.check()
        return is_draining

    def claim(self, slug: str) -> Held:
        """Claim a sandbox.  Raises HeldElsewhere, LeaseLost, LeaseUnreachable."""
        self.check()
        held = self._asked(lambda: self._table.claim(slug, self.engine))
        self.check()
        return held

    def give_back(self, slug: str, *, is_clean: bool = True) -> None:
        """Release a sandbox whose files are closed.  Raises LeaseLost, LeaseUnreachable."""
        self.check()
        self._asked(lambda: self._table.give_back(slug, self.engine, is_clean=is_clean))

    def forget(self, slug: str) -> None:
        """Remove the claim of a deleted sandbox.  Raises LeaseLost, LeaseUnreachable."""
        self.check()
        self._asked(lambda: self._table.forget(slug, self.engine))

    def retire(self) -> None:
        """End the lease cleanly; nothing is written afterwards.  Raises LeaseLost, LeaseUnreachable."""
        self.check()
        self._asked(lambda: self._table.retire(self.engine))
        self._lose()

    def _asked(self, question: Callable[[], T]) -> T:
        try:
            return question()
        except LeaseLost:
            self._lose()
            raise

    def _look(self) -> bool:
        if self._good_until_s is not None and self._monotonic() >= self._good_until_s:
            self._good_until_s = None
        return self._good_until_s is not None

    def _lose(self) -> None:
        with self._lock:
            self._good_until_s = None
