"""The reference pages made from code: events, actions, questions, limits, request codes.

`manage.py makedocs` writes them; a test compares, so that every event, action and limit has its line.
"""

from collections.abc import Iterable
from dataclasses import MISSING, fields
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from sandbox.control import actions, questions
from sandbox.control.fields import INT64_MAX, Between, TextUpTo, hints_of
from sandbox.control.limits import AttachedLimits, HostLimits, RecordingLimits, SandboxLimits, SocketLimits
from sandbox.journal import events
from sandbox.journal.schema import describe
from sandbox.tools.codes_page import ABOUT, codes_rows
from sandbox.transport.tcp_limits import TcpLimits

MADE = "Generated from the code by `manage.py makedocs`; a test compares both. Do not edit.\n"
PLAIN = {int: "whole number", float: "number", str: "text", bool: "true or false", type(None): "null"}


def pages() -> dict[str, str]:
    return {
        "events.md": events_page(),
        "actions.md": actions_page(),
        "limits.md": limits_page(),
        "codes.md": codes_page(),
    }


def events_page() -> str:
    lines = [
        "# Events",
        "",
        MADE,
        "Every line of a journal is `seq`, `at_ms` (sandbox clock), `type`, `cause` (the `seq` of the action in",
        "whose turn it was written) and the fields below. Facts are never dropped; flow may be, and then",
        "`FlowSkipped` says which offsets. `int64` travels to browsers as text.",
        "",
    ]
    for name, shape in describe().items():
        lines += [f"## {name} ({shape['kind']})", ""]
        if note := own_doc(events.BY_NAME[name]):
            lines += [note, ""]
        lines += table(("field", "type"), ((f"`{field}`", cell(kind)) for field, kind in shape["fields"].items()))
    return "\n".join(lines)


def actions_page() -> str:
    lines = [
        "# Actions and questions",
        "",
        MADE,
        '`POST /api/sandboxes/<slug>/actions` with `{"action": NAME, …}`; the forms send the same fields.',
        "",
    ]
    for name, kind in actions.BY_NAME.items():
        only = f", {kind.only}s only" if kind.only else ""
        lines += [f"## {name} (right: {kind.verb}{only})", "", *about(kind)]
    lines += ["# Questions", "", "`GET /api/sandboxes/<slug>/ask/<name>`; right: see; no effect.", ""]
    for name, question in questions.BY_NAME.items():
        lines += [f"## {name}", "", *about(question)]
    return "\n".join(lines)


def limits_page() -> str:
    lines = ["# Limits", "", MADE]
    for kind in (SandboxLimits, HostLimits, SocketLimits, TcpLimits, AttachedLimits, RecordingLimits):
        lines += [f"## {kind.__name__}", "", own_doc(kind), ""]
        lines += table(("limit", "default"), ((f"`{spec.name}`", str(spec.default)) for spec in fields(kind)))
    return "\n".join(lines)


def codes_page() -> str:
    return "\n".join(["# Request codes", "", MADE, *ABOUT, "", *table(("code", "name", "served by"), codes_rows())])


def about(kind: type) -> list[str]:
    note = own_doc(kind)
    rows = ((f"`{name}`", cell(type_text(hint)), default_text(kind, name)) for name, hint in hints_of(kind).items())
    return [*([note, ""] if note else []), *table(("field", "type", "default"), rows)]


def own_doc(kind: type) -> str:
    text = (kind.__doc__ or "").strip()
    made_up = text.startswith(f"{kind.__name__}(")  # the docstring that dataclass and NamedTuple generate
    return "" if made_up else text


def type_text(hint: Any) -> str:
    """A type as a reader of the API needs it: `text (≤ 255)`, `list of whole number (0 … 20)`."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return type_text(inner[0]) + "".join(rule_text(rule) for rule in inner[1:])
    if origin is Literal:
        return "one of " + ", ".join(f"`{choice}`" for choice in inner)
    if origin in (Union, UnionType):
        return " or ".join(type_text(choice) for choice in inner)
    if origin is tuple:
        return f"list of {type_text(inner[0])}"
    if origin is dict:
        return "object"
    if hasattr(hint, "_fields"):
        return "{" + ", ".join(f"{name}: {type_text(kind)}" for name, kind in hints_of(hint).items()) + "}"
    return PLAIN.get(hint, str(hint))


def rule_text(rule: Between | TextUpTo) -> str:
    if isinstance(rule, TextUpTo):
        return f" (≤ {rule.chars} characters)"
    return "" if rule.high >= INT64_MAX else f" ({_bound(rule.low)} … {_bound(rule.high)})"


def _bound(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if value == int(value) else f"{value:g}"


def default_text(kind: Any, name: str) -> str:
    default = kind.__dataclass_fields__[name].default
    return "required" if default is MISSING else f"`{default!r}`"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]
