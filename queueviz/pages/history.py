"""The History page: lag and throughput beyond the Board's five minutes, continued by live data without a gap."""

from typing import Any, TypedDict, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from queueviz import engine
from queueviz.access import hidden_names, policy
from queueviz.boards.board import board_channel
from queueviz.boards.down_queue_texts import down_lines, known_text
from queueviz.boards.history_lines import LAYERS, MEASURES, Lines, Measure, lines, span_of, table_of
from queueviz.boards.page import Context, Place
from queueviz.pages.pipeline import PageValues, fresh, page_context
from queueviz.runs.tables import Result, equals
from sandbox.control.readings import Refusal
from sandbox.queries.rows.board import Board

JOB = "lag_history"
MINUTE_MS = 60_000
SPANS = {15: ("15 m"), 60: ("1 h"), 360: ("6 h"), 1_440: ("24 h"), 0: ""}


@require_safe
def history(request: HttpRequest, slug: str) -> HttpResponse:
    values = page_context(request, slug, "history")
    return render(request, "queueviz/boards/history.html", {**values, **_drawn(values, Result(JOB, slug))})


def _drawn(values: PageValues, result: Result) -> Context:
    place = values["place"]
    pairs = _pairs(place, result)
    pair = _chosen(pairs, place)
    name = place.query.get("measure", "lag")
    name = name if name in MEASURES else "lag"
    span, now_ms = span_of(place.query), values["snapshot"].get("at_ms") or 0
    drawn = _lines(result, pair, MEASURES[name], span, now_ms) if pair else Lines([], {}, 0, 1)
    channel = board_channel(
        Place(place.slug, place.snapshot, dict(zip(("group", "topic"), pair, strict=True))) if pair else place
    )
    known_as = None if channel is None else hidden_names.shown_channel(channel)
    first = _first(channel)
    live = {
        **values["live"],
        "channels": {"board": known_as} if known_as else {},
        "group": pair and pair[0],
        "topic": pair and pair[1],
        "first": {known_as: first} if first else {},
        "history": {
            "at_ms": drawn.at_ms,
            "lines": drawn.lines,
            "measure": name,
            "span_ms": span * MINUTE_MS,
            "words": _words(),
        },
    }
    board = first["data"] if first else None
    header = board.get("header") if board else None
    known = known_text(header) if header else ""
    return {
        **fresh(policy.ours(values["visit"]), JOB, result),
        "known": [known, *down_lines((board.get("queues") if board else None) or {})] if known else [],
        "live": live,
        "pairs": pairs,
        "pair": pair,
        "measures": MEASURES,
        "measure": name,
        "spans": SPANS,
        "span": span,
        "found": drawn,
        "table": table_of(drawn),
        "line_names": list(drawn.lines),
        "true_at_ms": drawn.at_ms[-1] if drawn.at_ms else None,
    }


def _pairs(place: Place, result: Result) -> list[tuple[str, str]]:
    """Return pairs of group and topic: those that exist, and those in the result."""
    import pyarrow as pa

    pairs = {
        (str(group["group"]), str(subscription["topic"]))
        for group in place.groups
        for subscription in group.get("subscription", ())
        if not str(subscription["topic"]).startswith("%")
    }
    for table in ("fives", "tens", "seconds"):
        batches = result.batches(table, ["group", "topic"])
        if batches:
            known = pa.Table.from_batches(batches).group_by(["group", "topic"]).aggregate([])
            pairs |= {(row["group"], row["topic"]) for row in known.to_pylist()}
            break
    return sorted(pair for pair in pairs if not pair[1].startswith("%"))


def _chosen(pairs: list[tuple[str, str]], place: Place) -> tuple[str, str] | None:
    group, topic = place.query.get("group"), place.query.get("topic")
    requested = [pair for pair in pairs if pair[0] == group and topic in (pair[1], None, "")]
    return next(iter(requested or pairs), None)


def _lines(result: Result, pair: tuple[str, str], measure: Measure, span: int, now_ms: int) -> Lines:
    from pyarrow import dataset

    from_ms = now_ms - span * MINUTE_MS if span else 0
    pair_only, columns = equals(group=pair[0], topic=pair[1]), ["queue", "from_ms", *measure.columns]

    def read(table: str, since_ms: int) -> Any:
        return result.batches(table, columns, pair_only & (dataset.field("from_ms") >= since_ms))

    return lines(LAYERS[span], read, measure, from_ms=from_ms)


class FirstReading(TypedDict):
    """The newest reading of a channel, for the first paint of a page."""

    seq: str
    at_ms: int
    rate: float
    ep: str
    data: Board


def _first(channel: str | None) -> FirstReading | None:
    """Return the newest reading of the live part for the first paint, or None if the engine refuses it."""
    if channel is None:
        return None
    [reading] = engine.answer(engine.port().read([channel]))
    if isinstance(reading, Refusal):
        return None
    return {
        "seq": str(reading.seq),
        "at_ms": reading.at_ms,
        "rate": reading.rate,
        "ep": reading.epoch,
        "data": cast(Board, reading.data),
    }


def _words() -> dict[str, str]:
    """Return the texts of this page.  They are not among the texts of all pages, to keep the Board small."""
    return {
        "now": _("now"),
        "computed": _("computed"),
        "live": _("live"),
        "at": _("{time}, {ago} ago"),
        "produced": _("in"),
        "consumed": _("out"),
        "unknown": _("unknown"),
        "summary": _("{measure} from {begin} to {end}. Highest: {name} with {value}."),
        "lag": _("Lag"),
        "age": _("Oldest message age"),
        "flow": _("Throughput"),
    }
