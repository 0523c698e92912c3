"""`manage.py build_lite`: make the files with which a browser runs a sandbox itself (docs/lite.md)."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser

from queueviz.operations.lite_build import NotBuilt, build


class Command(BaseCommand):
    help = "Make the files of Lite, the sandbox in a reader's own browser. Needs Node.js (script/setup node)."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--quick", action="store_true", help="Compress less: 10 s instead of a minute.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            built = build(Path(settings.BASE_DIR), Path(settings.QUEUEVIZ_HOME), quick=options["quick"])
        except NotBuilt as error:
            raise CommandError(str(error)) from None
        state = "made" if built.made else "up to date"
        self.stdout.write(f"{built.folder}: {built.total_bytes / 1e6:.1f} MB to transfer, {state}")
