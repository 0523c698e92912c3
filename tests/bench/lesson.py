"""A lesson: a class plays a lab over real HTTP and real sockets, is cut off, and its server is killed in the middle.

    manage.py bench class --lab N0 --students 60 --json
    manage.py bench class --lab N0 --burst 120 --json

What was lost or doubled is counted in the journals, once the server has ended; a student only says what it had sent.
"""

import asyncio
import contextlib
import itertools
import os
import random
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from sandbox.cluster.journal_files import DIRECTORY
from sandbox.journal.events import ActionTaken, Entry, PredictionGiven
from sandbox.journal.schema import from_row
from sandbox.journal.segments import rows_since
from sandbox.labs.catalogue import LABS
from sandbox.labs.grade import grade
from sandbox.labs.lab import Lab
from tests.bench.calibration import calibrate
from tests.bench.lesson_line import Browser, Cut, Tab
from tests.bench.lesson_student import Student
from tests.bench.served import cpu_s
from tests.bench.together import act_together
from tests.server.server import Server
from tests.server.server import run as manage

CUT_S = 20.0
CUTS_WITHIN_S = 40.0  # of the lesson's beginning
TEACHER = {
    "DJANGO_SUPERUSER_USERNAME": "teacher",
    "DJANGO_SUPERUSER_PASSWORD": "a-lesson-for-all",
    "DJANGO_SUPERUSER_EMAIL": "teacher@example.org",
}
SETTLE_S = 3.0
START_WITHIN_S = 300.0
BURST_S = 1.0


def lab_of(name: str) -> Lab:
    """Return the lab of a number or a slug.  Raises KeyError."""
    return next((lab for lab in LABS.values() if name in (lab.number, lab.slug)), None) or LABS[name]


class Loop:
    """Sockets of all students, on a thread of their own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def call(self, do: Callable[[], Any]) -> None:
        self.loop.call_soon_threadsafe(do)

    def run(self, tab: Tab) -> None:
        asyncio.run_coroutine_threadsafe(tab.run(), self.loop)

    def end(self) -> None:
        if not self._thread.is_alive():
            return

        def stop() -> None:
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.loop.call_later(0.5, self.loop.stop)

        self.call(stop)
        self._thread.join(10)
        self.loop.close()


class Lesson:
    """A server, a teacher with a course of one lab, and students with their labs begun."""

    def __init__(self, lab: Lab, students: int, home: Path, engines: int) -> None:
        self.lab = lab
        self.server = Server(home, engines=engines, variables={"QUEUEVIZ_LOG_LEVEL": "WARNING"})
        os.environ.update(TEACHER)
        for command in (("migrate",), ("createsuperuser", "--noinput")):
            made = manage(*command, home=home)
            if made.returncode:
                raise RuntimeError(made.stderr)
        self.loop = Loop()
        self.teacher = Browser(self.server.url, random.Random("teacher"))
        self.students = [Student(self.server.url, number, lab, on_loop=self.loop.call) for number in range(students)]

    def begin(self, *, labs: bool = True) -> None:
        """`labs`: all have begun theirs, too."""
        self.server.start(START_WITHIN_S)
        self._sign_in()
        self.join_s = self._join()
        if labs:
            self._begin_labs()
        self.grid = Tab(self.server.url, self.teacher, [f"grid/{self.slug}"])
        self.loop.run(self.grid)

    def _sign_in(self) -> None:
        self.teacher.get("/accounts/login/")
        said = self.teacher.post(
            "/accounts/login/",
            {"username": TEACHER["DJANGO_SUPERUSER_USERNAME"], "password": TEACHER["DJANGO_SUPERUSER_PASSWORD"]},
        )
        made = self.teacher.post("/c/new/", {"title": "A lesson", "labs": self.lab.slug})
        if made.status_code != 302:
            raise RuntimeError(f"no course: {said.status_code}, {made.status_code}")
        self.slug = made.headers["Location"].split("/")[2]
        page = self.teacher.get(f"/c/{self.slug}/").text
        self.teacher.post(
            f"/c/{self.slug}/change/",
            {"title": "A lesson", "labs": self.lab.slug, "most_students": "120", "feedback": "at_once"},
        )
        self.code = page.partition('class="joincode">')[2].partition("<")[0]

    def _join(self) -> float:
        """All from one address, as a school's; how long it took."""
        began_s = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda student: student.join(self.code), self.students))
        return time.monotonic() - began_s

    def _begin_labs(self) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(Student.begin, self.students))
        for student in self.students:
            assert student.tab is not None
            self.loop.run(student.tab)
        while any(student._open == (0, "") for student in self.students):
            time.sleep(0.2)

    def entries(self, student: Any, /) -> Iterable[Entry]:
        """Yield the entries of the journal's files; the server has ended."""
        return map(from_row, rows_since(self.server.home / "sandboxes" / student.slug / DIRECTORY, 0))

    def end(self) -> None:
        """Journals are read after it; once is enough."""
        self.loop.end()
        for browser in (self.teacher, *(student.browser for student in self.students)):
            browser.http.close()
        if self.server.process is not None and self.server.process.poll() is None:
            self.server.end()


