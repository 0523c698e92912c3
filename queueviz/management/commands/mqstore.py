"""`manage.py mqstore WHAT DIRECTORY`: read a store of QueueViz or Apache without changing it."""

import os
import sys
from typing import Any

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from sandbox.kernel.errors import StoreError
from sandbox.tools import mqstore


class Command(BaseCommand):
    help = "Show or verify a store directory: summary, queues, messages, index, verify."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        mqstore.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            code = mqstore.run(mqstore.options_of(options), self.stdout.write)
            self.stdout.flush()
        except StoreError as error:
            raise CommandError(str(error), returncode=1) from error
        except BrokenPipeError:  # the reader has seen enough (`| head`)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        if code:
            sys.exit(code)
