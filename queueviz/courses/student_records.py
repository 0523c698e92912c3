"""Everything stored about a student, in all locations: the data that an export contains and a deletion removes."""

from collections.abc import Iterable
from typing import NamedTuple

from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import NestedObjects
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import DEFAULT_DB_ALIAS, models

from queueviz.access.digests import digest
from queueviz.access.policy import SEATS
from queueviz.access.visitor import SESSIONS
from queueviz.courses.models import Enrolment
from queueviz.models import AuditRecord, Sandbox

NAMED_AFTER_CHARS = 58  # of a sandbox's label: so many begin the name of what was made of it (`ownership`)


class Belongings(NamedTuple):
    """The data of one student.

    `sandboxes`: those of the student's labs, and all branches of them.  `named_after`: sandboxes of other owners
    made from a reproducible link of these.  They are not the student's, but their names are.
    """

    enrolment: Enrolment
    sandboxes: list[Sandbox]
    named_after: list[Sandbox]

    @property
    def slugs(self) -> list[str]:
        return [sandbox.slug for sandbox in self.sandboxes]

    def rows(self) -> list[models.Model]:
        """Return the enrolment and all rows that refer to it or to its sandboxes; audit records last."""
        nested = NestedObjects(DEFAULT_DB_ALIAS)
        nested.collect([self.enrolment])
        if self.sandboxes:
            nested.collect(self.sandboxes)
        below = [
            row
            for kind in sorted(nested.data, key=lambda kind: kind.__name__)
            for row in sorted(nested.data[kind], key=lambda row: row.pk or 0)
        ]
        return [*below, *self.audit(), *self.administered()]

    def audit(self) -> models.QuerySet[AuditRecord]:
        return AuditRecord.objects.filter(slug__in=self.slugs).order_by("pk")

    def administered(self) -> models.QuerySet[LogEntry]:
        """Return the records of the host's changes to these sandboxes in the admin."""
        return LogEntry.objects.filter(object_repr__in=self.slugs).order_by("pk")


def of(enrolment: Enrolment) -> Belongings:
    sandboxes = _with_branches(list(_own(enrolment)))
    known = {sandbox.pk for sandbox in sandboxes}
    labels = {sandbox.label[:NAMED_AFTER_CHARS] for sandbox in sandboxes if enrolment.pseudonym in sandbox.label}
    others = [
        row for label in sorted(labels) for row in Sandbox.objects.filter(name__startswith=label) if row.pk not in known
    ]
    return Belongings(enrolment, sandboxes, others)


def sessions_of(enrolments: Iterable[Enrolment]) -> list[tuple[AbstractBaseSession, dict[str, object]]]:
    """Return the sessions stored here that have one of these enrolments: row and content."""
    places = list(enrolments)
    if not places:
        return []
    digests = {enrolment.digest for enrolment in places}
    since = min(enrolment.joined_at for enrolment in places)  # a session that has a place was kept after that
    kept = SESSIONS.SessionStore.get_model_class().objects.filter(expire_date__gte=since)
    read = ((row, row.get_decoded()) for row in kept.iterator())
    return [
        (row, content)
        for row, content in read
        if any(digest(secret) in digests for secret in content.get(SEATS, {}).values())
    ]


def _own(enrolment: Enrolment) -> models.QuerySet[Sandbox]:
    """Return the sandboxes of the submissions, and a spare one that is left if two tabs began a lab at once."""
    begun = models.Q(submission__enrolment=enrolment)
    left = models.Q(grants__holder=enrolment.digest, grants__role="student", submission__isnull=True)
    return Sandbox.objects.filter(begun | left).distinct().order_by("pk")


def _with_branches(sandboxes: list[Sandbox]) -> list[Sandbox]:
    """Return the sandboxes with all their branches, also those of other owners.

    A branch has its parent's journal up to the event of the branch, so the student's answers are in it.
    """
    known = {sandbox.slug: sandbox for sandbox in sandboxes}
    newest = list(known)
    while newest:
        below = Sandbox.objects.filter(branch_of__in=newest, of_host=False).exclude(slug__in=list(known)).order_by("pk")
        known |= (branches := {sandbox.slug: sandbox for sandbox in below})
        newest = list(branches)
    return list(known.values())
