"""`manage.py makedocs`: write the reference pages that are generated from code, and the list of events."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand

from queueviz.fidelity import reference
from sandbox.journal.schema import describe
from sandbox.tools import rooms_picture
from sandbox.tools.reference import pages, write_pages

EVENTS = "tests/golden/events.json"  # the fields of each event, as journals have them


class Command(BaseCommand):
    help = "Write the pages of docs made from the code: events, actions, questions, limits, codes, fidelity, rooms."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        made = {**pages(), **reference.pages(root), rooms_picture.NAME: rooms_picture.picture(root)}
        for name in write_pages(made, root / "docs"):
            self.stdout.write(f"docs/{name}")
        if add_events(root / EVENTS):
            self.stdout.write(EVENTS)


def add_events(path: Path) -> bool:
    """Add the new events to the list.  Return True if there are any; an event that is listed stays as it is."""
    stored = json.loads(path.read_text("utf-8"))
    listed = {**describe(), **stored}
    if listed == stored:
        return False
    path.write_text(json.dumps(listed, indent=1) + "\n", "utf-8")
    return True
