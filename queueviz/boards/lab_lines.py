"""Lines of a lab's step as HTML values: the label of each button, and the fields that it posts.

A button posts to the same address as the Board's own control, so rights and refusals are the same.
"""

import json
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple, cast
from urllib.parse import urlencode

from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.boards.counted import Counted
from queueviz.boards.lab_panel_texts import marked
from queueviz.templatetags.formats import duration, number
from queueviz.texts import Text
from sandbox.queries.rows.labs import ActionRow, LineRow

RESET = "ResetOffsets"  # its button opens the Board's dialog, which asks for the rest

SEND = Counted(
    partial(ngettext, "Send {count} message to {topic}", "Send {count} messages to {topic}"),
    "count",
)
SEND_SLOWLY = Counted(
    partial(
        ngettext,
        "Send {count} message to {topic}, {rate_per_s} per second",
        "Send {count} messages to {topic}, {rate_per_s} per second",
    ),
    "count",
)
SEND_LARGE = Counted(
    partial(
        ngettext,
        "Send {count} message of {body_bytes} bytes to {topic}",
        "Send {count} messages of {body_bytes} bytes to {topic}",
    ),
    "count",
)
SEND_KEY = Counted(
    partial(ngettext, "Send {key} to {topic}", "Send {key} to {topic}, {count} times"),
    "count",
)
SET_RATE = Counted(
    partial(
        ngettext, "Set {actor} to {rate_per_s} message per second", "Set {actor} to {rate_per_s} messages per second"
    ),
    "rate_per_s",
)
ADD = Counted(
    partial(ngettext, "Add {copies} member to {group}", "Add {copies} members to {group}"),
    "copies",
)

LABELS: dict[str, tuple[tuple[str, Text | Counted], ...]] = {
    "SendMessages": (
        ("rows", _("Send {rows} to {topic}")),
        ("key delay_level", _("Send {key} with delay level {delay_level} to {topic}")),
        ("key", SEND_KEY),
        ("tag body_bytes", _("Send a message with the tag {tag} and {body_bytes} bytes to {topic}")),
        ("tag", _("Send a message with the tag {tag} to {topic}")),
        ("rate_per_s", SEND_SLOWLY),
        ("body_bytes", SEND_LARGE),
        ("", SEND),
    ),
    "StartConsumer": (
        ("actor expression", _("Start {actor} in {group} with the expression {expression}")),
        ("actor", _("Start {actor} in {group}")),
        ("from_where", _("Add a member to {group} that begins at {from_where}")),
        ("", ADD),
    ),
    "StartProducer": (("", _("Start {actor} with the key {key}: {rate_per_s} messages per second to {topic}")),),
    "ChangeActor": (
        ("rate_per_s", SET_RATE),
        ("handler", _("Change the handler of {actor} to {handler}")),
        ("expression", _("Subscribe {actor} to {expression}")),
        ("slow_queue", _("Make the next message of {slow_queue} slow for {actor}: {slow_ms}")),
        ("work_ms", _("Make {actor} faster: {work_ms} ms for a message")),
    ),
    "StopActor": (("", _("Stop {actor}")),),
    "CrashActor": (("", _("Crash {actor}")),),
    "RestartActor": (("", _("Restart {actor}")),),
    "SetStrategy": (("", _("Set {strategy} for {group}")),),
    "ChangeTopic": (("", _("Set {topic} to {write_queues} write queues and {read_queues} read queues")),),
    "StartBroker": (
        ("broker_id=1", _("Start slave {broker_id} of {broker}")),
        ("", _("Start {broker}")),
    ),
    "KillBroker": (("", _("Kill {broker}")),),
    "HangBroker": (("", _("Hang {broker}")),),
    "ResumeBroker": (("", _("Resume {broker}")),),
    "PowerCut": (("", _("Cut the power of {broker}")),),
    "PromoteSlave": (("", _("Make slave {broker_id} of {broker} the master")),),
    "ChangeBroker": (("", _("Set {changes} on {broker}")),),
    "CutLink": (
        ("one_way", _("Cut the link from {a} to {b} in this direction")),
        ("", _("Cut the link between {a} and {b}")),
    ),
    "HealLink": (("", _("Heal the link between {a} and {b}")),),
    "AgeFiles": (("", _("Age the files of {broker} by {hours} hours")),),
    "CleanFiles": (("", _("Delete old files of {broker}")),),
    "ResendMessage": (("", _("Resend the message at offset {offset} of {topic}")),),
    RESET: (("", _("Reset {group} on {topic} to a time…")),),
    "EndTransaction": (
        ("outcome=commit", _("Commit the transaction {transaction_id}")),
        ("outcome=rollback", _("Roll back the transaction {transaction_id}")),
    ),
}
"""Labels by action and by the fields that must be set, the first that fits."""

