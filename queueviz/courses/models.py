"""Database rows of courses, enrolments, and the sandbox of each lab of each student (catalogue 8)."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

NOTE_CHARS = 280  # about two sentences
DIGEST_LENGTH = 64  # SHA-256 in hex
CODE_LENGTH = 6
MOST_STUDENTS = 1_000
TIME_FACTORS = (1.0, 1.5, 2.0)


class Course(models.Model):
    """A course.  `code`: the code that students type to join; None: new students cannot join."""

    class Feedback(models.TextChoices):
        AT_ONCE = "at_once", _("at once")
        AT_END = "at_end", _("at the due date of the course")
        ON_RELEASE = "on_release", _("at the release of the results")

    class Where(models.TextChoices):
        BROWSER = "browser", _("in the students' browsers")
        SERVER = "server", _("on the server")
        BOTH = "both", _("in the browsers that can, else on the server")

    slug = models.CharField(max_length=64, unique=True)
    title = models.CharField(max_length=80)
    teacher = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="courses")
    code = models.CharField(max_length=CODE_LENGTH, unique=True, null=True, blank=True)
    most_students = models.PositiveSmallIntegerField(default=60)
    labs = models.JSONField(default=list)  # slugs, in their order
    where = models.CharField(max_length=8, choices=Where, default=Where.SERVER)  # brokers of labs begun from now on
    same_numbers = models.BooleanField(default=False)  # of all students in a lab that is begun from now on
    open_until = models.JSONField(default=dict, blank=True)  # lab → step; of those that are not in it all are open
    due_at = models.DateTimeField(null=True, blank=True)
    moved_min = models.PositiveIntegerField(default=0)  # in `due_at`: what outages added to the teacher's date
    feedback = models.CharField(max_length=12, choices=Feedback, default=Feedback.AT_ONCE)
    released_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.title


class Enrolment(models.Model):
    """A student's enrolment in a course.  `digest`: SHA-256 of the secret in browser sessions and the personal link.

    `name`: from the teacher's roster, shown only to the teacher; may be blank.
    """

    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="enrolments")
    pseudonym = models.CharField(max_length=32)
    name = models.CharField(max_length=80, blank=True)
    digest = models.CharField(max_length=DIGEST_LENGTH, unique=True)
    time_factor = models.FloatField(default=1.0)
    moved_min = models.PositiveIntegerField(default=0)  # outages in extra time, after the date of the course
    asks_since = models.DateTimeField(null=True, blank=True)  # a hand is up
    question = models.CharField(max_length=140, blank=True)
    note = models.CharField(max_length=NOTE_CHARS, blank=True, default="")  # the teacher's, for teachers
    seen_at = models.DateTimeField(null=True, blank=True)  # the student's page was there; to ten seconds
    joined_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["course", "pseudonym"], name="one_pseudonym_per_course")]

    def __str__(self) -> str:
        return self.pseudonym


class Submission(models.Model):
    """A student's work on one lab of a course: its sandbox, and its last known progress.

    The journal of the sandbox decides the grade.  These fields are for lists, also while the sandbox sleeps.
    """

    enrolment = models.ForeignKey(Enrolment, on_delete=models.CASCADE, related_name="submissions")
    lab = models.CharField(max_length=48)
    sandbox = models.OneToOneField("queueviz.Sandbox", null=True, on_delete=models.SET_NULL, related_name="submission")
    steps_met = models.PositiveSmallIntegerField(default=0)
    steps = models.PositiveSmallIntegerField()
    score = models.PositiveSmallIntegerField(default=0)
    begun_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["enrolment", "lab"], name="one_submission_per_lab")]

    def __str__(self) -> str:
        return f"{self.lab} of {self.enrolment_id}"


class Heartbeat(models.Model):
    """The last time at which a server of this database was alive: one row (`outages`)."""

    alive_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"alive at {self.alive_at:%Y-%m-%d %H:%M:%S}"
