"""The state at an event, from the journal's files: the keyframe before it with the changes of the events since then."""

from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.journal import segments
from sandbox.journal.events import Entry, FlowSkipped, Keyframe
from sandbox.journal.keyframes import around
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.fold import Folded, fold
from sandbox.queries.rows.snapshot import Snapshot

FOLDED_LISTS = {"topics", "groups"}
FOLDED_FIELDS = {"at_ms", "rate", "seq"}


class StateAt(NamedTuple):
    """The state at an event.

    `seq`: of the newest event at or before the requested one.  `keyframe`: seq of the keyframe.  `carried`: fields
    of the queues in `topics` and in `groups/<name>` that hold at the event.  `of_keyframe`: all other fields, and
    under `snapshot` the lists and fields beside topics and groups; empty at a keyframe.
    """

    snapshot: Snapshot
    seq: int
    keyframe: int
    carried: dict[str, list[str]]
    of_keyframe: dict[str, list[str]]


class Kept(NamedTuple):
    """The range of events in a journal's files."""

    oldest: int
    newest: int


def kept_in(files: Path) -> Kept:
    """Return the range of events in the files.  Raises ActionRefused (410) if they are empty."""
    oldest, newest = segments.first_seq(files), segments.last_seq(files)
    if oldest is None or newest is None:
        raise ActionRefused(410, "The journal of this sandbox is empty.", "Wake the sandbox first.")
    return Kept(oldest, newest)


def state_at(files: Path, at: int | None, *, most: int, held_from_ms: int | None = None) -> StateAt:
    """Return the state at event `at`, by default the newest.

    `most`: limit of entries to read.  `held_from_ms`: time since which the valve holds events back.  Raises
    ActionRefused: 422 if the event does not exist, 410 if it is no longer kept.
    """
    oldest, newest = kept_in(files)
    at = newest if at is None else at
    if not 0 <= at <= newest:
        raise ActionRefused(
            422,
            "Event {at} does not exist: the newest is {newest}.",
            "Choose an event between {oldest} and {newest}.",
            field="at",
            at=at,
            oldest=oldest,
            newest=newest,
        )
    entries = list(islice(around(files, at), most + 1))
    if not entries:
        raise ActionRefused(
            410,
            "The journal has no keyframe before event {at}, so its state is unknown.",
            "Choose a later event.",
            at=at,
        )
    if len(entries) > most and entries[-1].seq <= at:
        raise ActionRefused(
            410,
            "More than {most} events are between event {at} and the keyframe before it.",
            "Choose an event closer to event {keyframe}.",
            at=at,
            most=most,
            keyframe=entries[0].seq,
        )
    if held_from_ms is not None:
        held = FlowSkipped(held_from_ms, held_from_ms, (), (), (), 0)
        entries.append(Entry(newest + 1, entries[-1].at_ms, None, held))
    keyframe = entries[0].event
    assert isinstance(keyframe, Keyframe)
    snapshot: Any = keyframe.snapshot
    folded = fold(snapshot, entries, at)
    seq = int(folded.snapshot["seq"])
    return StateAt(
        folded.snapshot,
        seq,
        entries[0].seq,
        {path: sorted(fields) for path, fields in folded.carried.items()},
        {} if seq == entries[0].seq else _of_keyframe(folded),
    )


def _of_keyframe(folded: Folded) -> dict[str, list[str]]:
    snapshot = folded.snapshot
    rows: dict[str, list[Any]] = {"topics": [row for topic in snapshot["topics"] for row in topic["queues"]]}
    rows |= {f"groups/{group['group']}": list(group["queues"]) for group in snapshot["groups"]}
    fields = {
        path: sorted(
            {name for row in queues for name in row}
            - folded.carried.get(path, frozenset())
            - {"topic", "broker", "queue_id"}
        )
        for path, queues in rows.items()
    }
    return {"snapshot": sorted(snapshot.keys() - FOLDED_LISTS - FOLDED_FIELDS), **fields}
