"""The template values of the panel of a lab in progress, in the reader's language."""

import secrets
from collections.abc import Mapping

from django.utils.safestring import mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from queueviz.boards.registry import TABS
from queueviz.courses.grades import Predictions
from queueviz.pages.lab_lines import lines
from queueviz.pages.lab_panel_texts import marked
from queueviz.texts import Texts
from sandbox.labs.catalogue import LABS
from sandbox.queries.rows.labs import AskedRow, LabRow, MetRow, OpenStepRow, VerdictRow

KEY_BYTES = 12
PHASES: Texts = {
    "predict": _("Predict"),
    "do": _("Act and observe"),
    "say": _("Report your observation"),
    "why": _("Why"),
}


def panel(lab: LabRow) -> dict[str, object]:
    """Return a `LabRow` with its texts filled in.

    `phases`: of the open step, those it has.  `next`: the following lab, after a finished one.  `key`: a key of the
    answer that the form sends; repeated requests with one key count as one answer.
    """
    numbers, opened = lab["numbers"], lab["open"]
    return {
        **lab,
        "title": gettext(lab["title"]),
        "goal": marked(lab["goal"], numbers),
        "steps": [
            {
                **step,
                "number": number,
                "title": marked(step["title"], numbers),
                "met": step["met"] and _met(step["met"], _choices(lab, number)),
            }
            for number, step in enumerate(lab["steps"], start=1)
        ],
        "open": None if opened is None else _open(opened, numbers, _choices(lab, opened["step"])),
        "predictions": Predictions.of(LABS[lab["lab"]], (step["met"] for step in lab["steps"])),
        "key": secrets.token_urlsafe(KEY_BYTES),
        "next": _next(lab) if lab["finished"] else None,
    }


def _next(lab: LabRow) -> dict[str, str] | None:
    """Return the lab after this one, or None after the last."""
    all_labs = list(LABS.values())
    at = all_labs.index(LABS[lab["lab"]]) + 1
    if at == len(all_labs):
        return None
    return {"slug": all_labs[at].slug, "number": all_labs[at].number, "title": gettext(all_labs[at].title)}


def _choices(lab: LabRow, step: int) -> dict[str | None, str]:
    """Return the options of a step's prediction: value → text.  Empty if the prediction is no choice."""
    asked = LABS[lab["lab"]].steps[step - 1].predict
    options = () if asked is None else asked.options
    return {value: mark_safe(marked(text, lab["numbers"]).rstrip(".。")) for value, text in options}


def _met(met: MetRow, choices: Mapping[str | None, str]) -> dict[str, object]:
    return {
        **met,
        "text": marked(met["text"], met["values"]),
        "given": choices.get(met["given"], met["given"]),
        "truth": choices.get(met["truth"], met["truth"]),
        "chosen": bool(choices),
    }


def _open(step: OpenStepRow, numbers: Mapping[str, object], choices: Mapping[str | None, str]) -> dict[str, object]:
    questions = {"predict": step["predict"], "say": step["say"], "why": step["why"]}
    phases = [name for name in PHASES if name == "do" or questions[name] is not None]
    now = phases.index(step["phase"])
    return {
        **step,
        "prediction": choices.get(step["prediction"], step["prediction"]),
        "chosen": bool(choices),
        "do": marked(step["do"], numbers),
        "lines": lines(step["lines"]),
        "acts_before": any(line["state"] != "later" for line in step["lines"]),
        "page_title": next((tab.title for tab in TABS if tab.path and step["page"].startswith(tab.path)), ""),
        "watch": marked(step["watch"], numbers),
        "hints": [marked(hint, numbers) for hint in step["hints"]],
        "verdict": _verdict(step["verdict"]),
        "phases": [
            {
                "name": name,
                "title": PHASES[name],
                "number": number + 1,
                "asked": _asked(questions.get(name), numbers),
                "state": "past" if number < now else "now" if number == now else "later",
            }
            for number, name in enumerate(phases)
        ],
    }


def _verdict(verdict: VerdictRow) -> dict[str, object]:
    return {**verdict, "text": marked(verdict["text"], verdict["values"])}


def _asked(asked: AskedRow | None, numbers: Mapping[str, object]) -> dict[str, object] | None:
    if asked is None:
        return None
    return {
        **asked,
        "text": marked(asked["text"], numbers),
        "unit": marked(asked["unit"], {}),
        "options": [(value, marked(text, numbers)) for value, text in asked["options"]],
    }
