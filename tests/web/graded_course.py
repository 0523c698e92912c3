"""A course whose students' journals were made by a lab's scripts, and what `grading` leaves of them, without Spark."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet
from django.test import Client

from queueviz import engine
from queueviz.courses import submissions
from queueviz.models import Course, Submission
from queueviz.runs import directories
from sandbox.journal.events import Entry
from sandbox.journal.segments import SegmentWriter
from sandbox.pipeline.journal_grades import TABLES, Piece, graded
from sandbox.pipeline.runs.results import Manifest, Table, publish
from sandbox.pipeline.runs.runner import end_of
from sandbox.queries.snapshot.lab import lab_row
from sandbox.simulation.lab_player import Played
from tests.web.courses import begun, joined

KINDS = {"STRING": pa.string(), "BIGINT": pa.int64(), "BOOLEAN": pa.bool_(), "ARRAY<BIGINT>": pa.list_(pa.int64())}


class Student(NamedTuple):
    """`journal`: where it lies; `submission`: as it was noted live."""

    browser: Client
    submission: Submission
    journal: Path


def student_of(course: Course, pseudonym: str, played: Played, *, entries: list[Entry] | None = None) -> Student:
    """Whose lab was played so, and noted live; `entries`: what lies on the disk afterwards, where it is other."""
    browser = joined(course, pseudonym)
    lab = played.attempt.lab.slug
    sandbox = begun(course, browser, lab)
    submissions.note(sandbox, lab_row(played.attempt, played.attempt.evidence.now_ms))
    directory = engine.directory_of(sandbox.slug)
    directory.mkdir(parents=True)
    (directory / "sandbox.json").write_text(json.dumps({"slug": sandbox.slug}))
    write_journal(directory / "journal", list(played.entries) if entries is None else entries)
    return Student(browser, Submission.objects.get(sandbox=sandbox), directory / "journal")


def write_journal(directory: Path, entries: list[Entry]) -> None:
    writer = SegmentWriter(directory)
    for entry in entries:
        writer.append(entry)
    writer.close()


def leave_graded(course: Course, journals: dict[str, str]) -> None:
    """As the job leaves it."""
    parts = [graded(Piece(slug, Path(path), end_of(Path(path)) or 0)) for slug, path in sorted(journals.items())]
    out = directories.result_of("grading", course.slug)
    made: dict[str, Table] = {}
    for name, columns in TABLES.items():
        fields = [(field, KINDS[kind]) for field, kind in (column.split() for column in columns.split(", "))]
        rows: list[Any] = [
            dict(zip([field for field, _ in fields], row, strict=True)) for part in parts for row in getattr(part, name)
        ]
        path = out / "run-r" / name
        path.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows, pa.schema(fields)), path / "part-0.parquet")
        made[name] = Table(f"run-r/{name}", len(rows))
    publish(out, Manifest("grading", "r", made, {}, 0, {}))
