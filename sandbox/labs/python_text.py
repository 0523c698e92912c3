"""Conversion of values to Python source, in the form that a formatter leaves unchanged."""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from typing import Any, NamedTuple

from sandbox.control.actions import Action

WIDTH = 120
INDENT = 4

Rewrite = Callable[[str, Any], str | None]
"""Source for a field of an action by its name and value, where it is another than the value's own."""


class Call(NamedTuple):
    """Source of a call `name(…)`, or of a tuple or dict if the name is empty.

    `items` are source texts or nested calls; `before` is text in front of the call.
    """

    name: str
    items: tuple["str | Call", ...]
    before: str = ""
    brackets: str = "()"

    def on_one_line(self) -> str:
        inside = ", ".join(item if isinstance(item, str) else item.on_one_line() for item in self.items)
        is_single = not self.name and self.brackets == "()" and len(self.items) == 1
        return f"{self.before}{self.name}{self.brackets[0]}{inside}{',' if is_single else ''}{self.brackets[1]}"

    def lines(self, indent: int, after: str = "") -> list[str]:
        """Return the source lines: one line if it fits with the text `after`, else one line per item."""
        whole = " " * indent + self.on_one_line() + after
        if len(whole) <= WIDTH or not self.items:
            return [whole]
        lines = [f"{' ' * indent}{self.before}{self.name}{self.brackets[0]}"]
        for item in self.items:
            lines += (
                [" " * (indent + INDENT) + item + ","] if isinstance(item, str) else item.lines(indent + INDENT, ",")
            )
        return [*lines, " " * indent + self.brackets[1] + after]


def call_of(action: Action, rewrite: Rewrite, before: str = "") -> Call:
    """Return the constructor call of an action, with the fields that differ from their defaults."""
    items = []
    for spec in fields(action):
        value = getattr(action, spec.name)
        if spec.default is MISSING or value != spec.default:
            items.append(_item(spec.name, value, rewrite, f"{spec.name}="))
    return Call(type(action).__name__, tuple(items), before)


def names_in(calls: Iterable[Call]) -> set[str]:
    """Return the names of the classes that are called."""
    names: set[str] = set()
    for call in calls:
        names |= {call.name} | names_in(item for item in call.items if isinstance(item, Call))
    return names - {""}


def literal(value: object) -> str:
    """Return text or a number as a Python literal.

    Text has double quotes, unless it contains more double than single quotes.
    """
    if isinstance(value, str):
        text = repr(f'"{value}')[2:-1]  # with one of them in it, repr takes single quotes
        if value.count('"') > value.count("'"):
            return f"'{text}'"
        return '"' + text.replace("\\'", "'").replace('"', '\\"') + '"'
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10_000:
        return f"{value:_}"
    return repr(value)


def _item(name: str, value: Any, rewrite: Rewrite, before: str) -> "str | Call":
    written = rewrite(name, value)
    if written is not None:
        return before + written
    if isinstance(value, dict):
        items = tuple(_item("", item, rewrite, f"{literal(key)}: ") for key, item in value.items())
        return Call("", items, before, "{}")
    if hasattr(value, "_fields"):
        defaults = value._field_defaults
        fields = [field for field in value._fields if field not in defaults or getattr(value, field) != defaults[field]]
        items = tuple(_item(field, getattr(value, field), rewrite, f"{field}=") for field in fields)
        return Call(type(value).__name__, items, before)
    if isinstance(value, list | tuple):
        items = tuple(_item(name, item, rewrite, "") for item in value)
        return Call("", items, before, "[]" if isinstance(value, list) else "()")
    return before + literal(value)
