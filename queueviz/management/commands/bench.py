"""`manage.py bench NAME`: measure one part of the product, and print the figures as a table or as JSON."""

import argparse
import json
import os
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, TypedDict, cast

from django.core.management import BaseCommand, CommandError

from queueviz.engines import MOST_ENGINES

BENCHES = ("append", "tcp", "wire", "board", "class", "lite", "pipeline", "proof")
WHERE = ("server", "lite")
MODULES = {"class": "classroom"}  # the others are modules of their own name
MOST_STUDENTS = 150  # each has an address of 127.0.1.0/24
MOST_IN_A_LESSON = 120  # places of a course
MOST_IN_BROWSERS = 1_000
MOST_RATE = 60
QUICK = ("wire", "pipeline", "proof")


class Options(TypedDict):
    """The options of the command, by their names."""

    json: bool
    quick: bool
    students: tuple[int, ...] | None
    lab: str | None
    where: str
    browsers: int | None
    burst: int | None
    start: int | None
    rate: tuple[int, ...] | None
    cores: tuple[int, ...] | None
    engines: tuple[int, ...] | None


class BenchArguments(TypedDict, total=False):
    """The arguments of a bench's `run`."""

    quick: bool
    students: tuple[int, ...]
    rates: tuple[int, ...]
    cores: tuple[int, ...]
    engines: tuple[int, ...]


