"""`manage.py proofworker`: execute the waiting runs of students' browsers, one by one, with low priority."""

import argparse
import os
import signal
from typing import Any

from django.core.management import BaseCommand, CommandError

from queueviz.courses import proof_files, proof_requests, proofs
from queueviz.operations.lite_files import known_engines
from queueviz.runs.heartbeat import Heartbeat

NICENESS = 15  # behind the server, and behind runs that a visitor waits for


class Command(BaseCommand):
    help = (
        "Execute the waiting runs of labs in students' browsers, the highest priority first, and end when none is "
        "left. `manage.py serve` starts this command when a run waits. A data home has one at a time."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--beside", type=int, metavar="PID", help="end when the parent process PID ends")

    def handle(self, *args: Any, beside: int | None, **options: Any) -> None:
        heartbeat = Heartbeat(proof_files.home() / proof_files.FOLDER / ".worker")
        if not heartbeat.take():
            raise CommandError("Another process executes runs in this data home.", returncode=1)
        stopped: list[int] = []
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda which, _: stopped.append(which))
        os.nice(NICENESS)

        def is_over() -> bool:
            return bool(stopped) or (beside is not None and os.getppid() != beside)

        try:
            proof_requests.take_up()
            while not is_over() and (run := proof_requests.next_run()) is not None:
                proofs.prove(run, engines=known_engines(), is_over=is_over)
        finally:
            heartbeat.stop()
