"""The template values of the panel of a lab in progress, in the reader's language."""

import secrets
from collections.abc import Mapping
from zlib import crc32

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from queueviz.boards.lab_lines import LineView, lines
from queueviz.boards.lab_panel_texts import marked
from queueviz.boards.predictions import Predictions
from queueviz.boards.registry import TABS
from queueviz.texts import Texts
from sandbox.labs.catalogue import LABS
from sandbox.labs.catalogue.packs import PACKS
from sandbox.labs.lab import Question
from sandbox.queries.rows.labs import AskedRow, LabRow, MetRow, OpenStepRow, VerdictRow

KEY_BYTES = 12
PRESS = _("Nothing done yet: press “{label}”.")
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
                "met": step["met"] and _met(step["met"], _predicted(lab, number), _choices(lab, number)),
            }
            for number, step in enumerate(lab["steps"], start=1)
        ],
        "open": None if opened is None else _open(opened, numbers, _choices(lab, opened["step"])),
        "predictions": Predictions.of(LABS[lab["lab"]], (step["met"] for step in lab["steps"])),
        "key": secrets.token_urlsafe(KEY_BYTES),
        "next": _next(lab["lab"]) if lab["finished"] else None,
        "pack": _place(lab["lab"]),
    }


def _next(slug: str) -> dict[str, str] | None:
    """Return the lab after this one in its pack, or None after the last."""
    labs = next((pack.labs for pack in PACKS if LABS[slug] in pack.labs), ())
    after = labs[labs.index(LABS[slug]) + 1 :] if labs else ()
    return {"slug": after[0].slug, "title": gettext(after[0].title)} if after else None


def _place(slug: str) -> dict[str, object] | None:
    """Return the pack of a lab and its position there, from 1; None if it is in no pack."""
    for pack in PACKS:
        if LABS[slug] in pack.labs:
            return {"title": gettext(pack.title), "at": pack.labs.index(LABS[slug]) + 1, "all": len(pack.labs)}
    return None


def _predicted(lab: LabRow, step: int) -> Question | None:
    return LABS[lab["lab"]].steps[step - 1].predict


def _choices(lab: LabRow, step: int) -> dict[str | None, str]:
    """Return the options of a step's prediction: value → text.  Empty if the prediction is no choice."""
    asked = _predicted(lab, step)
    options = () if asked is None else asked.options
    return {value: mark_safe(marked(text, lab["numbers"]).rstrip(".。")) for value, text in options}


def _met(met: MetRow, asked: Question | None, choices: Mapping[str | None, str]) -> dict[str, object]:
    truth = met["truth"]
    tolerance = 0 if asked is None or truth is None else asked.tolerance(truth)
    return {
        **met,
        "text": marked(met["text"], met["values"]),
        "given": choices.get(met["given"], met["given"]),
        "truth": choices.get(truth, truth),
        "chosen": bool(choices),
        "tolerance": f"{round(tolerance, 1):g}" if tolerance else None,
    }


def _open(step: OpenStepRow, numbers: Mapping[str, object], choices: Mapping[str | None, str]) -> dict[str, object]:
    questions = {"predict": step["predict"], "say": step["say"], "why": step["why"]}
    phases = [name for name in PHASES if name == "do" or questions[name] is not None]
    now, shown = phases.index(step["phase"]), lines(step["lines"])
    return {
        **step,
        "predicted": _answer(step["predict"], step["prediction"], numbers),
        "prediction": choices.get(step["prediction"], step["prediction"]),
        "chosen": bool(choices),
        "do": marked(step["do"], numbers),
        "lines": shown,
        "acts_before": any(line["state"] != "later" for line in step["lines"]),
        "page_title": next((tab.title for tab in TABS if tab.path and step["page"].startswith(tab.path)), ""),
        "watch": marked(step["watch"], numbers),
        "hints": [marked(hint, numbers) for hint in step["hints"]],
        "verdict": _verdict(step["verdict"], [] if step["acted"] else shown),
        "phases": [
            {
                "name": name,
                "title": PHASES[name],
                "number": number + 1,
                "asked": _asked(questions.get(name), numbers, f"{step['step']} {name}"),
                "answer": _answer(questions.get(name), step["answers"].get(name), numbers),
                "state": "past" if number < now else "now" if number == now else "later",
            }
            for number, name in enumerate(phases)
        ],
    }


def _verdict(verdict: VerdictRow, shown: list[LineView]) -> dict[str, object]:
    """Return a verdict; of a step in which nothing was done, it names the buttons of the lines that are `shown`."""
    text = marked(verdict["text"], verdict["values"])
    possible = [button.label for line in shown if line.state == "now" for button in line.buttons]
    if verdict["state"] == "not_yet" and possible:
        text = format_html(escape(PRESS), label=format_html_join(" / ", "{}", ((label,) for label in possible)))
    return {**verdict, "text": text}


def _asked(asked: AskedRow | None, numbers: Mapping[str, object], phase: str) -> dict[str, object] | None:
    """Return a question; reasons are in an order that depends on the lab's numbers, so that position is no hint."""
    if asked is None:
        return None
    options = [(value, marked(text, numbers)) for value, text in asked["options"]]
    if phase.endswith(" why"):
        options.sort(key=lambda option: crc32(f"{phase} {option[0]} {numbers}".encode()))
    return {**asked, "text": marked(asked["text"], numbers), "unit": marked(asked["unit"], {}), "options": options}


def _answer(asked: AskedRow | None, answer: str | None, numbers: Mapping[str, object]) -> SafeString | str:
    """Return a right answer as the reader chose or wrote it; empty if there is none yet."""
    if asked is None or answer is None:
        return ""
    text = dict(asked["options"]).get(answer)
    return marked(text, numbers) if text else f"{answer} {gettext(asked['unit']) if asked['unit'] else ''}".strip()
