"""A class that starts a lab at once: how many have it, how many lost it or have it twice, and how long each waited.

    manage.py bench class --lab N0 --start 60 --json

All come from one address, as a school does.  What was begun is counted in the journals, once the server has ended.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.cluster.journal_files import DIRECTORY
from sandbox.journal.segments import rows_since
from tests.bench.calibration import calibrate
from tests.bench.lesson import SETTLE_S, Lesson, lab_of, lesson_of, part_of
from tests.bench.lesson_line import RETRY_S, Unreached
from tests.bench.together import act_together

WITHIN_S = 3.0  # all press
GIVE_UP_S = 60.0  # after that a student has no lab


class Pressed(NamedTuple):
    """One student's start.  `shown_s`: when the panel was there; None: never.  `slug`: of the sandbox it is in."""

    pressed_s: float
    shown_s: float | None
    tries: int
    statuses: tuple[int, ...]
    slug: str


def start(lab: str, students: int = 60, engines: int = 0) -> dict[str, Any]:
    """Students who have joined press *Start* within three seconds, evenly spread, and again while they are refused."""
    with lesson_of(lab_of(lab), students, engines, labs=False) as lesson:
        pressed: list[Pressed] = []
        load = act_together(students, WITHIN_S, lambda number: pressed.append(_press(lesson, number)))
        time.sleep(SETTLE_S)
        lesson.end()
        return {
            "lab": lab,
            "students": students,
            **count(pressed, starts_in(lesson.server.home)),
            **times(pressed),
            "load": round(load, 1),
            "calibration_us": round(calibrate(), 3),
            "engines": engines,
        }


def _press(lesson: Lesson, number: int) -> Pressed:
    """Until the panel is there: the address that the start leads to is opened, as a browser does."""
    browser, address = lesson.students[number].browser, f"{lesson.students[number].course}labs/{lesson.lab.slug}/"
    pressed_s, statuses = time.monotonic(), list[int]()
    slug = ""
    while time.monotonic() < pressed_s + GIVE_UP_S:
        try:
            answer = browser.post(address, {})
            if answer.status_code == 302:
                slug = answer.headers["Location"].split("/")[2]
                answer = browser.get(answer.headers["Location"])
        except Unreached:
            continue
        statuses.append(answer.status_code)
        if answer.status_code == 200:
            return Pressed(pressed_s, time.monotonic(), len(statuses), tuple(statuses), slug)
        time.sleep(RETRY_S[0])
    return Pressed(pressed_s, None, len(statuses), tuple(statuses), slug)


def starts_in(home: Path) -> dict[str, int]:
    """Sandboxes of the data home → how often a lab was started there."""
    return {
        path.name: sum(row["type"] == "LabStarted" for row in rows_since(path / DIRECTORY, 0))
        for path in sorted((home / "sandboxes").iterdir())
        if (path / DIRECTORY).is_dir()
    }


def count(pressed: Sequence[Pressed], starts: Mapping[str, int]) -> dict[str, Any]:
    """`begun`: students whose sandbox has the lab once; `lost`: those who have none, or see none; `doubled`: starts and
    sandboxes beyond one a student.
    """
    shown = [one for one in pressed if one.shown_s is not None]
    begun = sum(starts.get(one.slug, 0) == 1 for one in shown)
    lost = len(pressed) - sum(starts.get(one.slug, 0) > 0 for one in shown)
    of_students = {one.slug for one in shown}
    again = sum(number - 1 for slug, number in starts.items() if slug in of_students and number > 1)
    others = sum(number > 0 for slug, number in starts.items() if slug not in of_students)
    return {
        "begun": begun,
        "lost": lost,
        "doubled": again + others + len(shown) - len(of_students),
        "first_tries": dict(Counter(one.statuses[0] for one in pressed if one.statuses)),
    }


def times(pressed: Sequence[Pressed]) -> dict[str, Any]:
    """From the press to the panel."""
    waited = [(one.shown_s - one.pressed_s) * 1000 for one in pressed if one.shown_s is not None]
    return {
        "pressed_within_s": round(_span([one.pressed_s for one in pressed]), 2),
        "shown_p50_ms": part_of(waited, 0.5),
        "shown_p99_ms": part_of(waited, 0.99),
        "shown_max_ms": part_of(waited, 1.0),
        "tried_again": sum(one.tries > 1 for one in pressed),
    }


def _span(at_s: Iterable[float]) -> float:
    found = list(at_s)
    return max(found) - min(found)
