"""The directories of a simulated class, each like a sandbox's: `sandbox.json`, `journal/`, a store for each broker."""

import logging
import multiprocessing
import shutil
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sandbox.cluster.actors.feeds import prepare_flights
from sandbox.cluster.config import HostConfig
from sandbox.cluster.new_sandbox import new_record
from sandbox.control.limits import COURSE_LIMITS
from sandbox.kernel.chance import Chance
from sandbox.simulation.classroom.student import TEMPLATES, Student
from sandbox.simulation.world import BEGIN_MS, SLUG, World

CONFIG = HostConfig(sandbox_limits=replace(COURSE_LIMITS, actions_per_s=1_000))
KILLED_SHARE = 0.1  # of the students: their server is killed at the end instead of closed
AHEAD = 2  # students waiting for each process
PIECE_BYTES = 4_096


class Lesson(NamedTuple):
    """The parameters of a simulated lesson: the number of students, the duration in minutes, and the seed."""

    students: int
    minutes: float
    seed: str

    def names(self) -> list[str]:
        digits = max(2, len(str(self.students)))
        return [f"student-{number:0{digits}}" for number in range(1, self.students + 1)]


class Made(NamedTuple):
    """The directory made for one student.  `killed`: the state is that after a kill of the server."""

    name: str
    template: str
    steps: int
    entries: int
    messages: int
    killed: bool


def make_class(lesson: Lesson, out: Path, *, processes: int) -> Iterator[Made]:
    """Make the directories of all students, and yield each when it is ready, in any order.

    Raises OSError if `out` is not writable.
    """
    with tempfile.TemporaryDirectory(prefix=".feeds-", dir=out) as shared:
        prepare_flights(Path(shared))  # sorting it for each student would take longer than the lesson
        yield from _made(lesson, out, Path(shared), processes)


def _made(lesson: Lesson, out: Path, shared: Path, processes: int) -> Iterator[Made]:
    if processes <= 1:
        yield from (make_student(lesson, name, out, shared) for name in lesson.names())
        return
    left = iter(lesson.names())
    pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("forkserver"), initializer=_be_quiet)
    waiting: set[Future[Made]] = set()
    try:
        while True:
            more = islice(left, processes * AHEAD - len(waiting))
            waiting |= {pool.submit(make_student, lesson, name, out, shared) for name in more}
            if not waiting:
                return
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in ready)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def make_student(lesson: Lesson, name: str, out: Path, shared: Path | None = None) -> Made:
    """Make the directory of one student.  It appears when it is complete.

    The result depends on seed and name only.  `shared`: a data home whose feeds are prepared.
    """
    chance = Chance(f"class {lesson.seed}").fork(name)
    template, killed = chance.choice(TEMPLATES), chance.random() < KILLED_SHARE
    record = new_record(
        name,
        template,
        preset="sandbox",
        seed=f"{lesson.seed} {name}",
        changes=None,
        limits=None,
        config=CONFIG,
        ports_taken=set(),
        now_ms=BEGIN_MS,
    )
    with tempfile.TemporaryDirectory(prefix=".making-", dir=out) as home:
        if shared is not None:
            (Path(home) / "feeds").symlink_to(shared / "feeds")
        world = World(Path(home), seed=f"{lesson.seed} {name}", config=CONFIG, record=record)
        try:
            student = Student(world, chance.fork("deeds"))
            student.play(lesson.minutes * 60)
            messages = sum(int(queue["max"] or 0) for topic in world.snapshot()["topics"] for queue in topic["queues"])
            if killed:
                world.kill()
            else:
                world.sleep("the lesson is over")
            entries = world.cluster.journal.next_seq
            directory = Path(home) / "sandboxes" / SLUG
            for disk_name, disk in world.environment.disks.items():
                store = directory / disk_name.rpartition("/")[2]
                for path, data in disk.image().items():
                    write_sparse(store / path, data)
        finally:
            world.close()
        shutil.rmtree(out / name, ignore_errors=True)
        directory.rename(out / name)
    return Made(name, template, student.done, entries, messages, killed)


def write_sparse(path: Path, data: bytes) -> None:
    """Write a file whose ranges of zeros take no disk blocks, as in a broker's mapped files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nothing = bytes(PIECE_BYTES)
    with path.open("wb") as file:
        for start in range(0, len(data), PIECE_BYTES):
            piece = data[start : start + PIECE_BYTES]
            if piece != nothing[: len(piece)]:
                file.seek(start)
                file.write(piece)
        file.truncate(len(data))


def _be_quiet() -> None:
    """Ignore SIGINT, which the parent handles, and turn off warnings, since students cause many."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("sandbox").setLevel(logging.CRITICAL)
