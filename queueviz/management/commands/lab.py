"""`manage.py lab list|show|check|play`: use the guided labs without a browser (docs/labs.md)."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, TypedDict, cast

from django.core.management import BaseCommand, CommandError
from django.utils.translation import gettext

from queueviz.refusal_texts import filled
from sandbox.journal.schema import from_row
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import SandboxError
from sandbox.labs.attempt import Attempt
from sandbox.labs.catalogue import LABS
from sandbox.labs.grade import grade
from sandbox.labs.lab import Lab, Question
from sandbox.simulation.lab_check import SOLVE, check_lab, check_labs, is_whole, scripts_of
from sandbox.simulation.lab_loader import SUFFIX, LabFileError, lab_of
from sandbox.simulation.lab_player import play


class Options(TypedDict, total=False):
    """The options of the command's subcommands, by their names."""

    lab: str
    seed: str
    labs: list[str]
    all: bool
    seeds: int
    workers: int
    json: bool
    script: str
    exam: bool


class CheckedScript(TypedDict):
    """The checked script of a misconception.  `fails`: the lab is not solved with it."""

    misconception: str
    sentence: str
    fails: bool


class CheckedLab(TypedDict):
    """The result of a lab's check (`simulation.lab_check`)."""

    number: str
    title: str
    solved: bool
    empty_fails: bool
    seeds: int
    played_minutes: float
    wrong: list[CheckedScript]
    stopped: dict[str, str]
    to_fill_in: list[str]


