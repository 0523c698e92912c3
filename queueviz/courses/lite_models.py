"""Database rows of the labs whose engine runs in the student's browser: the run's beginning, and its outside events."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from queueviz.courses.models import DIGEST_LENGTH, Submission


class LiteRun(models.Model):
    """The run of a submission in the student's browser.

    `seed`, `wall_ms`, `memory_bytes`, `first_port`, `conditions`: as of `RunOrder`.  `engine`: digest of the files
    with which it began.  `length`: number of its entries; `receipt`: of the newest one, empty without any.  `at_ms`:
    the newest known time of the sandbox's clock.  `hold`: the teacher's, as `teacher_hold.TeacherHold` keeps it;
    `intervened`: a teacher has acted in it.  `odd`: what the browser sent that no honest page sends, by kind
    (`browsers.run_state`).
    """

    class Proof(models.TextChoices):
        NONE = "none", _("not executed")
        WAITS = "waits", _("waiting")
        RUNS = "runs", _("being executed")
        EQUAL = "equal", _("proven")
        DIFFERS = "differs", _("differs")
        FAILED = "failed", _("could not be executed")

    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, related_name="lite_run")
    seed = models.CharField(max_length=32)
    wall_ms = models.BigIntegerField()
    memory_bytes = models.BigIntegerField()
    first_port = models.PositiveIntegerField()
    conditions = models.CharField(max_length=DIGEST_LENGTH)
    engine = models.CharField(max_length=DIGEST_LENGTH)
    began_at = models.DateTimeField(auto_now_add=True)
    length = models.PositiveIntegerField(default=0)
    receipt = models.CharField(max_length=DIGEST_LENGTH, blank=True, default="")
    at_ms = models.BigIntegerField()
    hold = models.JSONField(null=True, blank=True)
    intervened = models.BooleanField(default=False)
    odd = models.JSONField(default=dict, blank=True)
    row = models.JSONField(null=True, blank=True)  # the lab as the browser says it is, a `LabRow`

    proof = models.CharField(max_length=8, choices=Proof, default=Proof.NONE)
    priority = models.SmallIntegerField(default=0)  # of its execution; the highest is next
    asked_at = models.DateTimeField(null=True, blank=True)  # its execution was requested
    proven_at = models.DateTimeField(null=True, blank=True)
    proven_length = models.PositiveIntegerField(default=0)  # entries that were executed
    proof_ms = models.PositiveIntegerField(default=0)  # processor time of the execution
    differences = models.JSONField(default=list, blank=True)  # what the execution contradicts (`proofs.Difference`)

    def __str__(self) -> str:
        return f"run of {self.submission_id}"


class LiteEntry(models.Model):
    """One outside event of a run, in the order in which it came: an action, or a limit that refused one.

    `turn`, `ms`, `name`, `fields`, `by`: as of `Came`.  `at_ms`: time of the sandbox's clock, as the browser says.
    `receipt`: SHA-256 in hex of the receipt before it and of this entry, so that no entry changes later.
    """

    run = models.ForeignKey(LiteRun, on_delete=models.CASCADE, related_name="entries")
    n = models.PositiveIntegerField()  # from 1
    turn = models.BigIntegerField()
    ms = models.BigIntegerField()
    at_ms = models.BigIntegerField()
    name = models.CharField(max_length=48, null=True)
    fields = models.JSONField()
    by = models.CharField(max_length=120)
    arrived_at = models.DateTimeField()
    receipt = models.CharField(max_length=DIGEST_LENGTH)

    class Meta:
        ordering = ("n",)
        constraints = [models.UniqueConstraint(fields=["run", "n"], name="one_entry_per_number")]

    def __str__(self) -> str:
        return f"{self.n} of {self.run_id}"
