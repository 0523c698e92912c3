"""Which engine has which sandbox: a row of a table all engines reach, held under a lease of a few seconds.

An engine renews its one lease for all its sandboxes.  Its own clock decides until when it may write, and that is
earlier than the table's clock lets another engine have what it held.  Between a look at the clock and the write that
follows a process may be stopped for any time; therefore

* an acknowledgement is sent after a `check` that follows the write it is about;
* who claims what was never given back (`Held.is_clean` is False) copies the files before it opens them, so that late
  writes of the engine before it reach files that are no longer read;
* a copy is named by the number of its claim (`Held.fence`), and the one with the highest number is the sandbox.
  Under one name for all, an engine that is stopped before it puts its copy in place would replace a later one;
* who opens takes the copy with its own number, or where it made none the highest below, never what came later;
* older copies are removed after a `check` that follows the moment the own one was in place;
* what was claimed as not clean and never copied is given back as not clean.

Each of these is broken on purpose in `tests/sim/test_leases.py`, which finds it.
"""

import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from sandbox.kernel.errors import SandboxError

T = TypeVar("T")

LEASE_S = 10.0  # by the table's clock, from a renewal on
RENEW_EVERY_S = 3.0
RETRY_EVERY_S = 0.5  # after a renewal that did not reach the table
MARGIN_S = 2.0  # by which an engine stops earlier: what clocks may differ by during one lease


class LeaseLost(SandboxError):
    """This engine's lease has run out.  It never writes again: it ends, and begins again under another id."""


class LeaseUnreachable(SandboxError):
    """The table did not answer in time.  What was asked for may still have been carried out: ask again."""


class HeldElsewhere(SandboxError):
    """Another engine has the sandbox, and its lease is good.  `engine`: its id."""

    def __init__(self, slug: str, engine: str) -> None:
        super().__init__(f"the sandbox {slug} is with the engine {engine}")
        self.slug = slug
        self.engine = engine


class Held(NamedTuple):
    """The result of a claim.

    `fence` rises with each change of owner, also over deletion and creation of the same slug.  Not `is_clean`: the
    previous engine never released the sandbox, and may still have its files open.
    """

    slug: str
    fence: int
    is_clean: bool


class Figures(NamedTuple):
    """An engine's load, as it reports with each renewal.  `cap`: the number of sandboxes it can keep awake.

    None: unknown, as it was too busy to count them in time.
    """

    awake: int | None = None
    cap: int | None = None
    frame_age_ms: int | None = None


class Listed(NamedTuple):
    """An engine.  `engine`: the id of this incarnation; `sandboxes`: places it has; `expires_in_s` < 0: it ran out."""

    engine: str
    name: str
    host: str
    is_draining: bool
    expires_in_s: float
    sandboxes: int
    figures: Figures


class LeaseTable(Protocol):
    """The lease table shared by all engines.  Each call is one transaction; only the table's own clock decides expiry.

    Every call raises LeaseUnreachable.
    """

    def enlist(self, engine: str, name: str, host: str) -> None:
        """A new incarnation, by an id that was never used.  Raises LeaseLost where it is in use.

        What is left of earlier ones of that `name` goes, where their lease ran out.
        """

    def renew(self, engine: str, figures: Figures) -> bool:
        """Renew the lease; return whether to drain.

        Raises LeaseLost after expiry, or if another engine took a sandbox.
        """

    def retire(self, engine: str) -> None:
        """It has closed everything; what it did not give back is as clean as it was when claimed."""

    def claim(self, slug: str, engine: str) -> Held:
        """The same again for who has it.  Raises HeldElsewhere, LeaseLost.

        An engine whose lease ran out loses it for good with the first sandbox that another one claims.
        """

    def give_back(self, slug: str, engine: str, *, is_clean: bool = True) -> None:
        """Closed, for others to have.  Not `is_clean`: claimed so, and never copied."""

    def forget(self, slug: str, engine: str) -> None:
        """Deleted by who has it."""

    def drain(self, name: str) -> None:
        """Mark the engines of that name as draining: they accept no new sandboxes."""

    def engines(self) -> list[Listed]:
        """List all engines by name and id, also those whose lease expired."""

    def places(self) -> dict[str, str]:
        """Engines by slug; only those whose lease is good."""


class Lease:
    """An engine's own view of its lease: thread-safe, and once it has run out it is never good again.

    Good until `lease_s` less `margin_s` after the moment before the last successful renewal was sent; what time its
    answer took, and how long the process was stopped meanwhile, counts as used up.
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
        """`lease_s`: the table's.  `monotonic`: seconds of a clock that goes on while the process is stopped."""
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
        """Raises LeaseLost.  What was written before is in the files that the next engine reads."""
        if not self.is_good:
            raise LeaseLost(f"the lease of the engine {self.engine} has run out")

    def enlist(self, name: str, host: str) -> None:
        """The first lease.  After LeaseUnreachable, too, the next attempt is another engine's: with another id."""
        sent_s = self._monotonic()
        self._asked(lambda: self._table.enlist(self.engine, name, host))
        with self._lock:
            self._good_until_s = sent_s + self._lasts_s
        self.check()

    def renew_once(self, figures: Figures) -> bool:
        """Renew the lease and return whether the engine is to be drained.  Raises LeaseLost, LeaseUnreachable."""
        self.check()
        sent_s = self._monotonic()
        is_draining = self._asked(lambda: self._table.renew(self.engine, figures))
        with self._lock:
            if self._look():  # else it was not good for a moment, and that may have been seen
                self._good_until_s = sent_s + self._lasts_s
        self.check()
        return is_draining

    def claim(self, slug: str) -> Held:
        """Raises HeldElsewhere, LeaseLost, LeaseUnreachable."""
        self.check()
        held = self._asked(lambda: self._table.claim(slug, self.engine))
        self.check()
        return held

    def give_back(self, slug: str, *, is_clean: bool = True) -> None:
        """Release a sandbox whose files are closed.  Raises LeaseLost, LeaseUnreachable."""
        self.check()
        self._asked(lambda: self._table.give_back(slug, self.engine, is_clean=is_clean))

    def forget(self, slug: str) -> None:
        """Raises LeaseLost, LeaseUnreachable."""
        self.check()
        self._asked(lambda: self._table.forget(slug, self.engine))

    def retire(self) -> None:
        """The clean end, after which nothing is written.  Raises LeaseLost, LeaseUnreachable."""
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
