"""Database rows of sandboxes, rights, clusters, runs and engine leases.

Messages, queues and offsets are in the engine's files (catalogue 8).
"""

import secrets

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from queueviz.clusters import cluster_fields as fields
from queueviz.courses.grade_models import Grade, Regrade
from queueviz.courses.lite_models import LiteEntry, LiteRun
from queueviz.courses.models import Course, Enrolment, Heartbeat, Submission
from queueviz.courses.polls import Poll, Vote
from queueviz.lti.models import LtiContext, LtiInvitation, LtiKey, LtiLaunch, LtiPlatform, LtiScore, LtiSeat
from queueviz.slugs import attached_slug, root_of

__all__ = [
    "AuditRecord",
    "Cluster",
    "Course",
    "EngineLease",
    "Enrolment",
    "Grade",
    "Grant",
    "Heartbeat",
    "LiteEntry",
    "LiteRun",
    "LtiContext",
    "LtiInvitation",
    "LtiKey",
    "LtiLaunch",
    "LtiPlatform",
    "LtiScore",
    "LtiSeat",
    "PipelineRun",
    "Poll",
    "Regrade",
    "Sandbox",
    "SandboxPlace",
    "Submission",
    "UndoPoint",
    "Vote",
]

SLUG_LENGTH = 64
DIGEST_LENGTH = 64  # SHA-256 in hex


class Sandbox(models.Model):
    """A sandbox's address, name and owner.  The engine holds its state."""

    class Visibility(models.TextChoices):
        LINK = "link", "whoever has the address may watch"
        PRIVATE = "private", "owner and editors only"

    slug = models.CharField(max_length=SLUG_LENGTH, unique=True)
    name = models.CharField(max_length=80)
    template = models.CharField(max_length=32)
    preset = models.CharField(max_length=32, default="sandbox")
    seed = models.BigIntegerField(null=True, blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    visibility = models.CharField(max_length=8, choices=Visibility, default=Visibility.LINK)
    branch_of = models.CharField(max_length=SLUG_LENGTH, blank=True, default="")  # slug of its parent
    branch_at = models.BigIntegerField(null=True, blank=True)  # up to which of its events
    course = models.ForeignKey(Course, null=True, blank=True, on_delete=models.CASCADE, related_name="sandboxes")
    of_host = models.BooleanField(default=False)  # the demo: everyone may watch, no one owns it
    created_at = models.DateTimeField(auto_now_add=True)
    visited_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "sandboxes"

    def __str__(self) -> str:
        return self.slug

    @property
    def label(self) -> str:
        """The sandbox's name on pages."""
        return self.name or self.slug


class Grant(models.Model):
    """A right to a sandbox, given to a browser, a program, an account, or the first visitor who opens a link.

    Secrets are stored as SHA-256 only: the secret of a token or link in `digest`, that of a browser in `holder`.
    """

    class Kind(models.TextChoices):
        TOKEN = "token", "API token"
        CLAIM = "claim", "claim link"
        SHARE = "share", "share link"
        LIVE = "live", "live link"
        FORK = "fork", "fork link"
        EDITOR = "editor", "account"
        SESSION = "session", "browser without account"

    LINKS = (Kind.SHARE, Kind.LIVE, Kind.FORK)
    TO_SANDBOX = (Kind.LIVE, Kind.FORK)  # links that end when the sandbox is made private

    sandbox = models.ForeignKey(Sandbox, on_delete=models.CASCADE, related_name="grants")
    kind = models.CharField(max_length=8, choices=Kind)
    role = models.CharField(max_length=16)
    digest = models.CharField(max_length=DIGEST_LENGTH, unique=True, null=True, blank=True)
    holder = models.CharField(max_length=DIGEST_LENGTH, blank=True, db_index=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE)
    label = models.CharField(max_length=80, blank=True)
    shows = models.JSONField(default=dict, blank=True)  # share link: `share_links.Shown`; fork link: its event
    used_at = models.DateTimeField(null=True, blank=True)  # of a link, to the minute
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.kind} of {self.sandbox_id}"


class Cluster(models.Model):
    """A real RocketMQ cluster with pages at `/k/<name>/`: its addresses, viewers and operators.

    Operators may reset offsets.  Everything else is read from the cluster.  Its ACL secret is never stored, only the
    name of the environment variable that holds it.
    """

    class Audience(models.TextChoices):
        EVERYONE = "everyone", _("everyone")
        SIGNED_IN = "signed-in", _("signed-in accounts")
        NAMED = "named", _("named accounts only")

    name = models.CharField(
        _("name"),
        max_length=48,
        unique=True,
        validators=[fields.name_is_an_address],
        help_text=_("The address of the cluster's pages: /k/<name>/. The name cannot be changed later."),
    )
    title = models.CharField(_("title"), max_length=80, blank=True, help_text=_("The name shown on pages."))
    name_servers = models.TextField(
        _("name servers"),
        max_length=600,
        validators=[fields.are_addresses],
        help_text=_("host:port, separated by semicolons, or one per line."),
    )
    tls = models.BooleanField(_("TLS"), default=False, help_text=_("Use TLS with name servers and brokers."))
    access_key = models.CharField(
        _("access key"), max_length=64, blank=True, help_text=_("For ACL 4.x, if the cluster uses it.")
    )
    secret_variable = models.CharField(
        _("secret key variable"),
        max_length=64,
        blank=True,
        validators=[fields.names_a_variable],
        help_text=_("The environment variable that holds the secret key, for example QUEUEVIZ_ACL_PROD."),
    )
    audience = models.CharField(_("who can view"), max_length=12, choices=Audience, default=Audience.NAMED)
    viewers = models.ManyToManyField(
        settings.AUTH_USER_MODEL, blank=True, related_name="+", verbose_name=_("named accounts")
    )
    operators = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="+",
        verbose_name=_("operators"),
        help_text=_("Operators can view the cluster, and reset its offsets."),
    )
    created_at = models.DateTimeField(auto_now_add=True)

    of_host = False
    expires_at = None  # it lives elsewhere

    class Meta:
        ordering = ("name",)
        verbose_name = _("attached cluster")
        verbose_name_plural = _("attached clusters")

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Check that key and secret variable are set together, and that the variable is set in this process.

        Later errors would be unclear.
        """
        if bool(self.access_key) != bool(self.secret_variable):
            missing = "secret_variable" if self.access_key else "access_key"
            raise ValidationError({missing: _("Set the access key and its secret key variable together.")})
        if self.secret_variable and fields.secret_of(self.secret_variable) is None:
            raise ValidationError({"secret_variable": _("This server was started without this variable.")})

    @property
    def slug(self) -> str:
        """The cluster's name in the engine, in channels and in the audit."""
        return attached_slug(self.name)

    @property
    def label(self) -> str:
        return self.title or self.name

    def get_absolute_url(self) -> str:
        return root_of(self.slug)

    @property
    def addresses(self) -> tuple[str, ...]:
        return fields.addresses_in(self.name_servers)


