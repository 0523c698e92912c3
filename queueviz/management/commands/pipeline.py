"""`manage.py pipeline JOB --store DIR`: run one job on Spark, in a process of its own, with a progress bar.

`pipeline show JOB` prints its last result instead, without Spark; `pipeline sql "select …"` is the job `sql`.
"""

import argparse
import os
import secrets
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict, cast

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.utils import timezone

from queueviz.courses.models import Course
from queueviz.engine import directory_of
from queueviz.runs.command_run import KEEP, OWN, reported
from queueviz.runs.directories import result_of, sealed_of, sources_of, sources_of_class
from queueviz.runs.last_results import SHOW, SQL, check_words, directories_of, lines_at, result_at, row_of
from queueviz.runs.text_tables import lines_of
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import SandboxError
from sandbox.pipeline.jobs.job import WrongOption
from sandbox.pipeline.runs.launch import Order, Report, Where
from sandbox.pipeline.runs.results import manifest_of

SHOWN = 20
GRADING = "grading"
IMPORT = "import"  # reads files, which its option path names


class Arguments(TypedDict):
    """The arguments of the command, by their names."""

    job: str
    about: str | None
    store: Path | None
    sandbox: str | None
    students: Path | None
    course: str | None
    master: str | None
    remote: str | None
    session: str | None
    out: Path | None
    sealed: Path | None
    format: str | None
    append: bool
    follow: bool
    option: list[str]
    publish: bool
    rerun: bool
    show: int
    table: str | None
    json: bool