class Played(Protocol):
    """Counts of a finished lesson."""

    @property
    def students(self) -> Sequence[Any]: ...
    def entries(self, student: Any, /) -> Iterable[Entry]: ...


@contextlib.contextmanager
def lesson_of(lab: Lab, students: int, engines: int, *, labs: bool = True) -> Iterator[Lesson]:
    """A lesson that has begun; it ends with the block.  `labs`: of all students, too."""
    with tempfile.TemporaryDirectory() as home:
        lesson = Lesson(lab, students, Path(home) / "home", engines)
        try:
            lesson.begin(labs=labs)
            yield lesson
        finally:
            lesson.end()


def run(
    lab: str, students: int = 60, engines: int = 0, *, cut_s: float = CUT_S, cuts_within_s: float = CUTS_WITHIN_S
) -> dict[str, Any]:
    """Every second student is cut off as an answer is pressed, which half of the time arrives all the same; the others
    at any time.  The server is killed once half of all answers are received.

    One object.  `answers_lost`: given and in no journal, or received and not there; `answers_doubled`: those that
    stand there more than once.  `back_after_restart_s`: from the kill to the last student's first picture.
    """
    chance = random.Random("cuts")
    with lesson_of(lab_of(lab), students, engines) as lesson:
        began_s = time.monotonic()
        asked = answers_in(lesson.lab)
        for number, student in enumerate(lesson.students):
            if number % 2:
                from_s = began_s + chance.uniform(2, cuts_within_s)
                student.browser.cut = Cut(from_s, from_s + cut_s)
            else:
                student.cut_at, student.cut_s = chance.randrange(asked), cut_s
        threads = [threading.Thread(target=_play, args=(student,), daemon=True) for student in lesson.students]
        for thread in threads:
            thread.start()
        while _received(lesson) < asked * students // 2 and any(thread.is_alive() for thread in threads):
            time.sleep(0.1)
        killed_s = time.monotonic()
        lesson.server.kill()
        lesson.server.start(START_WITHIN_S)
        up_s, start_cpu_s = time.monotonic() - killed_s, cpu_s(lesson.server.pid)
        for thread in threads:
            thread.join()
        ended_s, load = time.monotonic(), os.getloadavg()[0]
        time.sleep(SETTLE_S)
        lesson.end()
        back = [_back_s(student, killed_s) for student in lesson.students]
        grid = _gaps(lesson.grid.frames_s, began_s, ended_s, killed_s)
        frames = [
            sum(began_s <= at <= ended_s for at in student.tab.frames_s) / (ended_s - began_s)  # type: ignore[union-attr]
            for student in lesson.students
        ]
        return {
            "lab": lab,
            "students": students,
            **count(lesson),
            "back_after_restart_s": round(max(back), 1) if max(back) < float("inf") else None,
            "back_after_restart_s_median": round(statistics.median(back), 1),
            "server_up_after_s": round(up_s, 1),
            "server_start_cpu_s": round(start_cpu_s, 1),
            "grid_frames": len(lesson.grid.frames_s),
            "grid_frame_p50_ms": part_of(grid, 0.5),
            "grid_frame_p99_ms": part_of(grid, 0.99),
            "frames_per_student_s": round(statistics.mean(frames), 1),
            "answer_p50_ms": _answers_ms(lesson, 0.5, first_try=True),
            "answer_p99_ms": _answers_ms(lesson, 0.99, first_try=True),
            "answers_sent_again": sum(one.tries > 1 for student in lesson.students for one in student.sent),
            "answers_whose_receipt_was_cut_off": sum(student.browser.unanswered for student in lesson.students),
            "joined_all_in_s": round(lesson.join_s, 1),
            "lesson_s": round(ended_s - began_s, 1),
            "troubles": Counter(student.trouble for student in lesson.students if student.trouble),
            "load": round(load, 1),
            "calibration_us": round(calibrate(), 3),
            "engines": engines,
        }


