"""`manage.py simulate_class --students 30 --minutes 20 --out DIR`: write stores and journals of a class.

See docs/pipeline.md.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError
from tqdm import tqdm

from sandbox.kernel import json_bytes
from sandbox.pipeline.runs.error_sentences import sentence_of
from sandbox.simulation.classroom.class_directories import Lesson, Made, make_class

MOST_STUDENTS = 10_000
MOST_MINUTES = 24 * 60
NAME = "class.json"


class Command(BaseCommand):
    help = "Write the journals and stores of a simulated class to DIR/<student>/, in virtual time."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--students", type=int, required=True, metavar="N", help="number of students")
        add("--minutes", type=float, required=True, metavar="M", help="length of the lesson in sandbox time")
        add("--out", type=Path, required=True, metavar="DIR", help="an empty or new directory")
        add("--seed", default="0", metavar="S", help="seed of the class: equal seeds make equal classes (default 0)")
        add(
            "--processes",
            type=int,
            default=os.cpu_count() or 1,
            metavar="K",
            help="number of processes (default: one per core)",
        )
        add("--json", action="store_true", help="print the figures as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        lesson = Lesson(options["students"], options["minutes"], options["seed"])
        if not 0 < lesson.students <= MOST_STUDENTS or not 0 < lesson.minutes <= MOST_MINUTES:
            raise CommandError(
                f"--students takes 1 to {MOST_STUDENTS}; --minutes more than 0 and at most {MOST_MINUTES}."
            )
        out = options["out"].resolve()
        began_s = time.monotonic()
        try:
            out.mkdir(parents=True, exist_ok=True)
            if any(out.iterdir()):
                raise CommandError(f"{out} is not empty. Choose an empty or new directory.")
            made = self._make(lesson, out, max(1, options["processes"]), quiet=options["json"])
            (out / NAME).write_bytes(
                json_bytes.dumps(
                    {**lesson._asdict(), "made": [student._asdict() for student in made]},
                    option=json_bytes.OPT_INDENT_2,
                )
            )
        except FileExistsError:
            raise CommandError(f"{out} is a file. Choose an empty or new directory.") from None
        except OSError as error:
            raise CommandError(sentence_of(error)) from None
        took_s = time.monotonic() - began_s
        figures = {
            "students": len(made),
            "minutes": lesson.minutes,
            "entries": sum(student.entries for student in made),
            "messages": sum(student.messages for student in made),
            "took_s": round(took_s, 2),
            "students_per_s": round(len(made) / took_s, 3),
        }
        if options["json"]:
            self.stdout.write(json_bytes.dumps(figures).decode())
        else:
            self.stdout.write(
                f"{figures['students']} students, {figures['messages']} messages and "
                f"{figures['entries']} events in {figures['took_s']} s: {out}"
            )

    def _make(self, lesson: Lesson, out: Path, processes: int, *, quiet: bool) -> list[Made]:
        ready = make_class(lesson, out, processes=min(processes, lesson.students))
        bar = tqdm(ready, total=lesson.students, unit=" students", disable=quiet or not sys.stderr.isatty())
        return sorted(bar)