class Command(BaseCommand):
    help = "Run a Spark job over a store or a sandbox's journal: on this machine, a cluster or a Connect server."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("job", help="name of a job (an unknown name lists all); show: last result of a job; sql: a query")
        add("about", nargs="?", metavar="JOB|QUERY", help="show: name of a job; sql: one SELECT")
        where = parser.add_mutually_exclusive_group()
        where.add_argument("--store", type=Path, metavar="DIR", help="store of a broker, QueueViz's or Apache's")
        where.add_argument("--sandbox", metavar="SLUG", help="journal and stores of a sandbox in this data home")
        where.add_argument(
            "--class",
            type=Path,
            metavar="DIR",
            dest="students",
            help="all sandboxes in a directory that simulate_class wrote",
        )
        where.add_argument("--course", metavar="SLUG", help="all sandboxes of a course; SLUG is the last part of /c/…/")
        engine = parser.add_mutually_exclusive_group()
        engine.add_argument("--master", help="Spark cluster, such as spark://host:7077 (default local[*])")
        engine.add_argument("--remote", help="Spark Connect server, such as sc://host:15002")
        engine.add_argument(
            "--session",
            choices=(KEEP, OWN),
            help="keep: leave Spark running for the next commands, until ten minutes without one; own: start a Spark "
            "for this command (default: the running one if the input is below 32 MiB, otherwise own)",
        )
        add("--out", type=Path, metavar="DIR", help="directory of the result (default: pipeline/JOB in the data home)")
        add(
            "--sealed",
            type=Path,
            metavar="DIR",
            help="with --store: directory of sealed log files (default: pipeline/seal in the data home)",
        )
        add("--format", help="export, import, sql: ndjson, csv or parquet; export, seal: also iceberg")
        add("--append", action="store_true", help="export: append new messages to the last Parquet or Iceberg result")
        add("--follow", action="store_true", help="lag_history: continue with new events until Ctrl+C")
        add("--option", action="append", default=[], metavar="KEY=VALUE", help="an option of the job (repeatable)")
        add("--publish", action="store_true", help="grading --course: replace the published grades with the result")
        add(
            "--rerun",
            action="store_true",
            help="grading --course: re-execute the actions of every sandbox and compare the journals",
        )
        add(
            "--show",
            type=_count,
            default=SHOWN,
            metavar="N",
            help=f"number of rows to print of each table (default: {SHOWN})",
        )
        add("--table", metavar="T", help="show: print only this table")
        add("--json", action="store_true", help="print the outcome as JSON, without rows")

    def handle(self, *args: Any, **options: Any) -> None:
        arguments = cast(Arguments, options)
        home = Path(settings.QUEUEVIZ_HOME)
        began_at = timezone.now()
        course = course_of(arguments)
        try:
            check_words(arguments["job"], arguments["about"])
            if arguments["job"] == SHOW:
                self._show(arguments, home, course)
                return
        except (SandboxError, WrongOption) as error:
            raise CommandError(str(error), returncode=1) from None
        stores, journals, name = source_of(arguments, home) if course is None else of_course(course)
        out = arguments["out"] or home / "pipeline" / arguments["job"] / name
        order = Order(
            secrets.token_hex(4),
            arguments["job"],
            stores,
            journals,
            str(out.resolve()),
            options_of(arguments) | query_of(arguments, name),
            sealed_by(arguments, stores),
        )
        ended = reported(order, Where(arguments["master"], arguments["remote"]), home, arguments["session"])
        if course is not None and arguments["job"] == GRADING and ended["state"] == "done":
            self._regrade(course, began_at, sorted(journals), arguments, ended, order.out)
            return
        if arguments["json"]:
            self.stdout.write(json_bytes.dumps({**ended, "out": order.out}).decode())
        if ended["state"] != "done":
            raise CommandError(ended.get("why", "The run was cancelled."), returncode=1)
        if not arguments["json"]:
            manifest = manifest_of(Path(order.out))
            tables = manifest.tables if manifest is not None else {}
            for name in ended.get("tables", ()) if tables else ():
                for line in lines_of(Path(order.out), name, tables[name], arguments["show"]):
                    self.stdout.write(line)

    def _show(self, arguments: Arguments, home: Path, course: Course | None) -> None:
        """Print the last result of a job.  Raises WrongOption, CorruptRecord, CommandError."""
        job = arguments["about"] or ""
        if (out := arguments["out"]) is None:
            name = source_of({**arguments, "job": job}, home)[2] if course is None else course.slug
            out = result_of(job, name)
        made = result_at(out.resolve(), job)
        if arguments["json"]:
            self.stdout.write(json_bytes.dumps(row_of(out.resolve(), made)).decode())
        else:
            for line in lines_at(out.resolve(), made, arguments["table"], arguments["show"]):
                self.stdout.write(line)

    def _regrade(
        self, course: Course, began_at: datetime, slugs: list[str], arguments: Arguments, ended: Report, out: str
    ) -> None:
        """Compute and print the differences from the grades, and publish them if the command has the option."""
        from queueviz.courses.course_runs import regraded
        from queueviz.courses.difference_texts import shown
        from queueviz.courses.regrading import publish
        from sandbox.simulation.many_replays import executed_again

        directories = [directory_of(slug) for slug in slugs] if arguments["rerun"] else []
        reruns = list(executed_again(directories, os.cpu_count() or 1))
        try:
            made = regraded(
                course, began_at, {rerun.slug: rerun.differs for rerun in reruns if rerun.differs is not None}
            )
        except SandboxError as error:
            raise CommandError(str(error), returncode=1) from None
        done = publish(made) if arguments["publish"] else None
        if arguments["json"]:
            summary = {
                **ended,
                "out": out,
                "attempts": made.attempts,
                "differences": made.differences,
                "rerun": len(reruns),
                "published": None if done is None else done._asdict(),
            }
            self.stdout.write(json_bytes.dumps(summary).decode())
            return
        for row in made.differences:
            difference = shown(row)
            self.stdout.write(f"{difference['student']}, lab {difference['number']}: {difference['sentence']}")
        self.stdout.write(
            f"Regraded {made.attempts} attempts of {len(slugs)} sandboxes: {len(made.differences)} differences."
        )
        if reruns:
            self.stdout.write(
                f"Re-executed {len(reruns)} sandboxes: {sum(run.compared for run in reruns)} events are equal."
            )
        self.stdout.write(
            "No grade is published. Publish with --publish or on the results page of the course."
            if done is None
            else f"Published: {done.changed} grades changed, {done.went_on} kept: their students continued since."
        )


