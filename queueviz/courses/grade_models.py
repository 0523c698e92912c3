"""Database rows of each submission's grade, and of a course's regrades."""

from django.db import models

from queueviz.courses.models import Course, Submission


class Grade(models.Model):
    """The grade of a submission's best attempt: as graded live, or as a published regrade computed it.

    `steps`: the steps met, each with `step`, `at_ms`, `given`, `truth`, `accurate`, `hints`.  `receipts`: the
    server's receipts for each answer, by number of the attempt, with `step`, `part`, `seq`, `digest`.
    """

    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, related_name="grade")
    attempt = models.PositiveIntegerField(default=1)
    exam = models.BooleanField(default=False)
    score = models.PositiveSmallIntegerField(default=0)
    steps = models.JSONField(default=list)
    receipts = models.JSONField(default=dict)
    changed_at = models.DateTimeField(db_index=True)
    regraded_at = models.DateTimeField(null=True, blank=True)  # published; null: as it was graded live

    def __str__(self) -> str:
        return f"{self.score} for {self.submission_id}"


class Regrade(models.Model):
    """One regrade of a course; the newest is valid.

    `found`: the results to publish by number of the submission, `attempt`, `exam`, `score`, `finished`, `steps`;
    `differences`: rows of `regrading.Difference`.
    """

    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="regrades")
    began_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)  # that were graded again
    found = models.JSONField(default=dict)
    differences = models.JSONField(default=list)
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"regrade of {self.course_id}"
