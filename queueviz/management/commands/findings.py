"""`manage.py findings --name-server HOST:PORT`: what is wrong in a real cluster, and why (docs/findings.md)."""

import argparse
import asyncio
import json
import sys
from datetime import UTC, datetime
from typing import Any, TypedDict, cast

from django.core.management import BaseCommand, CommandError

from sandbox.attached.cluster import AttachedCluster
from sandbox.attached.settings import PREFIX, AttachedSettings, checked
from sandbox.attached.tcp_wire import tcp_wire
from sandbox.control.limits import AttachedLimits
from sandbox.findings.english import figure_lines
from sandbox.kernel.clock import ScaledClock, wall_ms
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.findings import FindingRow, Findings

SECONDS = 60.0  # most findings have to hold for 20 s, and a rate needs 10 s
NAME = "command"
SHORT_ROWS = 4  # of a table that is printed, too; `--json` has all
ERROR = "error"


class Options(TypedDict):
    """The options of the command, by their names."""

    name_server: list[str]
    access_key: str | None
    secret_key: str | None
    tls: bool
    seconds: float
    json: bool


class Command(BaseCommand):
    """Prints the findings that are open after some time of looking.  Exit status 1: an error is among them."""

    help = "Look at a real cluster, read-only, and print what is wrong, and why; exit status 1 if there is an error."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--name-server",
            action="append",
            required=True,
            metavar="HOST:PORT",
            help="address of a name server; repeat the option for several",
        )
        parser.add_argument("--access-key", help="with --secret-key: sign requests (ACL)")
        parser.add_argument("--secret-key")
        parser.add_argument("--tls", action="store_true", help="connect with TLS")
        parser.add_argument(
            "--seconds", type=float, default=SECONDS, help="time to look before the answer (default %(default)s)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of sentences")

    def handle(self, *args: Any, **named: Any) -> None:
        options = cast(Options, named)
        settings = AttachedSettings(
            tuple(options["name_server"]), options["access_key"], options["secret_key"], options["tls"]
        )
        try:
            checked(settings)
        except ActionRefused as refused:
            raise CommandError(str(refused)) from refused
        if options["seconds"] < 1:
            raise CommandError("--seconds must be at least 1.")
        trouble, findings = asyncio.run(_look(settings, options["seconds"]))
        if options["json"]:
            self.stdout.write(json.dumps({**findings, "trouble": trouble}))
        else:
            self._print(trouble, findings)
        if trouble is not None or any(row["severity"] == ERROR for row in findings["findings"]):
            sys.exit(1)

    def _print(self, trouble: str | None, findings: Findings) -> None:
        for row in findings["findings"]:
            self.stdout.write(_line(row))
            if row["why"] is not None and len(row["why"]["rows"]) <= SHORT_ROWS:
                for line in filter(None, figure_lines(row["why"])):
                    self.stdout.write(f"        {line}")
        if trouble is not None:  # nothing was checked, so no check holds
            self.stdout.write(trouble)
            return
        unknown = [check for check in findings["checks"] if check["known"] < check["all"]]
        hold = len(findings["checks"]) - len(unknown)
        self.stdout.write(
            f"Groups: {findings['groups']}, topics: {findings['topics']}, brokers: {findings['brokers']}. "
            f"Findings: {len(findings['findings'])}. Checks that hold: {hold}; unknown for some: {len(unknown)}."
        )


def _line(row: FindingRow) -> str:
    since = datetime.fromtimestamp(row["since_ms"] / 1000, UTC)
    indent = "  because of it: " if row["because_of"] else ""
    subject = " · ".join(dict.fromkeys(part for part in (row["group"], row["topic"], row["subject"]) if part))
    return f"{indent}{row['severity']:7} {row['code']} [{subject}] since {since:%H:%M:%S} UTC: {row['text']}"


async def _look(settings: AttachedSettings, seconds: float) -> tuple[str | None, Findings]:
    """Return why no node answers, or None, and the findings after some time."""
    clock = ScaledClock(asyncio.get_running_loop(), start_ms=wall_ms())
    cluster = AttachedCluster(PREFIX + NAME, settings, clock, AttachedLimits(), tcp_wire)
    await cluster.connect()
    try:
        await clock.sleep(seconds)
        row, findings = cluster.row(), cluster.findings.read()
    finally:
        await cluster.close()
    return (row["trouble"] if row["state"] == "unreachable" else None), findings
