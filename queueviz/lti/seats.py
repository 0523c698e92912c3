"""The seat of an LMS learner in a course: the same at each launch, from any browser, without an account or name."""

from queueviz.access.database_limits import one_at_a_time
from queueviz.courses import joining
from queueviz.courses.models import Course
from queueviz.lti import sealed_secrets
from queueviz.lti.models import LtiPlatform, LtiSeat
from sandbox.kernel.errors import ActionRefused


def seat_of(platform: LtiPlatform, course: Course, user: str) -> LtiSeat:
    """Return the learner's seat.  The first launch creates it, if the course accepts new students.

    Raises ActionRefused: 403 the teacher has removed this learner, 409 the course is closed or full.
    """
    named = digest_of(platform, course, user)
    with one_at_a_time(f"lti seat {named}"):
        seat = LtiSeat.objects.filter(user_digest=named).select_related("enrolment__course").first()
        if seat is None:
            if course.code is None:
                raise ActionRefused(
                    409, "This course accepts no new students.", "Ask the teacher to open the course for new students."
                )
            return LtiSeat.objects.create(
                platform=platform, user_digest=named, enrolment=joining.new_place(course, _secret(named))
            )
    if seat.enrolment.removed_at is not None:
        raise ActionRefused(403, "You were removed from this course.", "Ask the teacher.")
    return seat


def digest_of(platform: LtiPlatform, course: Course, user: str) -> str:
    """Return a keyed digest of the learner's id, different in each course.

    So rows of two courses cannot be joined.
    """
    return sealed_secrets.keyed("lti user", platform.pk, course.pk, user)


def secret_of(seat: LtiSeat) -> str:
    """Return the enrolment secret of this seat for browsers.

    It is derived from the digest, so that each launch can set it again.
    """
    return _secret(seat.user_digest)


def keep_user(seat: LtiSeat, user: str) -> None:
    """Store the platform's id of the learner, encrypted: a score must name its learner."""
    if not seat.user_sealed:
        seat.user_sealed = sealed_secrets.seal(user)
        seat.save(update_fields=["user_sealed"])


def _secret(named: str) -> str:
    return sealed_secrets.keyed("lti seat", named)
