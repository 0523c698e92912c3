"""Cost of `delivery_audit` by student, in classes of several sizes: made by `simulate_class`'s own code, one JVM.

Each class is the first students of one; the job runs over each in turns, after a run that pays for what is compiled.
Goal: the seconds a student costs do not grow.
"""

import os
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from queueviz.runs.directories import Sources, sources_of_class
from sandbox.pipeline.runs.launch import ENDED, Child, Order
from sandbox.simulation.classroom.class_directories import Lesson, make_class

JOB = "delivery_audit"


class Scale(NamedTuple):
    """`rounds`: after the one that pays for what is compiled."""

    sizes: tuple[int, ...]
    minutes: float
    rounds: int


SCALES = {"full": Scale((1, 10, 100), 2.0, 3), "quick": Scale((1, 4), 2.0, 1), "smallest": Scale((1,), 0.5, 1)}


def run(child: Child, home: Path, scale: Scale) -> dict[str, Any]:
    """Return seconds of a run and of a student, by the size of the class.  `home`: for scratch files."""
    lesson = home / "class"
    lesson.mkdir()
    made = list(make_class(Lesson(max(scale.sizes), scale.minutes, "bench"), lesson, processes=os.cpu_count() or 1))
    whole = sources_of_class(lesson)
    assert whole is not None
    taken: dict[int, list[float]] = {size: [] for size in scale.sizes}
    for turn in range(1 + scale.rounds):
        for size in scale.sizes:
            seconds = _seconds(child, first(whole, size), f"{turn}-{size}", home / "audits")
            if turn:
                taken[size].append(seconds)
    rows = {
        str(size): {"s": round(median(times), 2), "s_a_student": round(median(times) / size, 3)}
        for size, times in taken.items()
    }
    return {"messages": sum(one.messages for one in made), "entries": sum(one.entries for one in made), **rows}


def first(whole: Sources, size: int) -> Sources:
    """The first students alone."""
    names = set(sorted(whole.journals)[:size])
    return whole._replace(
        stores={name: path for name, path in whole.stores.items() if name.split("/")[0] in names},
        journals={name: path for name, path in whole.journals.items() if name in names},
    )


def _seconds(child: Child, sources: Sources, name: str, out: Path) -> float:
    began = time.perf_counter()
    child.order(Order(name, JOB, sources.stores, sources.journals, str(out), {}))
    last = next(line for line in child.reports() if line["state"] in ENDED)
    assert last["state"] == "done", last
    return time.perf_counter() - began
