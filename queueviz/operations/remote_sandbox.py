"""A client for a running sandbox through its API.  It never uses the sandbox's files."""

import random
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from sandbox.queries.rows.snapshot import Snapshot

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 10.0
PATIENCE_S = 120.0  # with a server that is busy, asleep or starting again
REQUEST_TIMEOUT_S = 15.0
LATER = frozenset({429, 502, 503, 504})


class RemoteRefused(Exception):
    """The error for a refusal of the server; the message is one sentence for the user of the terminal."""


class RemoteSandbox:
    """A client for one sandbox of the server at `url`, with its token.

    It waits and retries if the server asks for that.
    """

    def __init__(
        self,
        url: str,
        slug: str,
        token: str,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.slug = slug
        self._url = url.rstrip("/")
        self._wait, self._now = sleep, now
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=REQUEST_TIMEOUT_S,
            transport=transport,
        )

    def act(self, fields: Mapping[str, object]) -> int:
        return int(self._call("POST", "/actions", fields)["seq"])

    def wake(self) -> None:
        self._call("POST", "/wake", {})

    def sleep(self) -> None:
        self._call("POST", "/sleep", {})

    def branch(self, at: int) -> dict[str, object]:
        """Start to create a branch; return its `slug`, `url` and `token`."""
        made: dict[str, object] = self._call("POST", "/branch", {"at": at})
        return made

    def snapshot(self) -> Snapshot:
        snapshot: Snapshot = self._call("GET", "")
        return snapshot

    def close(self) -> None:
        self._http.close()

    def _call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        """Return the answer to a request, after retries.  Raises RemoteRefused.

        An action that may have been executed is not sent again.
        """
        until_s, wait_s, woken = self._now() + PATIENCE_S, FIRST_WAIT_S, False
        while True:
            try:
                answer = self._http.request(method, f"{self._url}/api/sandboxes/{self.slug}{path}", json=body)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                trouble = f"No server answers at {self._url}: {error}."
            except httpx.InvalidURL as error:
                raise RemoteRefused(f"{self._url} is not a valid address: {error}.") from error
            except httpx.HTTPError as error:
                raise RemoteRefused(
                    f"No complete response from {self._url}: {error or type(error).__name__}."
                ) from error
            else:
                if answer.is_success:
                    return answer.json()
                if answer.status_code not in LATER:
                    raise RemoteRefused(self._sentence(answer))
                trouble = self._sentence(answer)
                if answer.status_code == 503 and path == "/actions" and not woken:
                    woken = True
                    self._http.post(f"{self._url}/api/sandboxes/{self.slug}/wake", json={})
            if self._now() + wait_s > until_s:
                raise RemoteRefused(trouble)
            self._wait(wait_s * random.uniform(0.5, 1.0))
            wait_s = min(LONGEST_WAIT_S, wait_s * 2)

    def _sentence(self, answer: httpx.Response) -> str:
        if answer.status_code in (401, 403):
            return f"The token does not permit this in sandbox {self.slug}."
        if answer.status_code == 404:
            return f"The server at {self._url} has no sandbox {self.slug} for this token."
        try:
            body = answer.json()
            return f"{body['error']} {body.get('hint', '')}".strip()
        except (ValueError, KeyError, TypeError):
            return f"The server at {self._url} responded with status {answer.status_code}."
