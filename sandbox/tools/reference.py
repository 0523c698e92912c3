"""The reference pages made from code: events, actions, questions, limits, request codes.

`manage.py makedocs` writes them; a test compares them, so that every event, action and limit has its line.  Events
and actions have one page for each module that declares them, and an index.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from inspect import cleandoc, getdoc
from pathlib import Path
from sys import modules
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from sandbox.control import actions, questions
from sandbox.control.fields import INT64_MAX, Between, TextUpTo, hints_of
from sandbox.control.limits import AttachedLimits, HostLimits, RecordingLimits, SandboxLimits, SocketLimits
from sandbox.journal import events
from sandbox.journal.schema import describe
from sandbox.tools.codes_page import ABOUT, codes_rows
from sandbox.transport.tcp_limits import TcpLimits

MADE = "Generated from the code by `manage.py makedocs`; a test compares both. Do not edit.\n"
K = TypeVar("K", bound=type)
PLAIN = {int: "whole number", float: "number", str: "text", bool: "true or false", type(None): "null"}


def pages() -> dict[str, str]:
    """Return the text of each page by its path below `docs`."""
    return {
        "events.md": events_page(),
        **{f"events/{module}.md": event_module_page(module) for module in by_module(events.BY_NAME)},
        "actions.md": actions_page(),
        **{f"actions/{module}.md": action_module_page(module) for module in by_module(actions.BY_NAME)},
        "questions.md": questions_page(),
        "limits.md": limits_page(),
        "codes.md": codes_page(),
    }


def write_pages(made: Mapping[str, str], docs: Path) -> Iterable[str]:
    """Write the pages below `docs`, remove older pages from their folders, and yield each path that is written."""
    for folder in {path.parent for path in map(Path, made) if path.parent.name}:
        (docs / folder).mkdir(exist_ok=True)
        for page in (docs / folder).glob("*.md"):
            if page.relative_to(docs).as_posix() not in made:
                page.unlink()
    for name, text in made.items():
        (docs / name).write_text(text, "utf-8")
        yield name


def by_module(kinds: Mapping[str, K]) -> dict[str, dict[str, K]]:
    """Return the classes by the last name of their module, in the order of `kinds`."""
    grouped: dict[str, dict[str, K]] = {}
    for name, kind in kinds.items():
        grouped.setdefault(kind.__module__.rpartition(".")[2], {})[name] = kind
    return grouped


def events_page() -> str:
    lines = [
        "# Events",
        "",
        MADE,
        "A line of a journal has `seq`, `at_ms` (sandbox clock), `type`, `cause` and the fields of its event.",
        "`cause` is the `seq` of the action in whose turn the event was written.",
        "",
        "Facts are always written. Flow events, marked (flow), are omitted while their rate exceeds the limit of the",
        "sandbox. `FlowSkipped` then has the omitted offsets. Browsers receive `int64` as text.",
        "",
    ]
    return "\n".join(lines + module_index("events", events.BY_NAME))


def event_module_page(module: str) -> str:
    kinds = by_module(events.BY_NAME)[module]
    lines = [f"# Events: {module}", "", MADE, f"{module_doc(kinds)} All events: [index](../events.md).", ""]
    shapes = describe()
    for name, kind in kinds.items():
        lines += [f"## {name} (flow)" if shapes[name]["kind"] == "flow" else f"## {name}", ""]
        if note := own_doc(kind):
            lines += [note, ""]
        rows = ((f"`{field}`", cell(text)) for field, text in shapes[name]["fields"].items())
        lines += table(("field", "type"), rows)
    return "\n".join(lines)


def actions_page() -> str:
    lines = [
        "# Actions and questions",
        "",
        MADE,
        '`POST /api/sandboxes/<slug>/actions` with `{"action": NAME, …}` executes an action. The forms of the pages',
        "send the same fields.",
        "",
        *module_index("actions", actions.BY_NAME),
        "## Questions",
        "",
        "Questions change nothing: [questions](questions.md).",
        "",
    ]
    return "\n".join(lines)


def action_module_page(module: str) -> str:
    kinds = by_module(actions.BY_NAME)[module]
    lines = [f"# Actions: {module}", "", MADE, f"{module_doc(kinds)} All actions: [index](../actions.md).", ""]
    for name, kind in kinds.items():
        only = f" Role: {kind.only}." if kind.only else ""
        lines += [f"## {name}", "", f"Right: {kind.verb}.{only}", "", *about(kind)]
    return "\n".join(lines)


def questions_page() -> str:
    lines = ["# Questions", "", MADE]
    lines += ["`GET /api/sandboxes/<slug>/ask/<name>` asks a question. Right: see. Nothing changes.", ""]
    for name, question in questions.BY_NAME.items():
        lines += [f"## {name}", "", *about(question)]
    return "\n".join(lines)


def module_index(folder: str, kinds: Mapping[str, type]) -> list[str]:
    """Return a table of the pages of `folder`, with a link to each class."""
    rows = []
    for module, members in by_module(kinds).items():
        links = ", ".join(f"[{name}]({folder}/{module}.md#{_anchor(kind)})" for name, kind in members.items())
        rows.append((f"[{module}]({folder}/{module}.md)", cell(module_doc(members)), links))
    return table(("page", "content", folder), rows)


def _anchor(kind: type) -> str:
    """Return the anchor of the heading of a class."""
    return f"{kind.__name__.lower()}-flow" if kind in events.FLOW else kind.__name__.lower()


def module_doc(kinds: Mapping[str, type]) -> str:
    """Return the first line of the docstring of the module of `kinds`."""
    kind = next(iter(kinds.values()))
    return cleandoc(modules[kind.__module__].__doc__ or "").partition("\n")[0].replace(".  ", ". ")


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
    text = (getdoc(kind) or "") if kind.__doc__ else ""
    text = text.replace(".  ", ". ")
    made_up = text.startswith(f"{kind.__name__}(")  # the docstring that dataclass and NamedTuple generate
    return "" if made_up else text


def type_text(hint: Any) -> str:
    """Return a type in words for a reader of the API: `text (≤ 255)`, `list of whole number (0 … 20)`."""
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
