"""The life of a poll: creation, changes of state, votes, and the results after the reveal.

There are no counts by answer before the reveal: until then only the number of votes is public.
"""

import unicodedata
from collections import Counter
from typing import NamedTuple

from queueviz.access.database_limits import one_at_a_time
from queueviz.access.rate_limits import Rate
from queueviz.courses import poll_drafts
from queueviz.courses.models import Course, Enrolment
from queueviz.courses.polls import (
    FEWEST_ANSWERS,
    MOST_ANSWERS,
    QUESTION_CHARS,
    SENTENCE_CHARS,
    VALUE_CHARS,
    Answer,
    Poll,
    Vote,
)
from sandbox.kernel.errors import ActionRefused

MOST_POLLS = 200  # of a course
VOTES = Rate(1, 20, what="votes")  # of one student
ORDER = list(Poll.State)


class Counted(NamedTuple):
    """The number of votes for one answer in both rounds."""

    answer: Answer
    first: int
    second: int
    was_shown: bool  # by the run


class Results(NamedTuple):
    """The result of a revealed poll.

    `of`: students; `changed`: students with two different answers; `right`: the answer the run showed.
    """

    rows: list[Counted]
    of: int
    changed: int
    right: Counted | None


def newest(course: Course) -> Poll | None:
    return course.polls.order_by("-number").first()


def find(course: Course, number: int) -> Poll:
    """Return the course's poll with this number.  Raises ActionRefused (404)."""
    poll = course.polls.filter(number=number).first()
    if poll is None:
        raise ActionRefused(
            404, "This course has no question {number}.", "Open the polls of the course again.", number=number
        )
    return poll


def ask(course: Course, question: str, answers: list[tuple[str, str]], source: str = "") -> Poll:
    """Create a poll, whose first vote is open.  `source`: a name of `poll_drafts.offered`; others are ignored.

    Raises ActionRefused: 409 the last one is not revealed yet, 422 question or answers are invalid, 429 too many.
    """
    text, choices = _question(question), _choices(answers)
    with one_at_a_time(f"polls of {course.pk}"):
        last = newest(course)
        if last is not None and not last.is_revealed:
            raise ActionRefused(
                409,
                "Question {number} is not revealed yet.",
                "Finish the steps of the question, or drop the question.",
                number=last.number,
            )
        if course.polls.count() >= MOST_POLLS:
            raise ActionRefused(
                429, "This course already has {most} questions.", "Start another course.", most=MOST_POLLS
            )
        return course.polls.create(
            number=1 if last is None else last.number + 1,
            question=text,
            answers=[list(each) for each in choices],
            source=source if source in dict(poll_drafts.offered(course)) else "",
        )


def advance(course: Course, number: int, to: str, shown: str = "") -> None:
    """Move the poll to its next state, which `to` must name.  So a second press does not move the poll again.

    `shown`, with the reveal: the answer the run showed, or `none`.  Raises ActionRefused: 409 if another state is
    next, 422 without the answer the run showed.
    """
    with one_at_a_time(f"polls of {course.pk}"):
        poll = find(course, number)
        if poll.is_revealed:
            raise ActionRefused(
                409, "Question {number} is revealed: no step follows.", "Ask the next question.", number=number
            )
        state = Poll.State(poll.state)
        following = ORDER[ORDER.index(state) + 1]
        if to != following:
            raise ActionRefused(
                409,
                "Question {number} is in the state “{state}”.",
                "The next step of the question is “{step}”.",
                number=number,
                state=state.label,
                step=following.label,
            )
        if following is Poll.State.REVEAL:
            poll.shown = _shown(poll, shown)
        poll.state = following
        poll.save(update_fields=["state", "shown"])


def drop(course: Course, number: int) -> None:
    """Delete the poll with its votes.  Raises ActionRefused (409) for a revealed one."""
    with one_at_a_time(f"polls of {course.pk}"):
        poll = find(course, number)
        if poll.is_revealed:
            raise ActionRefused(
                409, "Question {number} is revealed and cannot be dropped.", "Ask the next question.", number=number
            )
        poll.delete()


