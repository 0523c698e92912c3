"""Pipeline jobs over all sandboxes of a course: the files to read, and a regrade from the result."""

from collections.abc import Mapping
from datetime import datetime

from queueviz.courses import regrading
from queueviz.courses.grade_models import Regrade
from queueviz.courses.models import Course
from queueviz.models import PipelineRun
from queueviz.runs.directories import Sources, sources_of
from queueviz.runs.tables import Result

GRADING = "grading"


def sources_of_course(course: Course) -> Sources:
    """Return stores and journals of the sandboxes of the course's submissions, if their files are on this server."""
    stores: dict[str, str] = {}
    journals: dict[str, str] = {}
    for work in regrading.submissions_of(course):
        sources = None if work.sandbox is None else sources_of(work.sandbox.slug)
        if sources is not None:
            stores |= sources.stores
            journals |= sources.journals
    return Sources(stores, journals)


def slug_and_sources(run: PipelineRun) -> tuple[str, Sources | None]:
    """Return the name of a run's result, and its sources; None: its sandbox has no files here."""
    if run.course is not None:
        return run.course.slug, sources_of_course(run.course)
    assert run.sandbox is not None, "a run is of one of both"
    return run.sandbox.slug, sources_of(run.sandbox.slug)


def regraded(course: Course, began_at: datetime, reruns: Mapping[str, str]) -> Regrade:
    """Return a regrade from the newest result of the job `grading`.  Raises CorruptRecord.

    `reruns` as for `regrading.regrade`.
    """
    return regrading.regrade(course, Result(GRADING, course.slug), began_at, reruns=reruns)
