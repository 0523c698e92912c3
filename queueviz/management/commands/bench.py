"""`manage.py bench WHAT`: measure; prints figures as a table or JSON."""

import argparse
import json
import os
from importlib import import_module
from types import ModuleType
from typing import Any

from django.core.management import BaseCommand, CommandError

from queueviz.engines import MOST_ENGINES
from sandbox.control.limits import SandboxLimits

BENCHES = ("append", "send", "tcp", "wire", "pull", "live", "fairness", "idle", "board", "recording", "seeks", "branch",
           "class", "broadcast", "machines", "pipeline")
MODULES = {"class": "classroom"}  # others are called as their bench
MOST_STUDENTS = 150  # each has an address of 127.0.1.0/24
MOST_IN_A_LESSON = 120  # places of a course
MOST_RATE = 60
MOST_VIEWERS = SandboxLimits().viewers
TAKES = {"live": ("viewers", "engines"), "class": ("students", "rate", "cores", "engines"),
         "broadcast": ("students",), "machines": ("sandboxes",)}
QUICK = ("wire", "pipeline", "seeks", "branch")


class Command(BaseCommand):
    """Each bench is a module of `tests.bench` with `run() -> dict`: figures by name, units at the end of the name."""

    help = ("Measure one part: append (the store), send and pull (the wire), tcp (the wire with sockets), wire "
            "(Apache's benchmark against our broker and Apache's; needs Java, Maven), live (event to browser frame), "
            "fairness (quiet sandboxes beside a flooded one), "
            "idle (a sandbox that is not watched), board (one reading), recording (its bytes), "
            "seeks (on the line of a replay, in Chromium), branch (at events of an hour), "
            "class (one watched sandbox for each student; with --lab a lesson with its teacher, cuts and a killed "
            "server, with --burst as many answers within a second), broadcast (of a teacher, to that many), "
            "machines (engines on three of them, one killed, one cut off), "
            "pipeline (a store in Spark, beside Parquet).")
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("bench", choices=BENCHES)
        parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
        parser.add_argument("--quick", action="store_true", help=f"of {', '.join(QUICK)}: less, for a first look")
        parser.add_argument("--students", type=_numbers, metavar="10,30,60", help="of class and broadcast: how many")
        parser.add_argument("--lab", metavar="N0", help="of class: played by the students of a course, by its script")
        parser.add_argument("--burst", type=int, metavar="120", help="of class with --lab: answers within one second")
        parser.add_argument("--sandboxes", type=int, metavar="150", help="of machines: how many, each watched")
        parser.add_argument("--viewers", type=_numbers, metavar="1,50,500", help="of live: of one board")
        parser.add_argument("--rate", type=_numbers, metavar="1,20", help="of class: of their clocks")
        parser.add_argument("--cores", type=_numbers, metavar="1,2", help="of class: that the server may use")
        parser.add_argument("--engines", type=_numbers, metavar="0,1", help="of class and live: the server's processes")

    def handle(self, *args: Any, bench: str, **options: Any) -> None:
        try:
            module = import_module(f"tests.bench.{'lesson' if options['lab'] else MODULES.get(bench, bench)}")
        except ModuleNotFoundError as why:
            raise CommandError(f"The bench {bench} needs the development requirements: {why}.") from why
        if options["burst"] is not None and not options["lab"]:
            raise CommandError("--burst is of class with --lab.")
        given = _given(bench, options)
        figures = _lesson(module, bench, options, **given) if options["lab"] else module.run(**given)
        if options["json"]:
            self.stdout.write(json.dumps(figures, default=str))
            return
        rows = flat(figures)
        width = max(len(name) for name, _ in rows)
        for name, value in rows:
            self.stdout.write(f"{name:{width}} {value:,.2f}" if isinstance(value, float) else f"{name:{width}} {value}")


def _given(bench: str, options: dict[str, Any]) -> dict[str, Any]:
    if bench not in TAKES:
        return {"quick": True} if options["quick"] and bench in QUICK else {}
    most = {"students": (1, MOST_STUDENTS), "viewers": (1, MOST_VIEWERS), "rate": (0, MOST_RATE),
            "cores": (1, len(os.sched_getaffinity(0))), "engines": (0, MOST_ENGINES),
            "sandboxes": (1, MOST_STUDENTS)}  # fmt: skip
    given = {name: options[name] for name in TAKES[bench] if options[name] is not None}
    for name, numbers in given.items():
        least, top = most[name]
        if any(not least <= number <= top for number in (numbers if isinstance(numbers, tuple) else (numbers,))):
            raise CommandError(f"--{name} takes numbers from {least} to {top}.")
    return {"rates" if name == "rate" else name: numbers for name, numbers in given.items()}


def _lesson(module: ModuleType, bench: str, options: dict[str, Any], *, students: tuple[int, ...] = (60,),
            engines: tuple[int, ...] = (0,), **others: Any) -> dict[str, Any]:
    """One lesson, of one number of students."""
    if bench != "class" or others or len(students) != 1 or len(engines) != 1:
        raise CommandError("--lab is of class, with one number of --students and of --engines.")
    try:
        lab = module.lab_of(options["lab"]).slug
    except KeyError:
        raise CommandError(f"There is no lab {options['lab']}.") from None
    burst = options["burst"]
    if students[0] > MOST_IN_A_LESSON:
        raise CommandError(f"--students takes numbers from 1 to {MOST_IN_A_LESSON} in a lesson.")
    if burst is None:
        found: dict[str, Any] = module.run(lab, students[0], engines[0])
    elif not 1 <= burst <= MOST_IN_A_LESSON:
        raise CommandError(f"--burst takes numbers from 1 to {MOST_IN_A_LESSON}.")
    else:
        found = module.burst(lab, burst, engines[0])
    return found


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} are not whole numbers with commas between them") from None


def flat(figures: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """`{"a": {"b": 1}}` → `[("a.b", 1)]`."""
    rows: list[tuple[str, Any]] = []
    for name, value in figures.items():
        rows += flat(value, f"{before}{name}.") if isinstance(value, dict) else [(f"{before}{name}", value)]
    return rows
