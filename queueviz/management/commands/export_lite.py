"""`manage.py export_lite DIR`: Lite as one folder for any web server (docs/lite.md)."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser
from django.utils import translation

from queueviz.operations.lite_build import NotBuilt, build
from queueviz.operations.lite_export import NotExported, export
from queueviz.pages.lite import TEXTS


class Command(BaseCommand):
    help = "Write Lite, the sandbox in a reader's own browser, into a folder for any web server. Needs Node.js."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR", help="an empty folder, or an earlier export")

    def handle(self, *args: Any, **options: Any) -> None:
        site, out = Path(settings.BASE_DIR), options["folder"]
        try:
            built = build(site, Path(settings.QUEUEVIZ_HOME), quick=True)  # an export has no .br
            made = export(site, built.folder, out, {code: _texts(code) for code, _ in settings.LANGUAGES})
        except (NotBuilt, NotExported) as error:
            raise CommandError(str(error)) from None
        whole, first = made.total_bytes / 1e6, made.raw_bytes / 1e6
        self.stdout.write(f"{out}: {made.pages} pages, {whole:.1f} MB; at most {first:.1f} MB for a first run")


def _texts(language: str) -> dict[str, str]:
    with translation.override(language):
        return {name: str(text) for name, text in TEXTS.items()}
