"""`manage.py replay DIR`: re-execute the actions of a sandbox and compare the new journal with the recorded one."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from sandbox.kernel.engine_version import ENGINE
from sandbox.kernel.errors import SandboxError
from sandbox.simulation.replay import Replayed, replay


class Command(BaseCommand):
    help = "Re-execute the actions of a recorded sandbox and compare the journals byte by byte."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("directory", type=Path, help="directory of the sandbox: QUEUEVIZ_HOME/sandboxes/<slug>")
        parser.add_argument("--until", type=int, metavar="N", help="only up to event N")
        parser.add_argument("--check", action="store_true", help="exit with 1 also if no event could be compared")
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of sentences")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            replayed = replay(options["directory"].resolve(), until=options["until"])
        except (SandboxError, OSError) as error:
            raise CommandError(f"The sandbox cannot be re-executed: {error}") from error
        self.stdout.write(json.dumps(replayed.row()) if options["json"] else "\n".join(_sentences(replayed)))
        if replayed.first_difference is not None or (options["check"] and not replayed.events):
            sys.exit(1)


def _sentences(replayed: Replayed) -> list[str]:
    sentences = [stretch.sentence() for stretch in replayed.stretches]
    sentences.append(f"{replayed.events} events are equal, at {replayed.speed:.0f} times real time")
    if (first := replayed.first_difference) is not None:
        sentences += [
            f"event {first.seq} differs:",
            f"  recorded {json.dumps(first.recorded)}",
            f"  executed {json.dumps(first.again)}",
        ]
        if replayed.engine != ENGINE:
            sentences.append(f"Release {replayed.engine} recorded the sandbox; this is release {ENGINE}.")
    return sentences
