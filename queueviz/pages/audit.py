"""The Audit page: the delivery verdict of every message, for each group, from the job `delivery_audit`."""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from queueviz.access import policy
from queueviz.boards.audit_matrix import (
    BREAKS,
    CAUSES,
    OUT_OF_ORDER,
    SENTENCES,
    VERDICTS,
    Break,
    Line,
    Strip,
    SummaryRow,
    matrix,
    strips,
)
from queueviz.boards.audit_sentence import groups_with_losses, sentence_of, worst_of
from queueviz.boards.page import Context
from queueviz.pages.pipeline import fresh, page_context
from queueviz.runs.tables import Result, Rows, equals
from sandbox.queries.rows.snapshot import Snapshot

JOB = "delivery_audit"
SHOWN_LINES = 500  # groups on topics
SHOWN_MESSAGES = 200
DRAWN_MESSAGES = 200_000  # of one group on one topic; above it only counts are shown
DRAWN_QUEUES = 64
DAY_MS = 86_400_000

Record = dict[str, object]  # for the template


class Choice(NamedTuple):
    """The selection in the query: one line of the matrix, and one kind of its messages."""

    group: str
    topic: str
    verdict: str | None
    cause: str | None
    queue: str | None


@require_safe
def audit(request: HttpRequest, slug: str) -> HttpResponse:
    values = page_context(request, slug, "audit")
    result = Result(JOB, slug)
    age = fresh(policy.ours(values["visit"]), JOB, result)
    context: Context = {
        **values,
        **age,
        "is_of_today": (age["age_ms"] or 0) < DAY_MS,
        **_found(result, request.GET),
        "since": _since(values["snapshot"], result),
        "verdicts": VERDICTS,
        "sentences": SENTENCES,
    }
    return render(request, "queueviz/boards/audit.html", context)


def _found(result: Result, query: Mapping[str, str]) -> Context:
    if result.manifest is None:
        return {"lines": None}
    summary = result.rows("summary", SummaryRow, most=SHOWN_LINES * len(VERDICTS))
    lines = matrix(summary.rows, _breaks(result))[:SHOWN_LINES]
    line = _chosen(lines, query)
    if line is None:
        return {"lines": lines, "line": None}
    verdict = _one_of(VERDICTS, query, "verdict")
    causes = BREAKS if verdict == OUT_OF_ORDER else CAUSES
    choice = Choice(line.group, line.topic, verdict, _one_of(causes, query, "cause"), query.get("queue") or None)
    drawn = _strips(result, line)
    rows = _messages(result, choice)
    return {
        "lines": lines,
        "line": line,
        "choice": choice,
        "says": sentence_of(line),
        "worst": worst_of(line),
        "other_losses": groups_with_losses(lines, line),
        "strips": drawn,
        "too_many": drawn is None,
        "messages": rows.rows,
        "is_cut": rows.is_cut,
        "most": SHOWN_MESSAGES,
        "causes": causes,
        "sentence": SENTENCES.get(choice.verdict or ""),
        "is_order": choice.verdict == OUT_OF_ORDER,
    }


def _chosen(lines: list[Line], query: Mapping[str, str]) -> Line | None:
    asked = query.get("group"), query.get("topic")
    requested = [line for line in lines if asked in ((line.group, line.topic), (line.group, None))]
    ordinary = [line for line in lines if not line.topic.startswith("%")]  # no retries, no dead letters
    return next(iter(requested or ordinary or lines), None)


def _one_of(known: Mapping[str, object], query: Mapping[str, str], name: str) -> str | None:
    value = query.get(name)
    return value if value in known else None


def _breaks(result: Result) -> dict[tuple[str, str], dict[str, Break]]:
    """Return order violations by group and topic, then by kind (`queue` or `key`)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    batches = result.batches("order_breaks", ["group", "topic", "key", "seq"])
    if not batches:
        return {}
    table = pa.Table.from_batches(batches)
    table = table.append_column("is_queue", pc.is_null(table["key"]))
    counted = table.group_by(["group", "topic", "is_queue"]).aggregate([("seq", "count"), ("seq", "min")])
    spans: dict[tuple[str, str], dict[str, Break]] = defaultdict(dict)
    for row in counted.to_pylist():
        kind = "queue" if row["is_queue"] else "key"
        spans[row["group"], row["topic"]][kind] = Break(row["seq_count"], row["seq_min"])
    return spans


def _strips(result: Result, line: Line) -> list[Strip] | None:
    """Return the strips of a line's queues, or None if there are too many messages to draw."""
    if line.total > DRAWN_MESSAGES:
        return None
    where = equals(group=line.group, topic=line.topic)
    return strips(result.batches("messages", ["queue", "queue_offset", "verdict"], where))[:DRAWN_QUEUES]


def _messages(result: Result, choice: Choice) -> Rows[Record]:
    from pyarrow import dataset

    if choice.verdict == OUT_OF_ORDER:
        where = equals(group=choice.group, topic=choice.topic, queue=choice.queue)
        if choice.cause is not None:
            where &= dataset.field("key").is_null() if choice.cause == "queue" else dataset.field("key").is_valid()
        return result.first("order_breaks", Record, ["queue", "queue_offset"], where=where, most=SHOWN_MESSAGES)
    where = equals(
        group=choice.group, topic=choice.topic, verdict=choice.verdict, cause=choice.cause, queue=choice.queue
    )
    return result.first("messages", Record, ["queue", "queue_offset"], where=where, most=SHOWN_MESSAGES)


def _since(snapshot: Snapshot, result: Result) -> int | None:
    """Return the number of events after the result, or None if the result has no last event."""
    return None if result.true_to is None else max(0, int(snapshot["seq"]) - result.true_to)
