"""`manage.py ltiscores`: sends scores that wait for their LMS, once.  `manage.py serve` does so all the time."""

from typing import Any

from django.core.management import BaseCommand
from django.utils import timezone

from queueviz.lti import scores


class Command(BaseCommand):
    help = "Send the scores that wait for an LMS and are due, once, and say how many arrived and how many wait."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        arrived = scores.turn()
        failed = scores.differing().filter(tries__gte=scores.MOST_TRIES).count()
        waiting = scores.differing().filter(tries__lt=scores.MOST_TRIES).count()
        self.stdout.write(f"{timezone.now():%Y-%m-%d %H:%M:%S} UTC: {arrived} arrived, {waiting} wait, {failed} failed")
