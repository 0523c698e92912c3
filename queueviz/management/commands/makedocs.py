"""`manage.py makedocs`: write the reference pages that are made from code."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand

from sandbox.hosting.reference import pages


class Command(BaseCommand):
    help = "Write docs/events.md, docs/actions.md and docs/limits.md from the code."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        for name, text in pages().items():
            (Path(settings.BASE_DIR) / "docs" / name).write_text(text)
            self.stdout.write(f"docs/{name}")
