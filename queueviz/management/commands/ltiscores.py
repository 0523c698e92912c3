"""`manage.py ltiscores`: send pending scores to their LMS once.  `manage.py serve` sends them continuously."""

from typing import Any

from django.core.management import BaseCommand
from django.utils import timezone

from queueviz.lti import scores


class Command(BaseCommand):
    help = "Send the due scores to their LMS once, and print how many arrived, are pending and failed."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        arrived = scores.turn()
        failed = scores.differing().filter(tries__gte=scores.MOST_TRIES).count()
        waiting = scores.differing().filter(tries__lt=scores.MOST_TRIES).count()
        self.stdout.write(
            f"{timezone.now():%Y-%m-%d %H:%M:%S} UTC: {arrived} arrived, {waiting} pending, {failed} failed"
        )