class Command(BaseCommand):
    help = "List, show, check and play the guided labs."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        does = parser.add_subparsers(dest="does", required=True)
        does.add_parser("list", help="list the labs in their order")
        show = does.add_parser("show", help="print the steps of one lab, with the names and numbers of a seed")
        show.add_argument("lab")
        show.add_argument("--seed", default="1")
        check = does.add_parser("check", help="play every script of a lab and check each script's result")
        check.add_argument(
            "labs", nargs="*", metavar="LAB", help="name or number of a lab, or a .py file, which is executed"
        )
        check.add_argument("--all", action="store_true")
        check.add_argument("--seeds", type=int, default=1, help="number of seeds (default 1)")
        check.add_argument("--workers", type=int, default=os.cpu_count() or 1)
        check.add_argument("--json", action="store_true")
        plays = does.add_parser("play", help="play one script, or grade the attempts in a sandbox's directory")
        plays.add_argument("lab", help="name or number of a lab, its file, or QUEUEVIZ_HOME/sandboxes/<slug>")
        plays.add_argument("--script", default=SOLVE)
        plays.add_argument("--seed", default="1")
        plays.add_argument("--exam", action="store_true", help="exam rules: no hints, and correct predictions count")
        plays.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['does']}")(options)

    def _list(self, options: Options) -> None:
        for lab in LABS.values():
            self.stdout.write(f"{lab.number:>3}  {lab.slug:22} {lab.minutes:3} min  {gettext(lab.title)}")

    def _show(self, options: Options) -> None:
        lab = _lab(options["lab"])
        numbers = lab.numbers(options["seed"], 1)
        self.stdout.write(f"{lab.number}. {gettext(lab.title)}\n{gettext(lab.goal)}")
        for number, step in enumerate(lab.steps, start=1):
            self.stdout.write(f"\n{number}. {gettext(step.title)}")
            if step.predict is not None:
                self.stdout.write(f"   ? {_asked(step.predict, numbers)}")
            self.stdout.write("   > " + filled(step.do, numbers))
            for question in (step.say, step.why):
                if question is not None:
                    self.stdout.write(f"   ? {_asked(question, numbers)}")

    def _check(self, options: Options) -> None:
        names = (
            list(LABS)
            if options["all"]
            else [name if name.endswith(SUFFIX) else _lab(name).slug for name in options["labs"]]
        )
        labs = [_lab(name) for name in names]  # before anything is played: what is no lab is said at once
        if not names or options["seeds"] < 1 or options["workers"] < 1:
            raise CommandError("Name a lab or give --all. --seeds and --workers must be greater than 0.")
        seeds = range(1, options["seeds"] + 1)
        rows = []
        checked = (
            (check_lab(lab, seeds) for lab in labs)
            if options["workers"] == 1
            else (check_labs(names, seeds, options["workers"]))
        )
        for row in checked:
            rows.append(row)
            if not options["json"]:
                self._report(cast(CheckedLab, row))
        if options["json"]:
            self.stdout.write(json.dumps({"labs": rows}))
        if not all(map(is_whole, rows)):
            sys.exit(1)

    def _report(self, row: CheckedLab) -> None:
        self.stdout.write(
            f"{row['number']:>3}  {row['title']}: {'solved' if row['solved'] else 'NOT SOLVED'}"
            f"{'' if row['empty_fails'] else ', THE EMPTY SCRIPT SOLVES IT'}, {row['seeds']} seeds, "
            f"{row['played_minutes']} min"
        )
        for wrong in row["wrong"]:
            mark = "  " if wrong["fails"] else "NO"
            self.stdout.write(f"  {mark} {wrong['misconception']}: {wrong['sentence']}")
        for script, reason in row["stopped"].items():
            self.stdout.write(f"  NO script {script} stopped: {reason}")
        for sentence in row["to_fill_in"]:
            self.stdout.write(f"  .. {sentence}")

    def _play(self, options: Options) -> None:
        directory = Path(options["lab"])
        if directory.is_dir():
            try:
                attempts = [graded.attempt for graded in grade(map(from_row, rows_since(directory / "journal", 0)))]
            except (SandboxError, OSError) as error:
                raise CommandError(f"The journal of {directory} cannot be read: {error}") from error
        else:
            lab = _lab(options["lab"])
            script = scripts_of(lab).get(options["script"])
            if script is None:
                known = ", ".join(scripts_of(lab))
                raise CommandError(f"No script {options['script']}. Scripts are: {known}.")
            attempts = [play(lab, script, options["seed"], exam=options["exam"]).attempt]
        if options["json"]:
            self.stdout.write(json.dumps([_row(attempt) for attempt in attempts]))
            return
        for attempt in attempts:
            self._write_result(attempt)

    def _write_result(self, attempt: Attempt) -> None:
        which = "exam" if attempt.exam else f"attempt {attempt.attempt}"
        self.stdout.write(f"Lab {attempt.lab.number}, {which}: {attempt.score} of 100")
        for met in attempt.met:
            prediction = "" if met.given is None else f" predicted {met.given}, was {met.truth};"
            events = ", ".join(map(str, met.rests_on))
            self.stdout.write(f"  {met.step}.{prediction} {filled(met.text, met.values)} (events {events})")
        verdict = attempt.verdict
        self.stdout.write(f"  {filled(verdict.text, verdict.values)}")


def _row(attempt: Attempt) -> dict[str, object]:
    return {
        "lab": attempt.lab.slug,
        "attempt": attempt.attempt,
        "exam": attempt.exam,
        "score": attempt.score,
        "finished": attempt.finished,
        "steps": [met._asdict() for met in attempt.met],
        "verdict": attempt.verdict.sentence(),
        "mistakes": [
            {"step": step, "seq": seq, "sentence": verdict.sentence()} for step, seq, verdict in attempt.mistakes
        ],
        "hints": attempt.hints,
        "receipts": [receipt._asdict() for receipt in attempt.receipts.kept],
    }


def _lab(name: str) -> Lab:
    try:
        lab = lab_of(name)
    except LabFileError as error:
        raise CommandError(str(error)) from error
    if lab is None:
        raise CommandError(f"No lab {name}. Labs are: {', '.join(LABS)}.")
    return lab


def _asked(question: Question, numbers: Any) -> str:
    return filled(question.text, numbers)
