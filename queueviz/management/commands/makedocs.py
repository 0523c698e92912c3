"""`manage.py makedocs`: write the reference pages that are made from code."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand

from queueviz.fidelity import reference
from sandbox.tools.reference import pages


class Command(BaseCommand):
    help = "Write docs/events.md, docs/actions.md, docs/limits.md, docs/codes.md and docs/fidelity.md from the code."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        for name, text in {**pages(), reference.NAME: reference.page(root)}.items():
            (root / "docs" / name).write_text(text, "utf-8")
            self.stdout.write(f"docs/{name}")
