"""`manage.py bench WHAT`: measure; prints figures as a table or JSON."""

import argparse
import json
from importlib import import_module
from typing import Any

from django.core.management import BaseCommand, CommandError

BENCHES = ("append", "send", "tcp", "wire", "pull", "live", "fairness", "idle", "board", "recording", "seeks", "branch",
           "pipeline")
QUICK = ("wire", "pipeline", "seeks", "branch")


class Command(BaseCommand):
    """Each bench is a module of `tests.bench` with `run() -> dict`: figures by name, units at the end of the name."""

    help = ("Measure one part: append (the store), send and pull (the wire), tcp (the wire with sockets), wire "
            "(Apache's benchmark against our broker and Apache's; needs Java, Maven), live (event to browser frame), "
            "fairness (quiet sandboxes beside a flooded one), "
            "idle (a sandbox that is not watched), board (one reading), recording (its bytes), "
            "seeks (on the line of a replay, in Chromium), branch (at events of an hour), "
            "pipeline (a store in Spark, beside Parquet).")
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("bench", choices=BENCHES)
        parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
        parser.add_argument("--quick", action="store_true", help=f"of {', '.join(QUICK)}: less, for a first look")

    def handle(self, *args: Any, bench: str, **options: Any) -> None:
        try:
            module = import_module(f"tests.bench.{bench}")
        except ModuleNotFoundError as why:
            raise CommandError(f"The bench {bench} needs the development requirements: {why}.") from why
        figures = module.run(quick=True) if options["quick"] and bench in QUICK else module.run()
        if options["json"]:
            self.stdout.write(json.dumps(figures, default=str))
            return
        for name, value in flat(figures):
            self.stdout.write(f"{name:40} {value:,.1f}" if isinstance(value, float) else f"{name:40} {value}")


def flat(figures: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """`{"a": {"b": 1}}` → `[("a.b", 1)]`."""
    rows: list[tuple[str, Any]] = []
    for name, value in figures.items():
        rows += flat(value, f"{before}{name}.") if isinstance(value, dict) else [(f"{before}{name}", value)]
    return rows
