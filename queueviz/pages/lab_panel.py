"""The panel of a lab in progress, in the reader's language."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from queueviz.refusals import filled
from sandbox.queries.rows.labs import AskedRow, LabRow, MetRow, OpenStepRow, VerdictRow

PHASES: dict[str, Any] = {"predict": _("Predict"), "do": _("Do and see"), "say": _("Say what you saw"), "why": _("Why")}


def panel(lab: LabRow) -> dict[str, Any]:
    """As `LabRow`, its texts filled in; `phases`: of the open step, those it has."""
    numbers, found = lab["numbers"], lab["open"]
    receipts = lab["receipts"]
    return {
        **lab,
        "title": gettext(lab["title"]), "goal": filled(lab["goal"], numbers),
        "steps": [{**step, "number": number, "title": filled(step["title"], numbers), "met": _met(step["met"])}
                  for number, step in enumerate(lab["steps"], start=1)],
        "open": None if found is None else _open(found, numbers),
        "receipt": receipts[-1] if receipts else None,
    }  # fmt: skip


def _met(met: MetRow | None) -> dict[str, Any] | None:
    return None if met is None else {**met, "text": filled(met["text"], met["values"])}


def _open(step: OpenStepRow, numbers: Mapping[str, Any]) -> dict[str, Any]:
    questions = {"predict": step["predict"], "say": step["say"], "why": step["why"]}
    there = [name for name in PHASES if name == "do" or questions[name] is not None]
    now = there.index(step["phase"])
    return {
        **step,
        "do": filled(step["do"], numbers), "watch": filled(step["watch"], numbers),
        "hints": [filled(hint, numbers) for hint in step["hints"]],
        "verdict": _verdict(step["verdict"]),
        "phases": [{"name": name, "title": PHASES[name], "number": number + 1,
                    "asked": _asked(questions.get(name), numbers),
                    "state": "past" if number < now else "now" if number == now else "later"}
                   for number, name in enumerate(there)],
    }  # fmt: skip


def _verdict(verdict: VerdictRow) -> dict[str, Any]:
    return {**verdict, "text": filled(verdict["text"], verdict["values"])}


def _asked(asked: AskedRow | None, numbers: Mapping[str, Any]) -> dict[str, Any] | None:
    if asked is None:
        return None
    return {**asked, "text": filled(asked["text"], numbers), "unit": filled(asked["unit"], {}),
            "options": [(value, filled(text, numbers)) for value, text in asked["options"]]}  # fmt: skip