class Command(BaseCommand):
    """The command `bench`.  Each bench is a module of `tests.bench` with `run() -> dict`.

    The result has figures by name; names end in their unit.
    """

    help = (
        "Measure one part: append (the store), tcp (sends over sockets), wire (Apache's benchmark against this broker "
        "and Apache's; needs Java and Maven), board (time and bytes of one reading, bytes of a recording), class "
        "(one viewed sandbox per student; --lab adds a teacher, connection failures and a server crash; "
        "--burst sends N answers within 1 s; --start starts N labs within 3 s), pipeline (a store read with "
        "Spark, compared with Parquet; a command with a cold and a warm Spark), lite (an event in a browser's "
        "interpreter, compared with CPython; needs Node.js), proof (the execution of the runs of 60 browsers of 15 min "
        "on the server; --quick: of 6)."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("bench", choices=BENCHES)
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
        parser.add_argument(
            "--quick", action="store_true", help=f"{' and '.join(QUICK)}: shorter run, less exact figures"
        )
        parser.add_argument("--students", type=_numbers, metavar="10,30,60", help="class: numbers of students")
        parser.add_argument("--lab", metavar="N0", help="class: lab that simulated students of a course solve")
        parser.add_argument(
            "--where", choices=WHERE, default=WHERE[0], help="class: where the labs run (default server)"
        )
        parser.add_argument(
            "--browsers", type=int, metavar="5", help="class with --where lite: students with a Chromium"
        )
        parser.add_argument("--burst", type=int, metavar="120", help="class with --lab: answers within one second")
        parser.add_argument("--start", type=int, metavar="60", help="class with --lab: starts within three seconds")
        parser.add_argument("--rate", type=_numbers, metavar="1,20", help="class: clock rates of the sandboxes")
        parser.add_argument("--cores", type=_numbers, metavar="1,2", help="class: processor cores of the server")
        parser.add_argument("--engines", type=_numbers, metavar="0,1", help="class: engine processes of the server")

    def handle(self, *args: Any, bench: str, **named: Any) -> None:
        options = cast(Options, named)
        try:
            module = import_module(f"tests.bench.{_module_of(bench, options)}")
        except ModuleNotFoundError as error:
            raise CommandError(f"The bench {bench} needs the development requirements: {error}.") from error
        for name in _of_lesson(options):
            if not options["lab"]:
                raise CommandError(f"--{name} needs the bench class with --lab.")
        arguments = _arguments(bench, options)
        if options["where"] == "lite" or options["browsers"] is not None:
            figures = _in_browsers(module, bench, options, **arguments)
        else:
            figures = _lesson(module, bench, options, **arguments) if options["lab"] else module.run(**arguments)
        if options["json"]:
            self.stdout.write(json.dumps(figures, default=str))
            return
        rows = flat(figures)
        width = max(len(name) for name, _ in rows)
        for name, value in rows:
            self.stdout.write(f"{name:{width}} {value:,.2f}" if isinstance(value, float) else f"{name:{width}} {value}")


def _arguments(bench: str, options: Options) -> BenchArguments:
    if bench != "class":
        return {"quick": True} if options["quick"] and bench in QUICK else {}
    bounds = {
        "students": (1, MOST_IN_BROWSERS if options["where"] == "lite" else MOST_STUDENTS),
        "rate": (0, MOST_RATE),
        "cores": (1, len(os.sched_getaffinity(0))),
        "engines": (0, MOST_ENGINES),
    }
    of_class = {
        "students": options["students"],
        "rate": options["rate"],
        "cores": options["cores"],
        "engines": options["engines"],
    }
    arguments = {name: numbers for name, numbers in of_class.items() if numbers is not None}
    for name, numbers in arguments.items():
        least, most = bounds[name]
        if any(not least <= number <= most for number in numbers):
            raise CommandError(f"--{name} takes numbers from {least} to {most}.")
    return cast(BenchArguments, {"rates" if name == "rate" else name: numbers for name, numbers in arguments.items()})


def _lesson(
    module: ModuleType,
    bench: str,
    options: Options,
    *,
    students: tuple[int, ...] = (60,),
    engines: tuple[int, ...] = (0,),
    **others: Any,
) -> dict[str, object]:
    """Run one lesson of the bench `class`, with one number of students, and return its figures."""
    if bench != "class" or others or len(students) != 1 or len(engines) != 1:
        raise CommandError("--lab needs the bench class and takes one number for --students and one for --engines.")
    try:
        lab = module.lab_of(options["lab"]).slug
    except KeyError:
        raise CommandError(f"No lab {options['lab']}. See manage.py lab list.") from None
    if students[0] > MOST_IN_A_LESSON:
        raise CommandError(f"With --lab, --students takes a number from 1 to {MOST_IN_A_LESSON}.")
    chosen = _of_lesson(options)
    if len(chosen) > 1:
        raise CommandError("--burst and --start are different lessons: choose one.")
    for name, count in chosen.items():
        if not 1 <= count <= MOST_IN_A_LESSON:
            raise CommandError(f"--{name} takes a number from 1 to {MOST_IN_A_LESSON}.")
    name, count = next(iter(chosen.items()), ("run", students[0]))
    figures: dict[str, object] = getattr(module, name)(lab, count, engines[0])
    return figures


def _in_browsers(
    module: ModuleType, bench: str, options: Options, *, students: tuple[int, ...] = (60,), **others: Any
) -> dict[str, object]:
    """Run one lesson whose labs run in the students' browsers, and return its figures."""
    if options["where"] != "lite" or bench != "class" or options["lab"] or others or len(students) != 1:
        raise CommandError("--where lite needs the bench class, takes one number of --students, and --browsers.")
    count, most = options["browsers"], module.most_browsers(students[0])
    if count is not None and not 0 <= count <= most:
        raise CommandError(f"--browsers takes a number from 0 to {most}: built Lite and Chromium are needed for more.")
    figures: dict[str, object] = module.run(students[0], most if count is None else count)
    return figures


def _of_lesson(options: Options) -> dict[str, int]:
    """Return the numbers of students of `--burst` and `--start`, by lesson, if given."""
    lessons = {"burst": options["burst"], "start": options["start"]}
    return {name: count for name, count in lessons.items() if count is not None}


def _module_of(bench: str, options: Options) -> str:
    if options["where"] == "lite":
        return "lite_class"
    if options["lab"]:
        return "lesson" if options["start"] is None else "lab_start"
    return MODULES.get(bench, bench)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a list of whole numbers such as 10,30,60") from None


def flat(figures: Mapping[str, object], before: str = "") -> list[tuple[str, object]]:
    """Return nested figures as a flat list: `{"a": {"b": 1}}` → `[("a.b", 1)]`."""
    rows: list[tuple[str, object]] = []
    for name, value in figures.items():
        rows += flat(value, f"{before}{name}.") if isinstance(value, dict) else [(f"{before}{name}", value)]
    return rows
