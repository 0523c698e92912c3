"""Drafts of polls from the predictions that steps of labs ask for."""

from typing import NamedTuple

from django.utils.translation import gettext

from queueviz.courses.lab_seeds import seed_of
from queueviz.courses.models import Course
from queueviz.courses.polls import MOST_ANSWERS, QUESTION_CHARS, SENTENCE_CHARS
from queueviz.refusal_texts import filled
from sandbox.labs.catalogue import LABS

LETTERS = "ABCDEF"


class Draft(NamedTuple):
    """A draft of a poll.  `answers`: pairs of value and sentence, as many as a poll may have; unused ones are blank."""

    question: str
    answers: list[tuple[str, str]]


EMPTY = Draft("", [("", "")] * MOST_ANSWERS)


def offered(course: Course) -> list[tuple[str, str]]:
    """Return the steps of the course's labs that need a prediction: the name for `draft`, and the title."""
    return [
        (f"{slug}/{number}", f"{LABS[slug].number} · {gettext(LABS[slug].title)} · {number}")
        for slug in course.labs
        if slug in LABS
        for number, step in enumerate(LABS[slug].steps, start=1)
        if step.predict is not None
    ]


def draft(course: Course, name: str) -> Draft:
    """Return the draft of this lab and step, with names and numbers as in its run.  Empty for other names."""
    if name not in {known for known, _ in offered(course)}:
        return EMPTY
    slug, _, number = name.partition("/")
    step = LABS[slug].steps[int(number) - 1]
    asked = step.predict
    assert asked is not None, "only such steps are offered"
    numbers = LABS[slug].numbers(seed_of(course, LABS[slug]), 1)
    answers = [
        (letter, filled(text, numbers)[:SENTENCE_CHARS])
        for letter, (_, text) in zip(LETTERS, asked.options, strict=False)
    ]
    blank = [("", "")] * (MOST_ANSWERS - len(answers))
    task, question = filled(step.do, numbers), filled(asked.text, numbers)
    both = f"{task} {question}"  # the class does not see the step
    return Draft(both if len(both) <= QUESTION_CHARS else question[:QUESTION_CHARS], [*answers, *blank])
