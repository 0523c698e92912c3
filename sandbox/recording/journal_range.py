"""Facts and frames from a sandbox's own journal in its directory; the journal's keyframes are the frames."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from sandbox.cluster import record as records
from sandbox.cluster.journal_backwards import for_browser
from sandbox.journal.event_filter import without_name
from sandbox.journal.events import BY_NAME, FLOW
from sandbox.journal.schema import Row
from sandbox.journal.segments import rows_since
from sandbox.recording.frame import About, Frame, state_of

FACT_NAMES = BY_NAME.keys() - {event.__name__ for event in FLOW} - {"Keyframe"}  # a recording has those as frames
SNAPSHOT = "snapshot"  # the channel of whole snapshots


def about_sandbox(directory: Path, engine: str) -> About:
    record = records.load(directory)
    return About(engine, record.template, record.preset, record.seed, None)


def keyframes(rows: Iterable[Row]) -> Iterator[Frame]:
    """Yield a frame for each keyframe of the journal."""
    for row in rows:
        if row["type"] == "Keyframe":
            snapshot = row["snapshot"]
            yield Frame(row["seq"], row["at_ms"], state_of(snapshot["rate"], snapshot["epoch"], {SNAPSHOT: snapshot}))


def facts_of(directory: Path) -> Iterator[Row]:
    return facts(for_browser(row) for row in rows_since(directory / "journal", 0) if row["type"] in FACT_NAMES)


def facts(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the facts in the form of a recording: only the role of the person who acted is kept."""
    for row in rows:
        if row["type"] in FACT_NAMES:
            yield without_name(row)