def vote(enrolment: Enrolment, number: int, round_: int, answer: int) -> Vote:
    """Store the student's answer in this round.  A later answer replaces it while the round is open.

    Raises ActionRefused: 409 this round is closed or not open yet, 422 there is no such answer, 429 too fast.
    """
    VOTES.demand(str(enrolment.pk))
    course = enrolment.course
    with one_at_a_time(f"polls of {course.pk}"):
        poll = find(course, number)
        if not poll.takes_votes or poll.round != round_:
            raise ActionRefused(
                409,
                "This vote is closed: your answer was not counted.",
                "Open the question again to see its current step.",
            )
        if not 0 <= answer < len(poll.answers):
            raise ActionRefused(422, "This is not one of the answers.", "Choose a listed answer.", field="answer")
        made, _is_new = Vote.objects.update_or_create(
            poll=poll, enrolment=enrolment, round=round_, defaults={"answer": answer}
        )
        return made


def voted(poll: Poll) -> int:
    """Return the number of votes in the open round, or else in the last one."""
    return poll.votes.filter(round=poll.round, enrolment__removed_at__isnull=True).count()


def students(course: Course) -> int:
    return course.enrolments.filter(removed_at__isnull=True).count()


def own(poll: Poll, enrolment: Enrolment) -> dict[int, int]:
    """Return the student's answers by round."""
    return dict(poll.votes.filter(enrolment=enrolment).values_list("round", "answer"))


def results(poll: Poll) -> Results:
    """Return the results of a poll.  Raises ActionRefused (409) before the reveal."""
    if not poll.is_revealed:
        raise ActionRefused(
            409,
            "Question {number} is not revealed yet.",
            "Finish the steps of the question, or drop the question.",
            number=poll.number,
        )
    by_student: dict[int, dict[int, int]] = {}
    votes = poll.votes.filter(enrolment__removed_at__isnull=True)
    for student, round_, answer in votes.values_list("enrolment_id", "round", "answer"):
        by_student.setdefault(student, {})[round_] = answer
    first, second = (
        Counter(answers[round_] for answers in by_student.values() if round_ in answers) for round_ in (1, 2)
    )
    rows = [Counted(answer, first[at], second[at], at == poll.shown) for at, answer in enumerate(poll.choices)]
    changed = sum(1 in answers and 2 in answers and answers[1] != answers[2] for answers in by_student.values())
    return Results(rows, students(poll.course), changed, next((row for row in rows if row.was_shown), None))


def _shown(poll: Poll, text: str) -> int | None:
    if text == "none":
        return None
    if text not in {str(at) for at in range(len(poll.answers))}:
        raise ActionRefused(
            422,
            "The answer that the run showed is not set yet.",
            "Choose the answer that the run showed, or none of the answers.",
            field="shown",
        )
    return int(text)


def _question(text: str) -> str:
    question = _line(text, QUESTION_CHARS, "question")
    if not question:
        raise ActionRefused(422, "A poll needs a question.", "Enter a question.", field="question")
    return question


def _choices(pairs: list[tuple[str, str]]) -> list[Answer]:
    """Return the answers that are not blank.  Raises ActionRefused (422) if they are invalid."""
    if len(pairs) > MOST_ANSWERS:
        raise ActionRefused(
            422,
            "A poll has {fewest} to {most} answers.",
            "Enter {fewest} to {most} answers.",
            field="value",
            fewest=FEWEST_ANSWERS,
            most=MOST_ANSWERS,
        )
    lines = [
        Answer(_line(value, VALUE_CHARS, "value"), _line(text, SENTENCE_CHARS, "sentence")) for value, text in pairs
    ]
    answers = [line for line in lines if line.value or line.sentence]
    if len(answers) < FEWEST_ANSWERS:
        raise ActionRefused(
            422,
            "A poll has {fewest} to {most} answers.",
            "Write {fewest} or more answers.",
            field="value",
            fewest=FEWEST_ANSWERS,
            most=MOST_ANSWERS,
        )
    for at, answer in enumerate(answers):
        if not answer.value:
            raise ActionRefused(
                422,
                "“{sentence}” has no value.",
                "Give the answer a number or a letter.",
                field="value",
                sentence=answer.sentence,
            )
        if answer.value in [other.value for other in answers[:at]]:
            raise ActionRefused(
                422,
                "Two answers have the value {value}.",
                "Give each answer its own value.",
                field="value",
                value=answer.value,
            )
    return answers


def _line(text: str, most: int, field: str) -> str:
    """Return the text as one printable line.  Raises ActionRefused (422) if it is too long or cannot be displayed."""
    line = " ".join(unicodedata.normalize("NFC", text).split())
    if len(line) > most or any(unicodedata.category(char)[0] == "C" for char in line):
        raise ActionRefused(
            422,
            "“{text}” is too long, or cannot be displayed.",
            "Use at most {most} characters.",
            field=field,
            text=line[:20],
            most=most,
        )
    return line
