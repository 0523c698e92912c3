"""Outages: the time in which no server of this database was alive, given back to deadlines that were ahead.

A running server notes regularly that it is alive (`beat`).  A gap between two notes is an outage.  The note and the
moved deadlines are one transaction, so each gap counts once: for several servers, and after a start that failed.
"""

import math
from datetime import datetime, timedelta

from django.db.models import F
from django.utils import timezone

from queueviz.access.database_limits import one_at_a_time
from queueviz.courses import deadlines
from queueviz.courses.models import Course, Enrolment, Heartbeat

SHORTEST = timedelta(minutes=1)  # a shorter gap is a restart or a slow database
LONGEST = timedelta(days=7)  # a longer gap is a server that was put away, or a clock that was set


def beat(now: datetime | None = None) -> None:
    """Note that the server is alive.  After an outage, move the deadlines that were ahead when it began."""
    now = now or timezone.now()
    with one_at_a_time("heartbeat"):
        row, _ = Heartbeat.objects.get_or_create(pk=1, defaults={"alive_at": now})
        if now - row.alive_at >= SHORTEST:
            _give_back(row.alive_at, math.ceil(min(now - row.alive_at, LONGEST) / timedelta(minutes=1)))
        row.alive_at = now
        row.save()


def _give_back(began_at: datetime, minutes: int) -> None:
    """Move by whole minutes, as pages and forms show them."""
    late = Enrolment.objects.filter(time_factor__gt=1, course__due_at__lte=began_at, removed_at__isnull=True)
    for enrolment in late.select_related("course"):
        due_at = deadlines.due_of(enrolment)
        if due_at is not None and due_at > began_at:
            Enrolment.objects.filter(pk=enrolment.pk).update(moved_min=F("moved_min") + minutes)
    Course.objects.filter(due_at__gt=began_at).update(
        due_at=F("due_at") + timedelta(minutes=minutes), moved_min=F("moved_min") + minutes
    )
