"""Joining a course: by its code, and on another device by the student's personal link."""

import re
import secrets
import unicodedata

from queueviz.access.database_limits import one_at_a_time
from queueviz.access.digests import digest
from queueviz.access.policy import SEATS
from queueviz.access.rate_limits import Rate
from queueviz.access.visitor import Visitor
from queueviz.courses.course_access import place_in
from queueviz.courses.models import CODE_LENGTH, Course, Enrolment
from sandbox.kernel.errors import ActionRefused

LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ"  # no I, L, O: they are misread on a projector
SEAT_BYTES = 24
MOST_SEATS = 20  # in one browser
PSEUDONYMS = (
    "Badger",
    "Bison",
    "Crane",
    "Egret",
    "Finch",
    "Gecko",
    "Hare",
    "Heron",
    "Ibex",
    "Kite",
    "Llama",
    "Lynx",
    "Marten",
    "Moose",
    "Moth",
    "Newt",
    "Otter",
    "Panda",
    "Puffin",
    "Quail",
    "Raven",
    "Robin",
    "Seal",
    "Shrew",
    "Stoat",
    "Swift",
    "Tapir",
    "Toad",
    "Vole",
    "Wren",
)
PSEUDONYM_CHARS = 32
GUESSES = Rate(0.2, 40, what="invalid course codes")  # a room behind one address, with its typing errors
LOOKS = Rate(5, 240, what="codes")  # right or wrong: half of all codes take an address 170 days
JOINS = Rate(2, 120, what="course joins")


def new_code() -> str:
    """Return a random code of six letters that are easy to read from a projection; there are 148 million codes."""
    return "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))


def join(visitor: Visitor, code: str, pseudonym: str = "") -> Enrolment:
    """Return the visitor's enrolment in the course with this code.  A visitor who has joined keeps the enrolment.

    Raises ActionRefused: 404 no course has this code, 409 it is closed or full, 422 the pseudonym is taken or cannot
    be shown, 429 too fast.
    """
    course = _of_code(visitor, code)
    current = place_in(visitor, course)
    if current is not None:
        return current
    JOINS.demand(visitor.address)
    secret = secrets.token_urlsafe(SEAT_BYTES)
    enrolment = new_place(course, secret, _clean(pseudonym))
    keep(visitor, course, secret)
    return enrolment


def new_place(course: Course, secret: str, requested: str = "") -> Enrolment:
    """Return a new enrolment with this secret.

    Raises ActionRefused: 409 the course is full, 422 the pseudonym is taken.
    """
    with one_at_a_time(f"places in course {course.pk}"):
        taken = set(course.enrolments.values_list("pseudonym", flat=True))
        if course.enrolments.filter(removed_at__isnull=True).count() >= course.most_students:
            raise ActionRefused(
                409,
                "All {most} places of this course are taken.",
                "Ask the teacher for another place.",
                most=course.most_students,
            )
        if requested in taken:
            raise ActionRefused(
                422,
                "{pseudonym} is already used in this course.",
                "Choose another pseudonym.",
                field="pseudonym",
                pseudonym=requested,
            )
        return course.enrolments.create(pseudonym=requested or _free(taken), digest=digest(secret))


def secret_of(visitor: Visitor, course: Course) -> str | None:
    """Return the secret of the browser's enrolment in the course, which the personal link contains.  None if absent."""
    secret: str | None = visitor.session.get(SEATS, {}).get(course.slug)
    return secret


def leave(visitor: Visitor, course: Course) -> None:
    """Remove the secret of the browser's enrolment from its session."""
    held = visitor.session.get(SEATS, {})
    visitor.session[SEATS] = {slug: secret for slug, secret in held.items() if slug != course.slug}


def take(visitor: Visitor, secret: str) -> Enrolment:
    """Return the enrolment of a personal link's secret and store the secret in this browser's session.

    Raises ActionRefused (404) if the secret belongs to no enrolment, or to a removed one.
    """
    enrolment = (
        Enrolment.objects.filter(digest=digest(secret), removed_at__isnull=True).select_related("course").first()
    )
    if enrolment is None:
        GUESSES.demand(visitor.address)
        raise ActionRefused(404, "This link does not open a place in a course.", "Ask the teacher for a new link.")
    keep(visitor, enrolment.course, secret)
    return enrolment


def _of_code(visitor: Visitor, code: str) -> Course:
    """Return the course with this code; case, blanks and hyphens are ignored.  Raises ActionRefused (404).

    Wrong codes from other students at the same address do not block a right one.  A flood of guesses is refused.
    """
    LOOKS.demand(visitor.address)
    letters = re.sub(r"[\s-]", "", code).upper()
    course = Course.objects.filter(code=letters).first() if letters else None
    if course is None:
        GUESSES.demand(visitor.address)
        raise ActionRefused(
            404,
            "No course has the code {code}.",
            "A code has six letters: check the code that you entered.",
            field="code",
            code=letters[:CODE_LENGTH] or "–",
        )
    return course


def _clean(pseudonym: str) -> str:
    """Return the pseudonym as one printable line.  Raises ActionRefused (422)."""
    text = " ".join(unicodedata.normalize("NFC", pseudonym).split())
    if len(text) > PSEUDONYM_CHARS or any(unicodedata.category(char)[0] == "C" for char in text):
        raise ActionRefused(
            422,
            "A pseudonym has at most {most} characters.",
            "Choose a shorter pseudonym.",
            field="pseudonym",
            most=PSEUDONYM_CHARS,
        )
    return text


def _free(taken: set[str]) -> str:
    free = [name for name in PSEUDONYMS if name not in taken]
    if free:
        return secrets.choice(free)
    number = 2
    while (name := f"{secrets.choice(PSEUDONYMS)} {number}") in taken:
        number += 1
    return name


def keep(visitor: Visitor, course: Course, secret: str) -> None:
    """Store the secret in the browser's session.  If there are too many, the oldest one is dropped."""
    seats = {slug: held for slug, held in visitor.session.get(SEATS, {}).items() if slug != course.slug}
    visitor.session[SEATS] = dict([*seats.items(), (course.slug, secret)][-MOST_SEATS:])
