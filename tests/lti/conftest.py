"""A course, its teacher, and an LMS that is registered and linked to it."""

from typing import Any

import pytest
from django.core.cache import cache

from queueviz.lti import outgoing, scores
from queueviz.models import Course, LtiContext, LtiPlatform
from queueviz.pages import lti, lti_teaching
from tests.lti.lms import CLIENT, CONTEXT, DEPLOYMENT, ISSUER, Lms, key_pair
from tests.web.conftest import _plain_surroundings, course, port, teacher

__all__ = ["_plain_surroundings", "course", "port", "teacher"]


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    cache.clear()
    for rate in (lti.LAUNCHES, lti_teaching.ROSTERS, scores.RESENDS):
        rate.forget()


@pytest.fixture(autouse=True)
def _our_key(settings: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One for all tests: to make one takes half a second."""
    file = tmp_path_factory.getbasetemp() / "our_key.pem"
    if not file.exists():
        file.write_text(key_pair()[0])
    settings.QUEUEVIZ_LTI_KEY_FILE = str(file)


@pytest.fixture
def lms(monkeypatch: pytest.MonkeyPatch) -> Lms:
    """Every host is this one; whether a host may be asked is decided before."""
    made = Lms()
    monkeypatch.setattr(outgoing, "adapter", lambda: made)
    return made


@pytest.fixture
def platform(db: None) -> LtiPlatform:
    return LtiPlatform.objects.create(
        name="School",
        issuer=ISSUER,
        client_id=CLIENT,
        auth_url=f"{ISSUER}/auth",
        token_url=f"{ISSUER}/token",
        key_set_url=f"{ISSUER}/jwks",
        deployments=[DEPLOYMENT],
    )


@pytest.fixture
def linked(course: Course, platform: LtiPlatform) -> LtiContext:
    return LtiContext.objects.create(platform=platform, deployment=DEPLOYMENT, context=CONTEXT, course=course)
