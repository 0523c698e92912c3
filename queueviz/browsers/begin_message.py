"""The beginning of a run as its browser gets it: everything from which it is executed, again or for the first time."""

from queueviz.courses import deadlines
from queueviz.courses.lite_models import LiteRun
from queueviz.courses.lite_runs import entries_of, order_of


def begin_message(run: LiteRun) -> dict[str, object]:
    """Return the values of `begin`: `sandbox.lite.class_run` reads them."""
    submission = run.submission
    course, entries = submission.enrolment.course, entries_of(run)
    order = order_of(run, entries)
    due_at = deadlines.due_of(submission.enrolment)
    return {
        "lab": submission.lab,
        "template": order.template,
        "preset": order.preset,
        "seed": order.seed,
        "wall_ms": order.wall_ms,
        "memory_bytes": order.memory_bytes,
        "first_port": order.first_port,
        "conditions": order.conditions,
        "changes": dict(order.changes),
        "until_ms": order.until_ms,
        "came": [[came.turn, came.ms, came.name, came.fields, came.by] for came in order.came],
        "receipt": entries[-1].receipt if entries else "",
        "hold": run.hold or {},
        "open_until": course.open_until.get(submission.lab),
        "due_ms": None if due_at is None else round(due_at.timestamp() * 1000),
    }
