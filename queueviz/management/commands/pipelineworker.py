"""`manage.py pipelineworker`: execute the runs requested on the pages in one Spark session."""

import argparse
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from queueviz.runs import directories
from queueviz.runs.directories import WORKER_FOLDER
from queueviz.runs.worker import Worker
from sandbox.pipeline.runs.launch import Child, Where


class Command(BaseCommand):
    help = (
        "Execute requested pipeline runs one by one. Spark starts with the first run and stops after ten idle "
        "minutes. `manage.py serve` starts this worker. A data home has one worker."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        engine = parser.add_mutually_exclusive_group()
        engine.add_argument("--master", help="Spark cluster, such as spark://host:7077 (default local[*])")
        engine.add_argument("--remote", help="Spark Connect server, such as sc://host:15002")
        parser.add_argument("--beside", type=int, metavar="PID", help="end when the parent process PID ends")

    def handle(self, *args: Any, master: str | None, remote: str | None, beside: int | None, **options: Any) -> None:
        directory = directories.home() / directories.FOLDER
        scratch = directory / WORKER_FOLDER
        worker = Worker(directory, opener(Where(master, remote), scratch))
        if not worker.begin():
            raise CommandError("Another worker runs in this data home.", returncode=1)
        shutil.rmtree(scratch, ignore_errors=True)
        stopped: list[int] = []
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda which, _: stopped.append(which))
        if beside is None:
            self.stdout.write("Waiting for runs. Ctrl+C ends the worker.")
        worker.run(lambda: bool(stopped) or (beside is not None and os.getppid() != beside))


def opener(where: Where, scratch: Path) -> Callable[[Path], Child]:
    """Return a function that starts Spark's process.  It takes the file for the process's output other than reports."""

    def open_child(words: Path) -> Child:
        with words.open("wb") as file:
            return Child(where, scratch, os.environ, errors=file, listens=where == Where())

    return open_child
