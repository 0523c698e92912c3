"""`manage.py makedocs`: write the reference pages that are generated from code."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand

from queueviz.fidelity import reference
from sandbox.tools import rooms_picture
from sandbox.tools.reference import pages, write_pages


class Command(BaseCommand):
    help = "Write the pages of docs made from the code: events, actions, questions, limits, codes, fidelity, rooms."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        made = {**pages(), **reference.pages(root), rooms_picture.NAME: rooms_picture.picture(root)}
        for name in write_pages(made, root / "docs"):
            self.stdout.write(f"docs/{name}")
