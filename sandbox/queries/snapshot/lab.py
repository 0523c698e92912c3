"""How far the lab in progress is (channel `lab/<slug>`)."""


from sandbox.cluster.cluster import Cluster
from sandbox.cluster.lab_progress import LabProgress
from sandbox.labs.asked import Choice, Number, Order
from sandbox.labs.attempt import Attempt, Met
from sandbox.labs.lab import Question, shown
from sandbox.labs.verdict import Verdict
from sandbox.queries.rows.labs import AskedRow, LabRow, LabView, MetRow, OpenStepRow, StepRow, VerdictRow


def read_lab(cluster: Cluster) -> LabView:
    progress = cluster.companion(LabProgress)
    progress.catch_up()
    return {"lab": None if progress.attempt is None else lab_row(progress.attempt)}


def lab_row(attempt: Attempt) -> LabRow:
    lab = attempt.lab
    met = {one.step: one for one in attempt.met}
    return {
        "lab": lab.slug, "number": lab.number, "title": lab.title, "goal": lab.goal, "minutes": lab.minutes,
        "attempt": attempt.attempt, "exam": attempt.exam, "score": attempt.score, "finished": attempt.finished,
        "numbers": dict(attempt.evidence.numbers), "allowed": sorted(lab.allowed),
        "steps": [_step(step.title, number, attempt.step, met.get(number), attempt.hints.get(number, 0))
                  for number, step in enumerate(lab.steps, start=1)],
        "open": _open(attempt),
        "receipts": [{"step": receipt.step, "part": receipt.part, "seq": str(receipt.seq), "at_ms": receipt.at_ms,
                      "digest": receipt.digest} for receipt in attempt.receipts.kept],
    }  # fmt: skip


def _step(title: str, number: int, now: int, met: Met | None, hints: int) -> StepRow:
    state = "met" if met is not None else "open" if number == now else "later"
    return {"title": title, "state": state, "hints": hints, "met": None if met is None else _met(met)}


def _met(met: Met) -> MetRow:
    given, truth = met.given, met.truth
    if isinstance(truth, float):
        truth = round(truth, 1)  # a share, a second: read from the Board, not computed
    return {"seq": str(met.seq), "text": met.text, "values": met.values, "rests_on": list(map(str, met.rests_on)),
            "given": None if given is None else shown(given), "truth": None if truth is None else shown(truth),
            "accurate": met.accurate, "at_ms": met.at_ms}


def _open(attempt: Attempt) -> OpenStepRow | None:
    step, number = attempt.open_step, attempt.step
    if step is None:
        return None
    taken = attempt.hints.get(number, 0)
    return {
        "step": number, "phase": attempt.phase, "do": step.do, "watch": step.watch,
        "mark": step.mark.format(**attempt.evidence.numbers), "rate": step.rate,
        "predict": _asked(step.predict), "say": _asked(step.say), "why": _asked(step.why),
        "prediction": None if attempt.prediction is None else shown(attempt.prediction),
        "hints": list(step.hints[:taken]), "hints_left": 0 if attempt.exam else len(step.hints) - taken,
        "verdict": _verdict(attempt.verdict),
    }  # fmt: skip


def _asked(question: Question | None) -> AskedRow | None:
    if question is None:
        return None
    kind = question.kind
    options = kind.options if isinstance(kind, Choice) else kind.items if isinstance(kind, Order) else ()
    name = {Number: "number", Choice: "choice", Order: "order"}.get(type(kind), "event")
    return {"text": question.text, "kind": name, "unit": kind.unit if isinstance(kind, Number) else "",
            "options": [list(option) for option in options]}


def _verdict(verdict: Verdict) -> VerdictRow:
    return {"state": verdict.state, "text": verdict.text, "values": verdict.values,
            "rests_on": list(map(str, verdict.rests_on))}