DEFAULTS: dict[str, dict[str, object]] = {
    "SendMessages": {"count": 1},
    "StartConsumer": {"copies": 1},
    "StartProducer": {"key": "order-{n}"},
}
ID_CHARS = 8  # of a transaction: the end, in which they differ


class ButtonView(NamedTuple):
    """A button of a line.  `fields`: names and values as a form posts them; `query`: the same, for a link."""

    label: SafeString
    action: str
    fields: list[tuple[str, str]]

    @property
    def query(self) -> str:
        return urlencode(self.fields)


class LineView(NamedTuple):
    """A line of a step.  `reason`: why it is not possible yet; empty if it is."""

    state: str
    buttons: list[ButtonView]
    reason: SafeString


def lines(rows: list[LineRow]) -> list[LineView]:
    return [
        LineView(row["state"], [_button(action) for action in row["actions"]], marked(row["reason"], row["values"]))
        for row in rows
    ]


def _button(row: ActionRow) -> ButtonView:
    fields = [(name, _posted(value)) for name, value in row["fields"].items()]
    return ButtonView(label_of(row["action"], row["fields"]), row["action"], fields)


def label_of(action: str, fields: Mapping[str, object]) -> SafeString:
    """Return the label of a button, with its values as HTML and names marked as names."""
    values = {**DEFAULTS.get(action, {}), **_named(fields)}
    text = next(text for condition, text in LABELS[action] if _fits(condition, values))
    sentence = text.form(int(cast("float", values[text.by]))) if isinstance(text, Counted) else str(text)
    return format_html(conditional_escape(sentence), **{name: _shown(name, value) for name, value in values.items()})


def _fits(condition: str, values: Mapping[str, object]) -> bool:
    """Return True if the fields that a label needs are set: `key`, `outcome=commit`."""
    for part in condition.split():
        name, has_value, value = part.partition("=")
        if name not in values or (has_value and str(values[name]) != value):
            return False
    return True


def _named(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields with the expression of a subscription by its own name; `*` is not shown."""
    values = dict(fields)
    for subscription in cast("list[dict[str, str]]", values.pop("subscriptions", [])):
        if subscription["expression"] != "*":
            values["expression"] = subscription["expression"]
    return values


def _shown(name: str, value: object) -> SafeString | str:
    if name == "rows":
        keys = [row["key"] for row in cast("list[dict[str, str]]", value)]
        return format_html_join(", ", "<code>{}</code>", ((key,) for key in keys))
    if name == "changes":
        return format_html_join(", ", "<code>{}</code>", ((each,) for each in cast("dict[str, str]", value).values()))
    if name == "transaction_id":
        return format_html("<code>…{}</code>", str(value)[-ID_CHARS:])
    if name == "work_ms":
        return number(cast("list[int]", value)[-1])
    if name.endswith("_ms"):
        return duration(cast("int", value))
    if isinstance(value, str):
        return format_html("<code>{}</code>", value)
    return number(f"{value:g}" if isinstance(value, float) else value)


def _posted(value: object) -> str:
    """Return a value as a form field: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)
