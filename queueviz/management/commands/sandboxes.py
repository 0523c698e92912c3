"""`manage.py sandboxes list|stretches|wake|sleep|branch`: list sandboxes and the reproducible ranges of a run.

It also opens, stops or branches a sandbox through the API.
"""

import argparse
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.db import DatabaseError

from queueviz import engine
from queueviz.access.policy import every_sandbox
from queueviz.operations import environment
from queueviz.operations.remote_sandbox import RemoteRefused, RemoteSandbox
from sandbox.hosting.repeatable_ranges import line_of


class Command(BaseCommand):
    help = "List the sandboxes of this data home, or open, stop or branch one on a running server."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="command", required=True, metavar="list|stretches|wake|sleep|branch")
        commands.add_parser("list", help="list address, template, owner and dates of every sandbox")
        stretches = commands.add_parser(
            "stretches", help="list the parts of a journal and which of them can be re-executed"
        )
        stretches.add_argument("slug")
        for name, what in (
            ("wake", "open the sandbox, as a visit does"),
            ("sleep", "stop the sandbox cleanly until the next visit"),
            ("branch", "create a sandbox that repeats the run up to an event"),
        ):
            command = commands.add_parser(name, help=what)
            command.add_argument("slug")
            if name == "branch":
                command.add_argument("at", type=int, help="number of the event")
            command.add_argument(
                "--url", default="http://127.0.0.1:8000", help="server of the sandbox (default %(default)s)"
            )
            command.add_argument(
                "--token",
                default=environment.text("QUEUEVIZ_TOKEN"),
                help="API token of the sandbox, qv_… (default: the variable QUEUEVIZ_TOKEN)",
            )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["command"] == "list":
            self._list()
            return
        if options["command"] == "stretches":
            self._stretches(options["slug"])
            return
        sandbox = RemoteSandbox(options["url"], options["slug"], options["token"])
        try:
            if options["command"] == "branch":
                self.stdout.write("{url}\n{token}".format(**sandbox.branch(options["at"])))
                return
            (sandbox.wake if options["command"] == "wake" else sandbox.sleep)()
        except RemoteRefused as refused:
            raise CommandError(str(refused)) from refused
        finally:
            sandbox.close()
        self.stdout.write(f"{options['slug']} is {'awake' if options['command'] == 'wake' else 'asleep'}.")

    def _stretches(self, slug: str) -> None:
        stretches = line_of(engine.directory_of(slug)).stretches
        if not stretches:
            raise CommandError(f"{settings.QUEUEVIZ_HOME} has no journal of a sandbox {slug}.")
        for stretch in stretches:
            self.stdout.write(stretch.sentence())

    def _list(self) -> None:
        try:
            rows = every_sandbox()
        except DatabaseError as error:
            raise CommandError(
                f"The database cannot be read ({error}). Start the server once: it creates the tables."
            ) from error
        for row in rows:
            owner = "host" if row.of_host else str(row.owner or "anonymous")
            until = f"until {row.expires_at:%Y-%m-%d %H:%M}" if row.expires_at else "kept"
            visited = f"visited {row.visited_at:%Y-%m-%d %H:%M}"
            self.stdout.write(f"{row.slug:32} {row.template:10} {owner:16} {visited} {until}")
