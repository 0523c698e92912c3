"""The live grid of a course (channel `grid/<course>`): the tiles of all its sandboxes, five times in two seconds.

One request to each engine reads all of its tiles.  The other values are read from the database every two seconds.
"""

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple

from channels.db import database_sync_to_async

from queueviz.courses.grid import Grid, Student, frame, students_of
from queueviz.courses.models import Course
from sandbox.control.interventions import LEASE_S
from sandbox.control.readings import Reading
from sandbox.kernel.errors import SandboxError
from sandbox.queries.rows.tile import TileRow

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

log = logging.getLogger(__name__)

DATABASE_EVERY_S = 2.0
PATIENCE_S = 5.0
RENEW_EVERY_S = 8.0  # three times in a lease


class Known(NamedTuple):
    """The data of a course from the database."""

    course: Course
    students: list[Student]


class LiveGrid:
    def __init__(self, port: "EnginePort", slug: str) -> None:
        self._port = port
        self._slug = slug
        self._now = asyncio.get_running_loop().time
        self._grid: Grid | None = None
        self._known: Known | None = None
        self._read_at_s = self._renewed_s = float("-inf")

    async def read(self) -> Mapping[str, object] | None:
        if self._now() - self._read_at_s >= DATABASE_EVERY_S:
            self._read_at_s = self._now()
            self._known = await database_sync_to_async(_known)(self._slug)
        if self._known is None:
            return None
        self._grid = self._grid or Grid(len(self._known.course.labs))
        students = self._known.students
        if self._now() - self._renewed_s >= RENEW_EVERY_S:
            self._renewed_s = self._now()
            self._renew(students)
        return frame(self._known.course, self._grid.rows(students, await self._tiles(students)))

    def _renew(self, students: list[Student]) -> None:
        """Renew the holds of the students' sandboxes while the teacher's page is open.

        So frozen or taken-over sandboxes stay in that state.
        """
        for student in students:
            if student.slug is not None:
                self._port.renew_hold(student.slug, LEASE_S).add_done_callback(_note_failure)

    async def _tiles(self, students: list[Student]) -> dict[str, TileRow]:
        """Return the tiles of the sandboxes that are awake; none if the engines do not answer."""
        slugs = [student.slug for student in students if student.slug is not None]
        if not slugs:
            return {}
        try:
            asked = self._port.read([f"tile/{slug}" for slug in slugs])
            answers = await asyncio.wait_for(asyncio.wrap_future(asked), PATIENCE_S)
        except (SandboxError, TimeoutError) as error:
            log.info("no tiles: %s", error)
            return {}
        return {
            slug: reading.data["tile"]
            for slug, reading in zip(slugs, answers, strict=True)
            if isinstance(reading, Reading)
        }


def _note_failure(renewed: Future[None]) -> None:
    if not renewed.cancelled() and (error := renewed.exception()) is not None:
        log.info("a hold was not renewed: %s", error)


def _known(slug: str) -> Known | None:
    course = Course.objects.filter(slug=slug).first()
    return None if course is None else Known(course, students_of(course))
