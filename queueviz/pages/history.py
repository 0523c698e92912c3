"""The History page: lag and throughput beyond the Board's five minutes, continued by live data without a gap."""

from typing import Any, NamedTuple, TypedDict, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from queueviz import engine
from queueviz.access import hidden_names, policy
from queueviz.boards.board import board_channel
from queueviz.boards.down_queue_texts import down_lines, known_text
from queueviz.boards.history_findings import FINDINGS, Band, bands_of
from queueviz.boards.history_lines import LAYERS, MEASURES, TOTAL, Lines, Measure, lines, span_of, table_of
from queueviz.boards.history_texts import FLOW, TEXTS, line_text
from queueviz.boards.js_texts import texts
from queueviz.boards.page import Context, Place
from queueviz.boards.rows import short_names
from queueviz.pages.pipeline import PageValues, fresh, page_context
from queueviz.runs.tables import Result, equals
from sandbox.control.readings import Refusal
from sandbox.journal.event_filter import Row
from sandbox.kernel.errors import SandboxError
from sandbox.queries.rows.board import Board

JOB = "lag_history"
MINUTE_MS = 60_000
JOURNAL_PAGES = 4  # searched for findings
BANDS_LISTED = 60
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
    by_queue = len(MEASURES[name].columns) == 1
    each_queue = by_queue and place.query.get("queues") == "all"
    each = _lines(result, pair, MEASURES[name], span, now_ms, each_queue=True) if pair and each_queue else None
    from_ms = now_ms - span * MINUTE_MS if span else 0
    findings = _findings(place, pair[0], from_ms) if pair else Findings((), None)
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
            "others": drawn.others,
            "measure": name,
            "queues": each and {"at_ms": each.at_ms, "lines": _without_total(each.lines)},
            "bands": [band._asdict() for band in findings.bands or ()],
            "span_ms": span * MINUTE_MS,
            "words": _words(),
        },
    }
    board = first["data"] if first else None
    header = board.get("header") if board else None
    known = known_text(header) if header else ""
    listed = each or drawn
    names = short_names(name for name in listed.lines if ":" in name)
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
        "by_queue": by_queue,
        "each_queue": each_queue,
        "not_drawn": each.others if each else 0,
        "table": table_of(listed),
        "line_names": [line_text(line, listed.others, names) for line in listed.lines],
        "bands": findings.bands and findings.bands[: -BANDS_LISTED - 1 : -1],
        "bands_known": findings.bands is not None,
        "bands_from_ms": findings.from_ms,
        "texts": texts(TEXTS),
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


class Findings(NamedTuple):
    """Bands of a group's findings.  `bands` None: unknown.  `from_ms`: where the search ended too early, else None."""

    bands: tuple[Band, ...] | None
    from_ms: int | None


def _findings(board: Place, group: str, from_ms: int) -> Findings:
    """Return the bands since `from_ms`.  A search reads at most `JOURNAL_PAGES` pages of the journal."""
    facts: list[Row] = []
    before: int | None = None
    for _number in range(JOURNAL_PAGES):
        try:
            looked = engine.answer(engine.port().look_back(board.slug, FINDINGS, before=before, most=500))
        except SandboxError:
            return Findings(None, None)
        facts += looked.rows
        before = looked.before
        if before is None or (looked.at_ms or from_ms) < from_ms:
            break
    queues = short_names(
        f"{queue['broker']}:{queue['queue_id']}" for topic in board.topics for queue in topic.get("queues", ())
    )
    bands = tuple(
        band for band in bands_of(reversed(facts), group, queues) if band.until_ms is None or band.until_ms > from_ms
    )
    return Findings(bands, looked.at_ms if before is not None and (looked.at_ms or 0) > from_ms else None)


def _without_total(lines_by_name: dict[str, list[float | None]]) -> dict[str, list[float | None]]:
    return {name: values for name, values in lines_by_name.items() if name != TOTAL}


def _lines(
    result: Result, pair: tuple[str, str], measure: Measure, span: int, now_ms: int, *, each_queue: bool = False
) -> Lines:
    from pyarrow import dataset

    from_ms = now_ms - span * MINUTE_MS if span else 0
    pair_only, columns = equals(group=pair[0], topic=pair[1]), ["queue", "from_ms", *measure.columns]

    def read(table: str, since_ms: int) -> Any:
        return result.batches(table, columns, pair_only & (dataset.field("from_ms") >= since_ms))

    return lines(LAYERS[span], read, measure, from_ms=from_ms, each_queue=each_queue)


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
        **{name: str(word) for name, word in FLOW.items()},
        "unknown": _("unknown"),
        "summary": _("{measure} from {begin} to {end}. Highest: {name} with {value}."),
        "lag": _("Lag"),
        "age": _("Oldest message age"),
        "flow": _("Throughput"),
    }
