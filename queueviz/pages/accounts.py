"""Sign-in and sign-out: Django's own views in the design of the site.  Accounts are created in the admin."""

from django.contrib.auth.views import LoginView, LogoutView, redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from queueviz.access import visitor
from queueviz.access.rate_limits import Rate

ATTEMPTS = Rate(0.1, 10, what="sign-in attempts")  # ten at once, then one in ten seconds, per address


@method_decorator(never_cache, name="dispatch")
class SignIn(LoginView):
    """The sign-in page.  Too many attempts from one address are refused before a password is checked."""

    template_name = "queueviz/pages/login.html"
    redirect_authenticated_user = True
    next_page = "home"

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        ATTEMPTS.demand(visitor.of_request(request).address)
        return super().post(request, *args, **kwargs)


def to_administer(request: HttpRequest) -> HttpResponse:
    """Redirect the admin's sign-in to this site's page.

    The admin's own form would check passwords without counting attempts.  A signed-in account that is no
    administrator gets PermissionDenied.
    """
    if request.user.is_authenticated and not request.user.is_staff:
        raise PermissionDenied
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


class SignOut(LogoutView):
    next_page = "home"