class UndoPoint(models.Model):
    """A group's stored offsets on a topic before a reset on an attached cluster (`queueviz.clusters.reset_undo`)."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="undo_points")
    reset_id = models.CharField(max_length=64)
    group = models.CharField(max_length=255)
    topic = models.CharField(max_length=255)
    at = models.DateTimeField(auto_now_add=True)
    who = models.CharField(max_length=80)  # as in the audit
    before = models.JSONField()  # queue (`broker-a:3`) → offset, or null where none was stored
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "reset_id"], name="one_undo_point_per_reset")]

    def __str__(self) -> str:
        return f"{self.group} before {self.reset_id}"


def new_run() -> str:
    """Return a new run id, used in its order, in its result's manifest and in addresses."""
    return secrets.token_hex(6)


class PipelineRun(models.Model):
    """One run of a pipeline job on one sandbox or all sandboxes of a course.

    Requested on a page, executed by `manage.py pipelineworker`.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("waiting")
        RUNNING = "running", _("executing")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    run = models.CharField(max_length=16, unique=True, default=new_run)
    sandbox = models.ForeignKey(Sandbox, null=True, blank=True, on_delete=models.CASCADE, related_name="runs")
    course = models.ForeignKey("queueviz.Course", null=True, blank=True, on_delete=models.CASCADE, related_name="runs")
    job = models.CharField(max_length=32)
    options = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    stage = models.IntegerField(null=True, blank=True)  # Spark's number of it; None: Spark is only starting
    tasks_done = models.IntegerField(default=0)  # of that stage
    tasks = models.IntegerField(default=0)
    cancel_asked = models.BooleanField(default=False)
    why = models.TextField(blank=True)  # it failed or was cancelled: a sentence, ours with its values beside it
    why_values = models.JSONField(default=dict, blank=True)
    tables = models.JSONField(default=dict, blank=True)  # rows by table
    true_to = models.BigIntegerField(null=True, blank=True)  # the last journal entry it read
    who = models.CharField(max_length=80)  # as in the audit
    visitor = models.CharField(max_length=DIGEST_LENGTH)  # keyed hash of the requesting visitor, for the limit
    asked_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        indexes = [models.Index(fields=["state"])]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(sandbox__isnull=False, course__isnull=True)
                | models.Q(sandbox__isnull=True, course__isnull=False),
                name="run_of_a_sandbox_or_a_course",
            )
        ]

    def __str__(self) -> str:
        return f"{self.job} {self.run}"

    @property
    def is_over(self) -> bool:
        return self.state not in (self.State.QUEUED, self.State.RUNNING)


class EngineLease(models.Model):
    """One of several engines, with the time until which it may write (`queueviz.engines.lease_rows`)."""

    engine = models.CharField(max_length=64, unique=True)  # id of one incarnation
    name = models.CharField(max_length=80, db_index=True)
    host = models.CharField(max_length=255)
    is_draining = models.BooleanField(default=False)
    expires_at = models.DateTimeField()  # by the database's clock
    awake = models.IntegerField(default=0)  # sandboxes; this and the next two as it last reported them
    cap = models.IntegerField(default=0)  # 0: it was too busy to count them
    frame_age_ms = models.IntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.name} {self.engine}"


class SandboxPlace(models.Model):
    """The engine that owns a sandbox.

    Each change of engine makes a new row.  Its primary key is never reused and serves as the fencing token.
    """

    slug = models.CharField(max_length=SLUG_LENGTH, unique=True)
    engine = models.CharField(max_length=64, blank=True, default="", db_index=True)  # none: it was given back
    is_clean = models.BooleanField(default=True)  # what the claim gave; of one given back, what the next one gives

    def __str__(self) -> str:
        return f"{self.slug} {self.pk}"


class AuditRecord(models.Model):
    """A record of a change to a sandbox from outside the engine; it outlives the sandbox."""

    at = models.DateTimeField(auto_now_add=True)
    slug = models.CharField(max_length=SLUG_LENGTH, db_index=True)
    what = models.CharField(max_length=32)
    who = models.CharField(max_length=80)  # a role or an account, never a person's address
    origin = models.CharField(max_length=DIGEST_LENGTH, blank=True)  # keyed hash of address, course: `creation_limits`
    visitor = models.CharField(max_length=DIGEST_LENGTH, blank=True)  # keyed hash of the visitor's session or token
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        indexes = [models.Index(fields=["what", "origin", "at"]), models.Index(fields=["what", "visitor", "at"])]

    def __str__(self) -> str:
        return f"{self.what} {self.slug}"
