"""`manage.py makedocs`: write the reference pages that are generated from code."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand

from queueviz.fidelity import reference
from sandbox.tools import rooms_picture
from sandbox.tools.reference import pages


class Command(BaseCommand):
    help = "Write docs/events.md, actions.md, limits.md, codes.md, fidelity.md and images/rooms.svg from the code."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        made = {**pages(), reference.NAME: reference.page(root), rooms_picture.NAME: rooms_picture.picture(root)}
        for name, text in made.items():
            (root / "docs" / name).write_text(text, "utf-8")
            self.stdout.write(f"docs/{name}")
