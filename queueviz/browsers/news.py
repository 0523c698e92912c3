"""Changes of a course while its browsers are connected: the open steps, the poll, the due date."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from queueviz.browsers.link import Link
from queueviz.browsers.run_state import RunState

log = logging.getLogger(__name__)

LOOK_S = 1.0


class News(NamedTuple):
    """The state of a course that its browsers show.  `poll`: number and state of the newest one; empty without any."""

    pace: dict[str, int]
    poll: str
    due: str


class CourseNews:
    """Reads each course with connected browsers once a second, and sends them what has changed.

    `read` returns the state of a course by its slug, None if it does not exist any more.
    """

    def __init__(self, read: Callable[[str], Awaitable[News | None]]) -> None:
        self._read = read
        self._known: dict[str, News] = {}
        self._links: dict[str, dict[Link, str]] = {}  # course → link → lab
        self._task: asyncio.Task[None] | None = None

    def enter(self, course: str, lab: str, link: Link) -> None:
        self._links.setdefault(course, {})[link] = lab
        if (known := self._known.get(course)) is not None:
            self._send(known, link, lab)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look())

    def leave(self, course: str, link: Link) -> None:
        links = self._links.get(course, {})
        links.pop(link, None)
        if not links:
            self._links.pop(course, None)
            self._known.pop(course, None)

    async def _look(self) -> None:
        while self._links:
            for course in list(self._links):
                try:
                    await self._look_at(course)
                except Exception as error:  # the database is busy: the next look comes soon
                    log.warning("%s was not read: %s", course, error)
            await asyncio.sleep(LOOK_S)

    async def _look_at(self, course: str) -> None:
        news, before = await self._read(course), self._known.get(course)
        if news is None or news == before or course not in self._links:
            return
        self._known[course] = news
        for link, lab in list(self._links[course].items()):
            if before is not None and before.due != news.due:
                link.end("again")  # it connects again, and learns its own date
            else:
                self._send(news, link, lab)

    def _send(self, news: News, link: Link, lab: str) -> None:
        link.say("course", open_until=news.pace.get(lab), poll=news.poll)


def course_of(state: RunState) -> tuple[str, str]:
    """Return the slugs of course and lab of a run."""
    submission = state.run.submission
    return submission.enrolment.course.slug, submission.lab
