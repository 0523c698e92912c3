"""`manage.py ltikeys`: list the keys that sign messages to an LMS, or make a new one (docs/lti.md)."""

from datetime import timedelta
from typing import Any

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from queueviz import refusals
from sandbox.kernel.errors import ActionRefused

OVERLAP_DAYS = 7
MOST_DAYS = 365


class Command(BaseCommand):
    help = "List the keys that sign messages to an LMS, or make a new one."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        commands = parser.add_subparsers(dest="what", required=True)
        commands.add_parser("list", help="print each published key")
        rotate = commands.add_parser("rotate", help="sign with a new key; publish the old one for some days more")
        rotate.add_argument(
            "--overlap-days",
            type=int,
            default=OVERLAP_DAYS,
            metavar="N",
            help=f"days until the old key is no longer published; 0 for a key that leaked (default {OVERLAP_DAYS})",
        )

    def handle(self, *args: Any, what: str, overlap_days: int = 0, **options: Any) -> None:
        from queueviz.lti import keys  # its client takes long to import, in each command

        if not 0 <= overlap_days <= MOST_DAYS:
            raise CommandError(f"An overlap is 0 to {MOST_DAYS} days.")
        try:
            if what == "rotate":
                ends_at = keys.rotate(timedelta(days=overlap_days))
                self.stdout.write(f"A new key signs. The old one is published until {ends_at:%Y-%m-%d %H:%M} UTC.")
                return
            for kid, ends in keys.listed():
                self.stdout.write(f"{kid}  {f'published until {ends:%Y-%m-%d %H:%M} UTC' if ends else 'signs'}")
        except ActionRefused as error:
            body = refusals.describe(error)[1]
            raise CommandError(f"{body['error']} {body['hint']}") from error
