"""The progress of the lab in progress (channel `lab/<slug>`).

Numbers of a lab and values of a verdict are included only if one of the shown texts names them: others may be answers.
"""

from collections.abc import Iterable, Iterator, Mapping
from string import Formatter
from typing import cast

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.lab_progress import LabProgress
from sandbox.cluster.teacher_hold import TeacherHold
from sandbox.labs.attempt import Attempt, Met
from sandbox.labs.evidence_measures import last_end
from sandbox.labs.lab import NAMES, Question, shown
from sandbox.labs.question_kinds import Choice, Number, Order
from sandbox.labs.step_lines import lines_of, states_of
from sandbox.labs.translation_marks import _
from sandbox.labs.verdict import Verdict
from sandbox.queries.rows.labs import (
    AskedRow,
    EffectRow,
    HoldRow,
    LabRow,
    LabView,
    LineRow,
    MetRow,
    OpenStepRow,
    StepRow,
    VerdictRow,
)

COUNTED_MS = 2_000  # shorter times are not counted down
NO_MEMBER = _("No member of {group} is running: restart one, or add a consumer.")
EFFECT_MS = 120_000  # an intervention is shown for so long


def read_lab(cluster: Cluster) -> LabView:
    progress = cluster.companion(LabProgress)
    progress.catch_up()
    return {
        "lab": None if progress.attempt is None else lab_row(progress.attempt, cluster.clock.now_ms()),
        "hold": _hold(cluster),
    }


