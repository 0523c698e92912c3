"""Bodies of the JSON API that pages' scripts read: journal, state at an event, changes, repeatable ranges."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from queueviz.access import hidden_names
from queueviz.boards.replay import StateAnswer
from sandbox.control.readings import LookedBack
from sandbox.journal.event_filter import Row
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.snapshot import Snapshot

if TYPE_CHECKING:
    from sandbox.hosting.repeatable_ranges import Line
    from sandbox.queries.changes import Changes
    from sandbox.queries.state_at import Kept, StateAt

MOST_LINES = 10_000  # of the journal in an answer that asks for no more
MOST_SEARCH = 200  # characters


def journal_body(page: LookedBack, rows: Sequence[Row]) -> dict[str, object]:
    """Return a page of the journal.  `rows`: those of `page`, as this reader may see them."""
    return {
        "rows": rows,
        "before": None if page.before is None else str(page.before),
        "at_ms": page.at_ms,
        "first_seq": str(page.first_seq),
    }


def trimmed_body(first_seq: int) -> dict[str, object]:
    """Return the refusal of events that the journal no longer holds."""
    return {
        "error": "The journal no longer holds these events.",
        "hint": f"Start again with after={first_seq - 1}.",
        "first_seq": str(first_seq),
    }


def changes_body(changed: "Changes") -> dict[str, object]:
    return {
        "from": str(changed.first),
        "to": str(changed.last),
        "keyframes": [str(seq) for seq in changed.keyframes],
        "rows": list(_shown_changes(change._asdict() for change in changed.rows)),
    }


def stretches_body(line: "Line") -> dict[str, object]:
    rows = [stretch.row() | {"from": str(stretch.from_seq), "to": str(stretch.to_seq)} for stretch in line.stretches]
    return {"stretches": rows, "keyframe": None if line.keyframe is None else str(line.keyframe)}


def recorded_range(kept: "Kept", first: int, last: int | None) -> tuple[int, int]:
    """Return the events of a recording from `first` to `last`, without `last` to the newest.

    Raises ActionRefused (422) if there are no such events.
    """
    last = kept.newest if last is None else last
    if not 0 <= first <= last <= kept.newest:
        raise ActionRefused(
            422,
            "Events {first} to {last} cannot be recorded.",
            "Choose events between {oldest} and {newest}.",
            field="from",
            first=first,
            last=last,
            oldest=kept.oldest,
            newest=kept.newest,
        )
    return max(first, kept.oldest), last


def state_body(past: "StateAt", slug: str, name: str) -> StateAnswer:
    """Return the state at an event, with the sandbox's row completed by its address and name."""
    own = hidden_names.shown({**past.snapshot["sandbox"], "slug": slug, "name": name})
    whole: Snapshot = {**past.snapshot, "sandbox": own}
    return {
        "seq": str(past.seq),
        "keyframe": str(past.keyframe),
        "exact": not past.of_keyframe,
        "carried": past.carried,
        "of_keyframe": past.of_keyframe,
        "snapshot": whole,
    }


def _shown_changes(rows: Iterable[Mapping[str, object]]) -> Iterable[Mapping[str, object]]:
    """Yield changes as the current reader may see them: those of the sandbox's own row may name it."""
    for row in rows:
        yield hidden_names.shown(row) if str(row["place"]).partition("/")[0] == "sandbox" else row