def burst(lab: str, submissions: int = 120, engines: int = 0) -> dict[str, Any]:
    """As many students answer within one second, evenly spread; when each receipt came."""
    with lesson_of(lab_of(lab), submissions, engines) as lesson:
        step = lesson.lab.steps[0]
        assert step.predict is not None
        value = step.predict.options[0][0] if step.predict.options else "1"
        time.sleep(SETTLE_S)
        load = act_together(
            submissions, BURST_S, lambda number: lesson.students[number].send(1, "predict", value, f"burst-{number}")
        )
        time.sleep(SETTLE_S)
        lesson.end()
        sent = [one for student in lesson.students for one in student.sent]
        return {
            "lab": lab,
            "submissions": submissions,
            "receipted": sum(one.status == 200 for one in sent),
            **count(lesson),
            "pressed_within_s": round(max(one.pressed_s for one in sent) - min(one.pressed_s for one in sent), 2),
            "receipt_p50_ms": _answers_ms(lesson, 0.5),
            "receipt_p99_ms": _answers_ms(lesson, 0.99),
            "receipt_max_ms": _answers_ms(lesson, 1.0),
            "sent_again": sum(one.tries > 1 for one in sent),
            "load": round(load, 1),
            "calibration_us": round(calibrate(), 3),
            "engines": engines,
        }


def count(lesson: "Played") -> dict[str, Any]:
    """Count the answers that students report, by the journals alone."""
    lost = doubled = given = in_journals = finished = differ = 0
    for student in lesson.students:
        entries = list(lesson.entries(student))
        kept = Counter(
            str(entry.event.fields.get("key"))
            for entry in entries
            if isinstance(entry.event, ActionTaken) and entry.event.action == "AnswerStep"
        )
        predictions = Counter(entry.event.step for entry in entries if isinstance(entry.event, PredictionGiven))
        refused = {one.key for one in student.sent if one.status != 200}  # with a sentence: nothing was received
        expected = set(student.pressed) - refused
        lost += len(expected - kept.keys())
        doubled += sum(number - 1 for number in kept.values()) + sum(number - 1 for number in predictions.values())
        given += len(expected)
        in_journals += sum(kept.values())
        [graded] = grade(entries)
        finished += graded.attempt.finished
        differ += len(_receipts_shown(student) - {(one.key, one.digest) for one in graded.attempt.receipts.kept})
    return {
        "answers_given": given,
        "answers_in_journals": in_journals,
        "answers_lost": lost,
        "answers_doubled": doubled,
        "receipts_that_differ": differ,
        "finished": finished,
    }


def _receipts_shown(student: Student) -> set[tuple[str, str]]:
    """As the student's page has them."""
    assert student.tab is not None
    return {(one["key"], one["digest"]) for one in student.tab.data[f"lab/{student.slug}"]["lab"]["receipts"]}


def answers_in(lab: Lab) -> int:
    """Return the minimum number of answers of the solving script."""
    return sum(asked is not None for step in lab.steps for asked in (step.predict, step.say, step.why))


def _received(lesson: Lesson) -> int:
    return sum(len(student.sent) for student in lesson.students)


def _play(student: Student) -> None:
    try:
        student.play()
    except Exception as why:  # it is in the figures, and what it gave is counted all the same
        student.trouble = f"{type(why).__name__}: {why}"[:200]


def _back_s(student: Student, killed_s: float) -> float:
    """From the kill, or from when the student's own line was there again."""
    assert student.tab is not None
    cut, pictures_s = student.browser.cut, student.tab.first_s
    first_s = min((at for at in pictures_s if at > killed_s), default=float("inf"))
    if cut.until_s <= killed_s or cut.from_s > first_s:
        return first_s - killed_s
    return min((at for at in pictures_s if at > cut.until_s), default=float("inf")) - cut.until_s


def _gaps(at_s: list[float], from_s: float, to_s: float, killed_s: float) -> list[float]:
    """Milliseconds between frames, less the gap that the killed server made."""
    kept = [at for at in at_s if from_s <= at <= to_s]
    return [(after - before) * 1000 for before, after in itertools.pairwise(kept) if not before <= killed_s <= after]


def _answers_ms(lesson: Lesson, part: float, *, first_try: bool = False) -> float | None:
    return part_of(
        [
            (one.received_s - one.pressed_s) * 1000
            for student in lesson.students
            for one in student.sent
            if one.tries == 1 or not first_try
        ],
        part,
    )


def part_of(values: list[float], part: float) -> float | None:
    """The value below which that part of them is; None of none."""
    return round(sorted(values)[min(len(values) - 1, int(len(values) * part))], 1) if values else None
