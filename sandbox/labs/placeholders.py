"""Placeholders of a lab made from a board, and the list of parts its teacher still has to write."""

from collections.abc import Callable

from sandbox.control.actions import BY_NAME
from sandbox.labs.evidence import Evidence
from sandbox.labs.lab import Lab, Step, Truth
from sandbox.labs.question_kinds import Number
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict

MARK = "FILL IN"
"""Begins every text, and every docstring of a check, that its teacher replaces."""

WRONG_SCRIPTS = 3  # the least a lab has


def truth(evidence: Evidence) -> Truth:
    """FILL IN: read the right answer from the evidence."""
    return Truth(0.0)


def carried_out(evidence: Evidence, action: str, **fields: object) -> Verdict:
    """Check whether an action with these fields was carried out in the open step."""
    for entry in evidence.actions(action):
        if fields.items() <= entry.event.fields.items():
            return Verdict.met(_("{action} was carried out."), action=action, rests_on=[entry.seq])
    return Verdict.not_yet(_("{action} has not been carried out yet."), action=action)


def unfinished(lab: Lab) -> list[str]:
    """Return one sentence per part that the teacher must finish before students can use the lab."""
    texts = [
        f"{location} is to be filled in: {', '.join(parts)}." for location, parts in _places(lab, _is_marked).items()
    ]
    texts += [
        f"{location} has an empty text: {', '.join(parts)}. Write one, and mark it with _()."
        for location, parts in _places(lab, lambda value: value == "").items()
    ]
    unknown = ", ".join(sorted(lab.allowed - BY_NAME.keys()))
    if unknown:
        texts.append(f"allowed names actions that there are not: {unknown}. docs/actions.md has all of them.")
    if not lab.steps:
        texts.append("There is no step: add a Step(...) to steps.")
    if len(lab.wrong) < WRONG_SCRIPTS:
        texts.append(
            f"Wrong scripts: {len(lab.wrong)} of at least {WRONG_SCRIPTS}. Write more, each for one "
            "misconception, and answered by a sentence of its own."
        )
    return texts


def _is_marked(value: object) -> bool:
    """Return True for a placeholder: a text that starts with MARK, or a function whose docstring does."""
    if isinstance(value, str):
        return value.startswith(MARK)
    return (getattr(value, "__doc__", None) or "").startswith(MARK)


def _places(lab: Lab, holds: Callable[[object], bool]) -> dict[str, list[str]]:
    """Return, by place in the lab, the names of the parts whose value satisfies `holds`."""
    parts: dict[str, dict[str, object]] = {"The lab": {"title": lab.title, "goal": lab.goal}}
    parts |= {f"Step {number}": _parts(step) for number, step in enumerate(lab.steps, start=1)}
    parts |= {
        f"Wrong script {wrong.name}": {
            "misconception": wrong.misconception,
            "sentence": wrong.sentence,
            "play": wrong.play,
        }
        for wrong in lab.wrong
    }
    marked = {
        location: [part for part, value in of_place.items() if holds(value)] for location, of_place in parts.items()
    }
    return {location: names for location, names in marked.items() if names}


def _parts(step: Step) -> dict[str, object]:
    values: dict[str, object] = {"title": step.title, "do": step.do, "check": step.check}
    for name, question in (("predict", step.predict), ("say", step.say), ("why", step.why)):
        if question is not None:
            values |= {f"{name}.text": question.text, f"{name}.right": question.right}
            if isinstance(question.kind, Number) and question.kind.unit:
                values[f"{name}.kind"] = question.kind.unit
            if name != "predict":
                values[f"{name}.again"] = question.again
    return values