def of_course(course: Course) -> tuple[dict[str, str], dict[str, str], str]:
    """Return the stores and journals of the course by name, and the name of the result."""
    from queueviz.courses.course_runs import sources_of_course

    return *sources_of_course(course), course.slug


def course_of(arguments: Arguments) -> Course | None:
    """Return the course of `--course`, or None without it.  Raises CommandError if options do not fit."""
    if arguments["course"] is None:
        if arguments["publish"] or arguments["rerun"]:
            raise CommandError("--publish and --rerun need a course: name it with --course.", returncode=1)
        return None
    if arguments["out"] is not None:
        raise CommandError("Results of a course are stored in the data home. Remove --out.", returncode=1)
    if (arguments["publish"] or arguments["rerun"]) and arguments["job"] != GRADING:
        raise CommandError("--publish and --rerun need the job grading.", returncode=1)
    course = Course.objects.filter(slug=arguments["course"]).first()
    if course is None:
        raise CommandError(f"No course {arguments['course']}. Use the last part of its address /c/…/.", returncode=1)
    return course


def source_of(arguments: Arguments, home: Path) -> tuple[dict[str, str], dict[str, str], str]:
    """Return the stores and journals of the source by name, and the name of the result.  Raises CommandError."""
    if arguments["store"] is not None:
        root = arguments["store"].resolve()
        return {root.name: str(root)}, {}, root.name
    if arguments["sandbox"] is None and arguments["students"] is None:
        if arguments["job"] == IMPORT:
            return {}, {}, "files"
        raise CommandError("Choose a source: --store DIR, --sandbox SLUG, --class DIR or --course SLUG.", returncode=1)
    if arguments["students"] is not None:
        directory = arguments["students"].resolve()
        name, sources = directory.name, sources_of_class(directory)
        if sources is None:
            raise CommandError(
                f"No sandbox in {directory}. manage.py simulate_class writes such a directory.", returncode=1
            )
    else:
        name = arguments["sandbox"] or ""
        sources = sources_of(name)
        if sources is None:
            raise CommandError(f"No sandbox {name} in {home}.", returncode=1)
    return *sources, name


def query_of(arguments: Arguments, name: str) -> dict[str, str]:
    """Return the options of the job `sql`: the query, and the last results it may name.  Raises CommandError."""
    if arguments["job"] != SQL:
        return {}
    try:
        return {"query": arguments["about"] or "", "results": json_bytes.dumps(directories_of(name)).decode()}
    except SandboxError as error:
        raise CommandError(str(error), returncode=1) from None


def sealed_by(arguments: Arguments, stores: dict[str, str]) -> dict[str, str]:
    """Return the directory of each store's sealed log files.  Raises CommandError."""
    if arguments["sealed"] is None:
        return sealed_of(stores)
    if arguments["store"] is None:
        raise CommandError("--sealed needs --store: sealed files of sandboxes are in the data home.", returncode=1)
    [name], directory = stores, arguments["sealed"].resolve()
    if directory == (root := Path(stores[name])) or root in directory.parents:
        raise CommandError(
            f"{directory} is in the store, and only its broker may write there. Choose another directory.", returncode=1
        )
    return {name: str(directory)}


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a number of rows, such as 0 or 20")
    return int(text)


def options_of(arguments: Arguments) -> dict[str, str]:
    """Return the options of the job.  Raises CommandError for an option that is not KEY=VALUE."""
    options = {}
    for text in arguments["option"]:
        key, equals, value = text.partition("=")
        if not equals:
            raise CommandError(f"{text} is not an option. Write KEY=VALUE.", returncode=1)
        options[key] = str(Path(value).resolve()) if key == "path" and value else value
    options |= {"follow": "true"} if arguments["follow"] else {}
    options |= {"append": "true"} if arguments["append"] else {}
    return options | ({"format": arguments["format"]} if arguments["format"] else {})
