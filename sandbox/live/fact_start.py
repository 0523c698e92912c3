"""The first facts that a viewer gets after it opens the channel."""

from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from sandbox.journal.event_filter import EventFilter, Row
from sandbox.live.fact_channel import MOST_ROWS

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

ENOUGH_FACTS = 6  # facts to begin with: as many as the Board's panel shows
MOST_PAGES = 4  # of the journal, for so many

T = TypeVar("T")


class Ask(Protocol):
    """A function that awaits a future of the engine; None if the engine does not answer."""

    async def __call__(self, future: Future[T]) -> T | None: ...


class FactStart(NamedTuple):
    """The start of a viewer's facts.  Later facts are sent from `after` on.

    `rows`: the earlier facts, None if not requested; `is_cut`: some of them are missing.
    """

    after: int
    rows: list[Row] | None = None
    is_cut: bool = False


async def start_of_facts(port: "EnginePort", ask: Ask, slug: str, after: int | None) -> FactStart:
    """Return the first facts of a viewer that has the facts up to `after`: history of at most one frame.

    A client that was away for longer gets only facts that are no steps.
    """
    end = await ask(port.newest_seq(slug)) or 0
    if after is None or after >= end:
        return FactStart(end)
    page = await ask(port.look_back(slug, EventFilter("facts"), after=after, most=MOST_ROWS + 1))
    if page is not None and page.before is None and len(page.rows) <= MOST_ROWS and after + 1 >= page.first_seq:
        return FactStart(int(page.rows[0]["seq"]) if page.rows else after, page.rows[::-1])
    return FactStart(end, await _without_steps(port, ask, slug, end, after), is_cut=True)


async def _without_steps(port: "EnginePort", ask: Ask, slug: str, end: int, after: int) -> list[Row]:
    """Return the newest facts that are no steps, the oldest first, from at most `MOST_PAGES` pages of the journal."""
    rows: list[Row] = []
    before: int | None = end + 1
    for _ in range(MOST_PAGES):
        most = MOST_ROWS - len(rows)
        page = await ask(port.look_back(slug, EventFilter("told"), before=before, after=after, most=most))
        rows += page.rows if page is not None else []
        before = page.before if page is not None else None
        if before is None or len(rows) >= ENOUGH_FACTS:
            break
    return rows[::-1]
