"""A client for the pages of a running server, as a browser uses them: cookies, forms, and CSRF tokens."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

from queueviz.access.visitor import SESSIONS
from queueviz.operations.remote_sandbox import RemoteRefused

REQUEST_TIMEOUT_S = 60.0
WITH_A_FORM = "/join/"
SESSION_LIFE_S = 120


class RemotePages:
    """A browser session with a running server.

    A refusal of the server raises `RemoteRefused`, as does a server that does not respond.
    """

    def __init__(
        self, url: str, *, session_key: str | None = None, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.url = url.rstrip("/")
        cookies = {} if session_key is None else {settings.SESSION_COOKIE_NAME: session_key}
        self._http = httpx.Client(
            cookies=cookies, timeout=REQUEST_TIMEOUT_S, transport=transport, headers={"Referer": f"{self.url}/"}
        )

    @property
    def cookies(self) -> dict[str, str]:
        return {cookie.name: cookie.value or "" for cookie in self._http.cookies.jar}

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self._asked("GET", path, headers=headers)

    def post(self, path: str, form: Mapping[str, object] | None = None, **headers: str) -> httpx.Response:
        return self._asked("POST", path, data=dict(form or {}), headers=headers | self._token())

    def send(self, path: str, body: Mapping[str, object]) -> httpx.Response:
        """Post the body as JSON and return the response."""
        return self._asked("POST", path, json=body, headers=self._token())

    def close(self) -> None:
        self._http.close()

    def _token(self) -> dict[str, str]:
        """Return the CSRF header.

        Signing in changes the token.  Without a cookie, a page with a form is fetched first.
        """
        if settings.CSRF_COOKIE_NAME not in self.cookies:
            self.get(WITH_A_FORM)
        return {"X-CSRFToken": self.cookies[settings.CSRF_COOKIE_NAME]}

    def _asked(self, method: str, path: str, **more: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, f"{self.url}{path}", **more)
        except httpx.InvalidURL as error:
            raise RemoteRefused(f"{self.url} is not a valid address: {error}.") from error
        except httpx.HTTPError as error:
            raise RemoteRefused(f"No server answers at {self.url}: {error or type(error).__name__}.") from error
        if answer.status_code >= 400:
            raise RemoteRefused(f"{self.url}{path} answered {answer.status_code}{_sentence(answer)}.")
        return answer


@contextmanager
def pages_of(user: Any, url: str) -> Iterator[RemotePages]:
    """Yield a client for the pages as this account sees them, with a session that ends with the block.

    Only for callers that have the server's database anyway.
    """
    session = SESSIONS.SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.set_expiry(SESSION_LIFE_S)
    session.create()
    pages = RemotePages(url, session_key=session.session_key)
    try:
        yield pages
    finally:
        pages.close()
        session.delete()


def _sentence(answer: httpx.Response) -> str:
    try:
        return f": {answer.json()['error']}"
    except (ValueError, KeyError, TypeError):
        return ""