def _hold(cluster: Cluster) -> HoldRow:
    held, now_ms = cluster.companion(TeacherHold), cluster.environment.outside.now_ms()
    return {
        "frozen": held.is_frozen,
        "acts": held.acts,
        "coming": [
            {"kind": item.kind, "in_s": max(0, -(-(item.at_wall_ms - now_ms) // 1000))}
            for item in held.coming
            if item.at_wall_ms - now_ms > COUNTED_MS
        ],
        "effect": effect_row(held, now_ms),
    }


def effect_row(held: TeacherHold, now_ms: int) -> EffectRow | None:
    """Return the newest intervention, or None if it is long ago by the machine's clock."""
    effect = held.effect
    if effect is None or now_ms - effect.at_wall_ms > EFFECT_MS:
        return None
    return cast(EffectRow, effect._asdict())


def lab_row(attempt: Attempt, now_ms: int) -> LabRow:
    lab = attempt.lab
    met = {step_met.step: step_met for step_met in attempt.met}
    now = _open(attempt, now_ms)
    return {
        "lab": lab.slug,
        "number": lab.number,
        "title": lab.title,
        "goal": lab.goal,
        "minutes": lab.minutes,
        "attempt": attempt.attempt,
        "exam": attempt.exam,
        "score": attempt.score,
        "finished": attempt.finished,
        "numbers": _named(_texts(attempt, now), attempt.evidence.numbers, NAMES),
        "allowed": sorted(lab.allowed),
        "steps": [
            _step(step.title, number, attempt.step, met.get(number), attempt.hints.get(number, 0))
            for number, step in enumerate(lab.steps, start=1)
        ],
        "open": now,
        "receipts": [
            {
                "step": receipt.step,
                "part": receipt.part,
                "seq": str(receipt.seq),
                "at_ms": receipt.at_ms,
                "digest": receipt.digest,
                "key": receipt.key,
            }
            for receipt in attempt.receipts.kept
        ],
    }


def _texts(attempt: Attempt, now: OpenStepRow | None) -> Iterator[str]:
    """Yield all shown texts that are filled with the lab's numbers."""
    lab = attempt.lab
    yield from (lab.title, lab.goal, *(step.title for step in lab.steps))
    for step_met in attempt.met:
        predict = lab.steps[step_met.step - 1].predict
        yield from () if predict is None else (text for _, text in predict.options)
    if now is not None:
        yield from (now["do"], now["watch"], *now["hints"])
        for asked in (now["predict"], now["say"], now["why"]):
            yield from () if asked is None else (asked["text"], *(text for _, text in asked["options"]))


def _named(texts: Iterable[str], values: Mapping[str, object], more: Iterable[str] = ()) -> dict[str, object]:
    """Return those of `values` that a text names or that are in `more`."""
    names = {name.partition(".")[0] for text in texts for _, name, _, _ in Formatter().parse(text) if name} | set(more)
    return {name: value for name, value in values.items() if name in names}


def _step(title: str, number: int, now: int, met: Met | None, hints: int) -> StepRow:
    state = "met" if met is not None else "open" if number == now else "later"
    return {"title": title, "state": state, "hints": hints, "met": None if met is None else _met(met)}


def _met(met: Met) -> MetRow:
    answer, truth = met.given, met.truth
    if isinstance(truth, float):
        truth = round(truth, 1)  # a share, a second: read from the Board, not computed
    return {
        "seq": str(met.seq),
        "text": met.text,
        "values": _named([met.text], met.values),
        "rests_on": list(map(str, met.rests_on)),
        "given": None if answer is None else shown(answer),
        "truth": None if truth is None else shown(truth),
        "accurate": met.accurate,
        "at_ms": met.at_ms,
    }


def _open(attempt: Attempt, now_ms: int) -> OpenStepRow | None:
    step, number = attempt.open_step, attempt.step
    if step is None:
        return None
    taken, lines = attempt.hints.get(number, 0), _lines(attempt, now_ms)
    return {
        "step": number,
        "phase": attempt.phase,
        "do": step.do,
        "lines": lines,
        "watch": step.watch,
        "mark": step.mark.format(**attempt.evidence.numbers),
        "page": step.page.format(**attempt.evidence.numbers),
        "rate": step.rate,
        "predict": _asked(step.predict),
        "say": _asked(step.say),
        "why": _asked(step.why),
        "prediction": None if attempt.prediction is None else shown(attempt.prediction),
        "answers": {part: shown(answer) for part, answer in attempt.answers.items()},
        "acted": any(attempt.evidence.actions(name, since=attempt.opened) for name in attempt.lab.allowed),
        "hints": list(step.hints[:taken]),
        "hints_left": 0 if attempt.exam else len(step.hints) - taken,
        "verdict": _verdict(_blocked(attempt, lines) or attempt.verdict_at(now_ms)),
    }


def _blocked(attempt: Attempt, lines: list[LineRow]) -> Verdict | None:
    """Return what prevents the step from going on after all its lines; None if nothing is known."""
    if attempt.phase != "do" or attempt.verdict.state != "not_yet" or any(line["state"] != "done" for line in lines):
        return None
    group = attempt.evidence.numbers["group"]
    ended = last_end(attempt.evidence, group)
    return None if ended is None else Verdict.not_yet(NO_MEMBER, group=group, rests_on=[ended])


def _lines(attempt: Attempt, now_ms: int) -> list[LineRow]:
    lines, evidence = lines_of(attempt.lab, attempt.step), attempt.evidence
    with evidence.at(max(now_ms, evidence.now_ms)):
        return [
            {
                "state": line.state,
                "actions": [
                    {"action": option.action, "fields": option.fields, "asks": sorted(option.asks)}
                    for option in line.options
                ],
                "reason": line.reason,
                "values": _named([line.reason], line.values),
            }
            for line in states_of(lines, evidence, attempt.opened, attempt.phase)
        ]


def _asked(question: Question | None) -> AskedRow | None:
    if question is None:
        return None
    kind = question.kind
    options = kind.options if isinstance(kind, Choice) else kind.items if isinstance(kind, Order) else ()
    name = {Number: "number", Choice: "choice", Order: "order"}.get(type(kind), "event")
    return {
        "text": question.text,
        "kind": name,
        "unit": kind.unit if isinstance(kind, Number) else "",
        "options": [list(option) for option in options],
    }


def _verdict(verdict: Verdict) -> VerdictRow:
    return {
        "state": verdict.state,
        "text": verdict.text,
        "values": _named([verdict.text], verdict.values),
        "rests_on": list(map(str, verdict.rests_on)),
    }
