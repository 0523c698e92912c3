"""A hint for a visitor new to a sandbox: one action to try and its effect, shown until it is dismissed.

A cookie has the dismissed hints, so the first paint is right.
"""

from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from queueviz.pages.redirects import back_of
from sandbox.labs.catalogue import named
from sandbox.labs.lab import Lab

COOKIE = "dismissed"


class FirstStep(NamedTuple):
    """The hint of a template.  `number`: that of the lab that shows the same."""

    number: str
    text: Any

    @property
    def lab(self) -> Lab | None:
        return named(self.number)


FIRST_STEPS = {
    "empty": FirstStep(
        "N0",
        _(
            "Try: create a topic, then add a producer and a consumer. Watch: the newest offset of each queue "
            "moves ahead, the committed offset follows."
        ),
    ),
    "replicas": FirstStep(
        "14",
        _(
            "Try: send messages, then cut the power of broker-a under Topology. Watch: messages that its slave "
            "has and its own disk lost."
        ),
    ),
    "flights": FirstStep(
        "3",
        _(
            "Try: crash a consumer. Watch: its queues move to the other members, and uncommitted messages are "
            "delivered again."
        ),
    ),
    "orders": FirstStep(
        "4", _("Try: add consumers until there are nine. Watch: eight queues, so the ninth gets none.")
    ),
    "payments": FirstStep(
        "5",
        _("Try: crash a consumer, then open Locks. Watch: its queues are stopped until the broker's lock expires."),
    ),
    "cluster": FirstStep(
        "15",
        _(
            "Try: stop the master broker-a under Topology. Watch: which clients still send, and which still read "
            "its messages."
        ),
    ),
    "shrink": FirstStep(
        "6",
        _(
            "Try: reduce the topic to eight write queues, and only later to eight read queues. Watch: the "
            "messages left in the removed queues."
        ),
    ),
    "index": FirstStep(
        "9", _("Try: look up the key order-Aa under Index. Watch: two keys with the same hash in one chain.")
    ),
    "retries": FirstStep(
        "N2",
        _(
            "Try: find a message with the key order-poison. Watch: each redelivery comes later, and finally it "
            "is a dead letter."
        ),
    ),
}


def first_step(request: HttpRequest, template: str | None) -> FirstStep | None:
    """Return the hint of this template.  None: it was dismissed, or the template has none."""
    return None if template in _dismissed(request) else FIRST_STEPS.get(template or "")


@require_POST
def dismiss(request: HttpRequest) -> HttpResponse:
    """Dismiss the hint in this browser, for as long as the language cookie lives."""
    answer = redirect(back_of(request))
    kept = _dismissed(request) | ({request.POST.get("template", "")} & FIRST_STEPS.keys())
    answer.set_cookie(
        COOKIE,
        ".".join(sorted(kept)),
        max_age=settings.LANGUAGE_COOKIE_AGE,
        samesite="Lax",
        httponly=True,
        secure=settings.BEHIND_HTTPS,
    )
    return answer


def _dismissed(request: HttpRequest) -> set[str]:
    return set(request.COOKIES.get(COOKIE, "").split(".")) & FIRST_STEPS.keys()
