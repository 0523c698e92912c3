"""The cookie of a launch: it identifies the browser that began the launch, and holds the nonce.

It is read inside a frame of the LMS and after a form that the LMS sends, so its attributes allow both.  It is
partitioned, so it joins no two sites.  It is signed, ends after fifteen minutes, and is sent only to /lti/.
"""

from http.cookies import Morsel
from typing import NamedTuple

from django.core import signing
from django.http import HttpRequest, HttpResponse

LIFE_S = 900
PATH = "/lti/"
SALT = "queueviz.lti.begun"

# Python 3.14 knows the attribute; before, an unknown one is an error.
Morsel._reserved.setdefault("partitioned", "Partitioned")  # type: ignore[attr-defined]
Morsel._flags.add("partitioned")  # type: ignore[attr-defined]


class Begun(NamedTuple):
    """A launch that this browser began.  `platform`: the primary key of its platform."""

    state: str
    nonce: str
    platform: int


def keep(answer: HttpResponse, begun: Begun) -> None:
    """Set the launch's cookie in the answer.

    It is marked as secure also if the page is not encrypted: browsers accept that on this machine only.
    """
    name = name_of(begun.state)
    answer.set_cookie(
        name,
        signing.dumps(tuple(begun), salt=SALT),
        max_age=LIFE_S,
        path=PATH,
        secure=True,
        httponly=True,
        samesite="None",
    )
    answer.cookies[name]["partitioned"] = True


def begun(request: HttpRequest, state: str) -> Begun | None:
    """Return the launch that this browser began.  None: another browser began it, or it is too old."""
    try:
        cookie = Begun(*signing.loads(request.COOKIES.get(name_of(state), ""), salt=SALT, max_age=LIFE_S))
    except (signing.BadSignature, TypeError):
        return None
    return cookie if cookie.state == state else None


def forget(answer: HttpResponse, state: str) -> None:
    answer.delete_cookie(name_of(state), path=PATH, samesite="None")
    answer.cookies[name_of(state)]["partitioned"] = answer.cookies[name_of(state)]["secure"] = True


def name_of(state: str) -> str:
    return f"lti-{state}"
