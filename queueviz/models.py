"""Who owns what.  No message, queue or offset lives here: those are the engine's (catalogue 8)."""

from django.conf import settings
from django.db import models

SLUG_LENGTH = 64
DIGEST_LENGTH = 64  # SHA-256 in hex


class Sandbox(models.Model):
    """One sandbox: its address, its name and its owner.  Its state is the engine's to tell."""

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
    of_host = models.BooleanField(default=False)  # the landing's: everybody watches, nobody owns
    created_at = models.DateTimeField(auto_now_add=True)
    visited_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "sandboxes"

    def __str__(self) -> str:
        return self.slug

    @property
    def label(self) -> str:
        """What pages call it."""
        return self.name or self.slug


class Grant(models.Model):
    """A right given away: an API token, a claim link, an editor.  Secrets are stored as SHA-256 only."""

    class Kind(models.TextChoices):
        TOKEN = "token", "API token"
        CLAIM = "claim", "claim link"
        SHARE = "share", "share link"
        EDITOR = "editor", "account"

    sandbox = models.ForeignKey(Sandbox, on_delete=models.CASCADE, related_name="grants")
    kind = models.CharField(max_length=8, choices=Kind)
    role = models.CharField(max_length=16)
    digest = models.CharField(max_length=DIGEST_LENGTH, unique=True, null=True, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE)
    label = models.CharField(max_length=80, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.kind} of {self.sandbox_id}"


class AuditRecord(models.Model):
    """What was done to sandboxes from outside the engine; outlives the sandbox."""

    at = models.DateTimeField(auto_now_add=True)
    slug = models.CharField(max_length=SLUG_LENGTH, db_index=True)
    what = models.CharField(max_length=32)
    who = models.CharField(max_length=80)  # a role or an account, never a person's address
    origin = models.CharField(max_length=DIGEST_LENGTH, blank=True)  # keyed hash of the address, for limits
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        indexes = [models.Index(fields=["what", "origin", "at"])]

    def __str__(self) -> str:
        return f"{self.what} {self.slug}"
