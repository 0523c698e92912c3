"""The teacher's live grid of a course: one row per student, from the database and the sandbox's tile."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple, TypedDict

from django.utils import timezone

from queueviz.courses.models import Course, Submission
from queueviz.courses.outliers import Difference, differences
from queueviz.slugs import root_of
from sandbox.queries.rows.findings import FindingMark
from sandbox.queries.rows.labs import EffectRow
from sandbox.queries.rows.tile import TileRow

IDLE_AFTER_S = 120.0
CUT_AFTER_S = 25.0  # without a word of the student's page, which says one every ten
STUCK_AFTER = 3  # the same mistakes in a row


class Student(NamedTuple):
    """A student's data from the database.

    `slug`: the sandbox of the newest submission; None: no lab is begun.  `asks_since`: when the hand was raised;
    `seen_at`: when the student's lab was last open; None: it was not yet.
    """

    number: int
    pseudonym: str
    slug: str | None
    done: int  # submissions that are finished
    asks_since: datetime | None
    question: str
    seen_at: datetime | None
    joined_at: datetime
    note: str = ""


class GridRow(TypedDict):
    """A tile of the grid.  `state`: working, idle, stuck, asking, done, cut, waiting (no lab is begun).

    `since_ms`: by the server's clock; None if unknown.  `shown`: True if `strips` are current.  `phase`: of the open
    step; None if unknown.  `effect`: the teacher's newest intervention there.
    """

    name: str
    slug: str | None
    root: str | None  # address of the sandbox
    state: str
    since_ms: int | None
    lab: str | None
    step: int
    steps: int
    phase: str | None
    sealed: bool
    question: str
    note: str
    strips: list[str]
    shown: bool
    group: str | None
    topic: str | None
    frozen: bool
    acts: str | None
    effect: EffectRow | None
    differs: Difference | None
    finding: FindingMark | None


def students_of(course: Course) -> list[Student]:
    """Return the students in the order in which they joined."""
    newest: dict[int, Submission] = {}
    done: dict[int, int] = {}
    for submission in (
        Submission.objects.filter(enrolment__course=course).select_related("sandbox").order_by("begun_at", "pk")
    ):
        newest[submission.enrolment_id] = submission
        done[submission.enrolment_id] = done.get(submission.enrolment_id, 0) + (submission.finished_at is not None)
    students = []
    for row in course.enrolments.filter(removed_at__isnull=True).order_by("pk"):
        work = newest.get(row.pk)
        slug = work.sandbox.slug if work is not None and work.sandbox is not None else None
        students.append(
            Student(
                row.pk,
                row.pseudonym,
                slug,
                done.get(row.pk, 0),
                row.asks_since,
                row.question,
                row.seen_at,
                row.joined_at,
                row.note,
            )
        )
    return students


class Grid:
    """The state of one course's grid.

    It keeps the last tile of each student's sandbox, so that the grid has a picture while a sandbox cannot be read.
    """

    def __init__(self, labs: int) -> None:
        self._labs = labs
        self._tiles: dict[str, TileRow] = {}
        self._acted: dict[str, tuple[int | None, datetime]] = {}  # the newest action, and when it was first seen
        self._failing: dict[str, tuple[int, datetime]] = {}  # the same mistake, and since when it is one too many

    def rows(
        self, students: list[Student], tiles: Mapping[str, TileRow], now: datetime | None = None
    ) -> dict[str, GridRow]:
        """Return a grid row for each student, by the student's number.

        `tiles`: the current tiles of the sandboxes that are awake.
        """
        now = now or timezone.now()
        for slug, tile in tiles.items():
            self._note(slug, tile, now)
        differ = differences({slug: self._tiles[slug] for slug in tiles})
        return {
            str(student.number): self._row(student, now, differ.get(student.slug or ""), shown=student.slug in tiles)
            for student in students
        }

    def _note(self, slug: str, tile: TileRow, now: datetime) -> None:
        self._tiles[slug] = tile
        if slug not in self._acted or self._acted[slug][0] != tile["acted_ms"]:
            self._acted[slug] = (tile["acted_ms"], now)
        if tile["failed"] < STUCK_AFTER:
            self._failing.pop(slug, None)
        elif slug not in self._failing:
            self._failing[slug] = (tile["failed"], now)

    def _row(self, student: Student, now: datetime, differs: Difference | None, *, shown: bool) -> GridRow:
        tile = self._tiles.get(student.slug or "")
        state, since = self._state(student, tile, now)
        return {
            "name": student.pseudonym,
            "slug": student.slug,
            "root": None if student.slug is None else root_of(student.slug),
            "state": state,
            "since_ms": _ms(since),
            "lab": tile["lab"] if tile else None,
            "step": tile["step"] if tile else 0,
            "steps": tile["steps"] if tile else 0,
            "phase": tile["phase"] if tile else None,
            "sealed": bool(tile and shown and tile["sealed"]),
            "question": student.question if state == "asking" else "",
            "note": student.note,
            "strips": tile["strips"] if tile else [],
            "shown": shown,
            "group": tile["group"] if tile else None,
            "topic": tile["topic"] if tile else None,
            "frozen": bool(tile and tile["frozen"]),
            "acts": tile["acts"] if tile else None,
            "effect": tile["effect"] if tile and shown else None,
            "differs": differs,
            "finding": tile.get("finding") if tile and shown else None,
        }

    def _state(self, student: Student, tile: TileRow | None, now: datetime) -> tuple[str, datetime | None]:
        """Return the student's state, and since when.

        The first state that holds counts: a question comes before all others, a cut connection before idle.  A lab that
        is not begun has no connection that could be cut.
        """
        slug = student.slug
        if student.asks_since is not None:
            return "asking", student.asks_since
        if student.done >= self._labs > 0:
            return "done", None
        if slug is None:
            return "waiting", student.joined_at
        if student.seen_at is not None and (now - student.seen_at).total_seconds() > CUT_AFTER_S:
            return "cut", student.seen_at
        if tile is None:
            return "working", None
        if slug in self._failing:
            return "stuck", self._failing[slug][1]
        acted_at = self._acted[slug][1]
        if tile["phase"] == "done":
            return "done", acted_at
        if (now - acted_at).total_seconds() > IDLE_AFTER_S:
            return "idle", acted_at
        return "working", None


def counts(rows: Mapping[str, GridRow]) -> dict[str, int]:
    by_state: dict[str, int] = {}
    for row in rows.values():
        by_state[row["state"]] = by_state.get(row["state"], 0) + 1
    return by_state


def _ms(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)


def frame(course: Course, rows: Mapping[str, GridRow]) -> dict[str, object]:
    """Return the content of the channel `grid/<course>`: a map of rows, so that a delta has only changes."""
    return {"course": {"title": course.title, "students": len(rows), **counts(rows)}, "tiles": dict(rows)}
