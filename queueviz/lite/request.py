"""A request of a page to the site in the browser, and the answer to it."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from django.utils.datastructures import MultiValueDict
from django.utils.http import urlencode

from sandbox.control.limits import HostLimits
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused

LIMITS = HostLimits()
HTML, JSON, NDJSON = "text/html; charset=utf-8", "application/json", "application/x-ndjson"


class Answer(NamedTuple):
    """An answer of the site.  `body`: text."""

    status: int
    headers: Mapping[str, str]
    body: str = ""


class Fields(MultiValueDict[str, str]):
    """Fields of a form or query, as templates and `form_fields` read them."""

    @classmethod
    def of(cls, text: str) -> "Fields":
        """Return the fields of a URL-encoded text.  Raises ActionRefused (400) for too many."""
        fields = cls()
        try:
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=LIMITS.request_fields)
        except ValueError:
            raise ActionRefused(
                400, "A request can have at most {most} fields.", "Send fewer fields.", most=LIMITS.request_fields
            ) from None
        for name, value in pairs:
            fields.appendlist(name, value)
        return fields

    def texts(self) -> dict[str, str]:
        """Return the last value of each field."""
        return {name: values[-1] for name, values in self.lists() if values}

    def urlencode(self) -> str:
        return urlencode(self, doseq=True)


class Request(NamedTuple):
    """A request, with the names by which templates read a request of the server.

    `parts`: of the path below the root.  `htmx`: the page swaps the answer into itself.
    """

    method: str
    parts: tuple[str, ...]
    GET: Fields
    body: str
    root: str
    theme: str
    htmx: bool
    COOKIES: Mapping[str, str]
    mask: None = None  # no reader comes by a live link

    @property
    def path(self) -> str:
        return "/".join((self.root.rstrip("/"), *self.parts, ""))

    @property
    def get_full_path(self) -> str:
        """The path with the query.  Templates call a method and read a property alike."""
        return f"{self.path}?{self.GET.urlencode()}" if self.GET else self.path


def parts_of(path: str) -> tuple[str, ...]:
    """Return the decoded parts of a path without its query."""
    return tuple(unquote(part) for part in path.strip("/").split("/") if part)


def html(body: str, status: int = 200) -> Answer:
    """Return a page or a part of one.

    Hosts of exports may forbid style attributes, so `js/lite/bridge.js` sets the styles.  Quotes in texts are escaped.
    """
    return Answer(status, {"Content-Type": HTML}, body.replace(' style="', ' data-css="'))


def json(body: Any, status: int = 200) -> Answer:
    return Answer(status, {"Content-Type": JSON}, json_bytes.dumps(body, default=str).decode())
