"""The export of all data about a student as files: rows as JSON, journals as stored, and their graded attempts."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core import serializers

from queueviz import engine
from queueviz.access.rate_limits import Rate
from queueviz.courses import student_records
from queueviz.courses.models import Enrolment
from queueviz.models import Sandbox
from sandbox.journal.event_filter import without_score
from sandbox.journal.schema import from_row
from sandbox.journal.segments import rows_since, segments
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.attempt import Attempt
from sandbox.labs.grade import grade
from sandbox.labs.lab import shown

MOST_BYTES = 256 * 1024 * 1024  # of journals, as they are read for one download
EXPORTS = Rate(1 / 20, 4, what="exports")

FINISHED = b'"type":"LabFinished"'
SCORES = {"queueviz.submission": ("score",), "queueviz.grade": ("score",), "queueviz.ltiscore": ("sent_score",)}

NOTES = {"queueviz.enrolment": ("note",)}  # the teacher's, for teachers

WITHHELD = """
Scores are null: the teacher has not released them yet.  A later export has them.
"""
ABOUT = """Stored data of {pseudonym} in the course "{title}".

student.json              every database row about this student, by table
sandboxes/SLUG/journal/   events of a sandbox of the student, one per line, with the answers
sandboxes/SLUG/attempts.json   each attempt at a lab: steps, predictions, mistakes, hints, receipts

Not included: messages in the brokers' stores, which the actions and producers of the journal sent, and secrets, of
which only digests are stored.
{withheld}"""


def files_of(enrolment: Enrolment, *, scores: bool, notes: bool) -> Iterator[tuple[str, bytes | Path]]:
    """Yield the name of each file in the export, with its content or its path.

    `scores`: False replaces scores by null, if they are withheld.  `notes`: False leaves the teacher's note out.
    """
    owned = student_records.of(enrolment)
    yield (
        "README.txt",
        ABOUT.format(
            pseudonym=enrolment.pseudonym, title=enrolment.course.title, withheld="" if scores else WITHHELD
        ).encode(),
    )
    yield "student.json", _plain(_rows_of(owned, scores=scores, notes=notes))
    for sandbox in owned.sandboxes:
        journal = _journal_of(sandbox)
        for path in segments(journal):
            yield f"sandboxes/{sandbox.slug}/journal/{path.name}", path if scores else _without_scores(path)
        yield f"sandboxes/{sandbox.slug}/attempts.json", _plain(_attempts_in(journal, scores=scores))


def write(enrolment: Enrolment, directory: Path) -> int:
    """Write the files of the export into a new directory; return their number.  Raises OSError."""
    count = 0
    for name, content in files_of(enrolment, scores=True, notes=True):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.read_bytes())
        count += 1
    return count


def packed(enrolment: Enrolment, *, scores: bool, notes: bool) -> bytes:
    """Return the export as one ZIP file.  Raises ActionRefused (409) if it is too large for a download."""
    into, left = io.BytesIO(), MOST_BYTES
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as pack:
        for name, content in files_of(enrolment, scores=scores, notes=notes):
            data = content if isinstance(content, bytes) else content.read_bytes()
            left -= len(data)
            if left < 0:
                raise ActionRefused(
                    409,
                    "The export has more than {most} MiB.",
                    "Ask the server administrator to run manage.py student export.",
                    most=MOST_BYTES // 2**20,
                )
            pack.writestr(name, data)
    return into.getvalue()


def _rows_of(owned: student_records.Belongings, *, scores: bool, notes: bool) -> dict[str, object]:
    course = owned.enrolment.course
    tables: dict[str, list[dict[str, object]]] = {}
    for row in owned.rows():
        [plain] = serializers.serialize("python", [row])
        hidden = {} if scores else dict.fromkeys(SCORES.get(plain["model"], ()))
        left_out = () if notes else NOTES.get(plain["model"], ())
        fields = {name: value for name, value in plain["fields"].items() if name not in left_out}
        tables.setdefault(plain["model"], []).append({"pk": plain["pk"], **fields, **hidden})
    seats = [{"expires": row.expire_date} for row, _ in student_records.sessions_of([owned.enrolment])]
    return {
        "course": {"slug": course.slug, "title": course.title, "labs": course.labs, "due_at": course.due_at},
        "tables": tables,
        "browsers": seats,
    }


def _journal_of(sandbox: Sandbox) -> Path:
    return engine.directory_of(sandbox.slug) / "journal"


def _without_scores(path: Path) -> bytes:
    """Return the content of a journal segment without scores.  Only lines with a score are changed."""
    return b"".join(
        json_bytes.dumps(without_score(json_bytes.loads(line)), option=json_bytes.OPT_APPEND_NEWLINE)
        if FINISHED in line
        else line
        for line in path.read_bytes().splitlines(keepends=True)
    )


def _attempts_in(journal: Path, *, scores: bool) -> list[dict[str, object]] | dict[str, str]:
    """Return the attempts in a journal.  If they cannot be graded, return the reason instead."""
    try:
        attempts = [_attempt(graded.attempt) for graded in grade(map(from_row, rows_since(journal, 0)))]
    except Exception as error:  # whatever a forged journal says
        return {"error": f"{type(error).__name__}: {error}"}
    return attempts if scores else [{**attempt, "score": None} for attempt in attempts]


def _attempt(attempt: Attempt) -> dict[str, object]:
    met = [
        {
            "step": step.step,
            "seq": step.seq,
            "predicted": None if step.given is None else shown(step.given),
            "truth": None if step.truth is None else shown(step.truth),
            "accurate": step.accurate,
        }
        for step in attempt.met
    ]
    mistakes = [{"step": step, "seq": seq, "said": verdict.sentence()} for step, seq, verdict in attempt.mistakes]
    return {
        "lab": attempt.lab.slug,
        "attempt": attempt.attempt,
        "began": attempt.began,
        "score": attempt.score,
        "finished": attempt.finished,
        "met": met,
        "mistakes": mistakes,
        "hints": attempt.hints,
        "receipts": [receipt._asdict() for receipt in attempt.receipts.kept],
    }


def _plain(value: Any) -> bytes:
    return json_bytes.dumps(value, option=json_bytes.OPT_INDENT_2 | json_bytes.OPT_NON_STR_KEYS, default=str)
