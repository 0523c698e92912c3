"""Database rows of platforms, linked courses, learners' seats, and the scores to send.

Rows about a learner are `LtiSeat`, `LtiScore`, and for an hour `LtiLaunch`; all are deleted with the Enrolment.
"""

from django.conf import settings
from django.db import models
from django.utils import timezone

from queueviz.courses.models import DIGEST_LENGTH, Course, Enrolment

ID_CHARS = 255  # of issuers, clients, deployments and contexts, as the specification has it
ADDRESS_CHARS = 500
NAME_CHARS = 80


class LtiKey(models.Model):
    """A private key of this server, sealed with its secret.  The newest signs, all public keys are published.

    `ends_at`: until when it is published; None: it is not replaced yet.
    """

    sealed = models.TextField()
    made_at = models.DateTimeField(auto_now_add=True)
    ends_at = models.DateTimeField(null=True, blank=True)


class LtiPlatform(models.Model):
    """An LMS that registered itself, or that an administrator entered.

    `hosts`: hosts of its services besides those of the endpoints; requests go to no other.  `deployments`: their ids.
    """

    name = models.CharField(max_length=NAME_CHARS)
    issuer = models.CharField(max_length=ID_CHARS)
    client_id = models.CharField(max_length=ID_CHARS)
    auth_url = models.CharField(max_length=ADDRESS_CHARS)
    token_url = models.CharField(max_length=ADDRESS_CHARS)
    key_set_url = models.CharField(max_length=ADDRESS_CHARS)
    audience = models.CharField(max_length=ADDRESS_CHARS, blank=True)  # of token requests, where it is not `token_url`
    deployments = models.JSONField(default=list)
    hosts = models.JSONField(default=list, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="lti_platforms"
    )
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["issuer", "client_id"], name="one_client_per_issuer")]

    def __str__(self) -> str:
        return self.name


class LtiInvitation(models.Model):
    """A link with which one platform registers itself, once.  `digest`: SHA-256 of its secret."""

    digest = models.CharField(max_length=DIGEST_LENGTH, unique=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="lti_invitations")
    made_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)


class LtiContext(models.Model):
    """A course of a platform, linked to a course here by its teacher."""

    platform = models.ForeignKey(LtiPlatform, on_delete=models.CASCADE, related_name="contexts")
    deployment = models.CharField(max_length=ID_CHARS)
    context = models.CharField(max_length=ID_CHARS)
    title = models.CharField(max_length=NAME_CHARS, blank=True)
    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="lti_contexts")
    memberships_url = models.CharField(max_length=ADDRESS_CHARS, blank=True)  # of its roster; blank: not offered
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["platform", "deployment", "context"], name="one_link_per_context")
        ]

    def __str__(self) -> str:
        return self.title or self.context


class LtiSeat(models.Model):
    """The enrolment of a platform's learner.

    `user_digest`: a keyed digest of the platform's id of this learner, another one in each course.  `user_sealed`:
    that id, to which scores are addressed, sealed with the server's secret; blank until a launch brings a line item.
    """

    platform = models.ForeignKey(LtiPlatform, on_delete=models.CASCADE, related_name="seats")
    enrolment = models.OneToOneField(Enrolment, on_delete=models.CASCADE, related_name="lti_seat")
    user_digest = models.CharField(max_length=DIGEST_LENGTH, unique=True)
    user_sealed = models.TextField(blank=True)
    made_at = models.DateTimeField(auto_now_add=True)


class LtiScore(models.Model):
    """A line item that gets a learner's score in one lab.

    Rows that differ from the Submission are the queue of scores to send.  `due_at`: the earliest time of the next
    try.  `why`: a code of `scores.WHY` if the last try failed, with the HTTP `status` if any.
    """

    seat = models.ForeignKey(LtiSeat, on_delete=models.CASCADE, related_name="scores")
    lab = models.CharField(max_length=48)
    line_item = models.CharField(max_length=ADDRESS_CHARS)
    sent_score = models.PositiveSmallIntegerField(null=True, blank=True)
    sent_finished = models.BooleanField(default=False)
    sent_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(default=timezone.now)
    why = models.CharField(max_length=16, blank=True)
    status = models.PositiveSmallIntegerField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["seat", "lab", "line_item"], name="one_score_per_line_item")]


class LtiLaunch(models.Model):
    """A valid launch, whose nonce is used.  Deleted after an hour (`launches.KEPT`).

    `state_digest`: digest of the secret in the browser's address and cookie.  `claims`: only of an instructor's
    launch, without data of a person.
    """

    class Kind(models.TextChoices):
        LEARNER = "learner"
        INSTRUCTOR = "instructor"
        DEEP_LINK = "deep_link"

    nonce_digest = models.CharField(max_length=DIGEST_LENGTH, unique=True)
    state_digest = models.CharField(max_length=DIGEST_LENGTH, unique=True)
    platform = models.ForeignKey(LtiPlatform, on_delete=models.CASCADE, related_name="launches")
    kind = models.CharField(max_length=10, choices=Kind)
    seat = models.ForeignKey(LtiSeat, null=True, on_delete=models.CASCADE, related_name="launches")
    lab = models.CharField(max_length=48, blank=True)
    claims = models.JSONField(default=dict)
    made_at = models.DateTimeField(auto_now_add=True)
    entered_at = models.DateTimeField(null=True)
