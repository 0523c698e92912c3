"""Buttons of a lab's panel, read from its HTML: what a student can press, and what each of them posts."""

from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from django.http import QueryDict
from django.template.loader import render_to_string

from queueviz.boards.lab_panel import panel
from queueviz.form_fields import fields_of
from sandbox.queries.rows.labs import LabRow

RIGHTS = {"act": True, "time": True, "reset": True}


class Button(NamedTuple):
    """An enabled button of a line.

    `is_done`: the line is ticked.  `opens`: the Board's dialog, which asks for more.
    """

    line: int
    is_done: bool
    label: str
    fields: dict[str, object]
    opens: bool


class Lines(HTMLParser):
    """Reader of the numbered lines of a panel."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []  # their states
        self.buttons: list[Button] = []
        self._is_in = False
        self._fields: list[tuple[str, str]] | None = None
        self._pressed: dict[str, Any] | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        classes = (values.get("class") or "").split()
        if tag == "ol":
            self._is_in = "todo" in classes
        elif self._is_in and tag == "li":
            self.lines.append(classes[0])
        elif tag == "form" and "data-line" in values:
            self._fields = []
        elif tag == "input" and self._fields is not None:
            self._fields.append((str(values["name"]), str(values["value"])))
        elif self._is_in and (tag == "button" or "data-reset" in values):
            is_closed = "disabled" in values or values.get("aria-disabled") == "true"
            self._pressed, self._text = (None if is_closed else values), ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("button", "a") and self._pressed is not None:
            opens = "href" in self._pressed
            fields = parse_qsl(urlsplit(self._pressed["href"]).query) if opens else self._fields or []
            self.buttons.append(
                Button(len(self.lines), self.lines[-1] == "done", " ".join(self._text.split()), _posted(fields), opens)
            )
            self._pressed = None
        elif tag == "form":
            self._fields = None
        elif tag == "ol":
            self._is_in = False


def _posted(fields: list[tuple[str, str]]) -> dict[str, object]:
    document = QueryDict(mutable=True)
    for name, value in fields:
        document.appendlist(name, value)
    return fields_of(document)


def shown(row: LabRow) -> str:
    """Return the panel as HTML, as a student has it."""
    lab = panel(row)
    return render_to_string(
        "queueviz/partials/lab.html",
        {"lab": lab, "can": RIGHTS, "root": "/s/a/", "here": f"/s/a/labs/{row['lab']}/", "shows_score": True},
    )


def lines_of(html: str) -> Lines:
    lines = Lines()
    lines.feed(html)
    return lines
