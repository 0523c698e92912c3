"""Database rows of polls.

A course answers a poll's question twice, before and after a discussion; then a run shows the right answer.
"""

from typing import NamedTuple

from django.db import models
from django.utils.translation import gettext_lazy as _

from queueviz.courses.models import Course, Enrolment

QUESTION_CHARS = 200
VALUE_CHARS = 8
SENTENCE_CHARS = 120
SOURCE_CHARS, RUN_CHARS = 60, 120
FEWEST_ANSWERS, MOST_ANSWERS = 2, 6


class Answer(NamedTuple):
    """An answer.  `value` is its short name; `sentence` explains it, and may be blank."""

    value: str
    sentence: str


class Poll(models.Model):
    """A poll of a course.

    `answers`: value and sentence of each; `shown`: the index of the answer that the run showed, set with the reveal.
    `source`: the lab and step that it asks about, blank for a question of the teacher's own; `run`: the address of the
    teacher's sandbox in which that lab was started.
    """

    class State(models.TextChoices):
        """The states of a poll, in their only order."""

        VOTE = "vote", _("Vote")
        HIDDEN = "hidden", _("Closed, hidden")
        DISCUSS = "discuss", _("Discuss")
        AGAIN = "again", _("Vote again")
        RUN = "run", _("Run it")
        REVEAL = "reveal", _("Reveal")

    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="polls")
    number = models.PositiveSmallIntegerField()  # in its course, from 1
    question = models.CharField(max_length=QUESTION_CHARS)
    answers = models.JSONField()
    state = models.CharField(max_length=8, choices=State, default=State.VOTE)
    source = models.CharField(max_length=SOURCE_CHARS, blank=True)
    run = models.CharField(max_length=RUN_CHARS, blank=True)
    shown = models.PositiveSmallIntegerField(null=True, blank=True)
    begun_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["course", "number"], name="one_number_per_poll")]

    def __str__(self) -> str:
        return f"{self.number} of {self.course_id}"

    @property
    def choices(self) -> list[Answer]:
        return [Answer(*each) for each in self.answers]

    @property
    def round(self) -> int:
        """The round whose vote is open, or was the last one: 1 or 2."""
        return 1 if self.state in (self.State.VOTE, self.State.HIDDEN, self.State.DISCUSS) else 2

    @property
    def takes_votes(self) -> bool:
        return self.state in (self.State.VOTE, self.State.AGAIN)

    @property
    def is_revealed(self) -> bool:
        return self.state == self.State.REVEAL


class Vote(models.Model):
    """A student's vote in one round.  `answer`: the index of the answer, from 0."""

    poll = models.ForeignKey(Poll, on_delete=models.CASCADE, related_name="votes")
    enrolment = models.ForeignKey(Enrolment, on_delete=models.CASCADE, related_name="votes")
    round = models.PositiveSmallIntegerField()
    answer = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["poll", "enrolment", "round"], name="one_vote_per_round")]

    def __str__(self) -> str:
        return f"round {self.round} of {self.poll_id}"
