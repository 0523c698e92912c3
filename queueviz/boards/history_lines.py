"""Lines over time from the job `lag_history`: fine for recent times, coarse for older ones, gaps where unknown.

Rows come in layers, the coarsest first.  Each layer begins at the end of the previous one.  A point is drawn at the
end of its row's time, as on the Board's chart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from django.utils.translation import gettext_lazy as _

from queueviz.boards import rows

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy import bool_, float64
    from numpy.typing import NDArray

MOST_POINTS = 900  # of a line; more are put together
WORST = 3  # queues with a line of their own beside the total
SMALL_POINTS = 180  # of a line in the small chart of one queue
MOST_SMALL = 64  # small charts; the others are counted
TOTAL, OTHERS = "total", "others"  # names of lines; a queue's has a colon
TABLE_ROWS = 60
WIDTH_MS = {"seconds": 1_000, "tens": 10_000, "fives": 300_000}
LAYERS = {  # minutes shown → tables, the coarsest first
    15: ("seconds",),
    60: ("tens", "seconds"),
    360: ("tens", "seconds"),
    1_440: ("fives", "tens", "seconds"),
    0: ("fives", "tens", "seconds"),  # all there is
}


class Measure(NamedTuple):
    """A quantity that can be drawn over time.

    `columns`: its columns in the tables.  One column has lines of queues and their total: the sum, or the largest
    (`largest`).  Several columns are lines of the whole group.
    """

    word: object
    unit: object
    columns: tuple[str, ...]
    per_s: bool = False
    largest: bool = False


MEASURES = {
    "lag": Measure(_("Lag"), _("messages"), ("lag",)),
    "age": Measure(_("Oldest message age"), _("milliseconds"), ("lag_ms",), largest=True),
    "flow": Measure(_("Throughput"), _("messages a second"), ("produced", "consumed"), per_s=True),
}


Read = Callable[[str, int], "Sequence[pa.RecordBatch]"]
"""A table's rows from that time on: queue, from_ms and a measure's columns."""


Column = tuple["NDArray[float64]", "NDArray[bool_]"]
"""A queue's values at all times, and at which of them it has a row."""


class Lines(NamedTuple):
    """The lines of one measure.

    `at_ms`: the end times of the points.  `lines`: values by queue, column, TOTAL or OTHERS, None where unknown.
    `others`: the number of queues in OTHERS, or without a small chart.
    """

    at_ms: list[int]
    lines: dict[str, list[float | None]]
    others: int
    put_together: int  # rows in one point


def lines(tables: Sequence[str], read: Read, measure: Measure, *, from_ms: int, each_queue: bool = False) -> Lines:
    """Return the total, the worst queues and the rest as one line; with `each_queue`, the total and every queue.

    Of points merged into one, the worst value is kept; of rates, the mean.
    """
    import numpy as np

    times, columns = _joined(tables, read, measure, from_ms)
    if not times.size:
        return Lines([], {}, 0, 1)
    if len(measure.columns) > 1:
        sums = {column: np.sum([v for v, _ in queues.values()], axis=0) for column, queues in columns.items()}
        drawn, others = sums, 0
    elif each_queue:
        drawn, others = _each(columns[measure.columns[0]], measure)
    else:
        drawn, others = _grouped(columns[measure.columns[0]], measure)
    step = math.ceil(times.size / (SMALL_POINTS if each_queue else MOST_POINTS))
    ends = times[step - 1 :: step] if times.size % step == 0 else np.append(times[step - 1 :: step], times[-1])
    thin = {name: _thinned(values, step, mean=measure.per_s) for name, values in drawn.items()}
    return Lines([int(at) for at in ends], thin, others, step)


def _grouped(queues: Mapping[str, Column], measure: Measure) -> tuple[dict[str, NDArray[float64]], int]:
    worst = _worst(queues)
    shown = worst[: WORST if len(worst) > WORST + 1 else None]  # one queue alone has its name
    rest = [queues[queue] for queue in worst[len(shown) :]]
    drawn = {TOTAL: _total(list(queues.values()), measure)}
    drawn |= {queue: queues[queue][0] for queue in sorted(shown, key=rows.order)}
    return (drawn | {OTHERS: _total(rest, measure)} if rest else drawn), len(rest)


def _each(queues: Mapping[str, Column], measure: Measure) -> tuple[dict[str, NDArray[float64]], int]:
    shown = sorted(_worst(queues)[:MOST_SMALL], key=rows.order)
    total = {TOTAL: _total(list(queues.values()), measure)}
    return total | {queue: queues[queue][0] for queue in shown}, len(queues) - len(shown)


def _worst(queues: Mapping[str, Column]) -> list[str]:
    return sorted(queues, key=lambda queue: (-_top(queues[queue][0]), queue))


def _total(columns: Sequence[Column], measure: Measure) -> NDArray[float64]:
    """Return the sum or the largest of queues.  Unknown where one is; a queue without a row did not exist."""
    import numpy as np

    values = np.array([np.where(exists, v, 0) for v, exists in columns])
    total = values.max(axis=0) if measure.largest else values.sum(axis=0)
    return np.where(np.any([exists for _, exists in columns], axis=0), total, np.nan)


def _joined(
    tables: Sequence[str], read: Read, measure: Measure, from_ms: int
) -> tuple[Any, dict[str, dict[str, Column]]]:
    """Return the times of all layers, and each queue's values at these times, by column."""
    import numpy as np
    import pyarrow as pa

    parts = []
    for name in tables:
        batches, width_ms = read(name, from_ms), WIDTH_MS[name]
        table = pa.Table.from_batches(batches) if batches else None
        if table is None or not table.num_rows:
            continue
        per = width_ms / 1_000 if measure.per_s else 1
        values = [table[column].cast(pa.float64()).to_numpy() / per for column in measure.columns]
        ends = table["from_ms"].to_numpy() + width_ms
        parts.append((ends, np.array(table["queue"].to_pylist(), dtype=object), values))
        from_ms = int(ends.max())
    if not parts:
        return np.array([], dtype=np.int64), {}
    times = np.unique(np.concatenate([at for at, _, _ in parts]))
    names = sorted({queue for _, queues, _ in parts for queue in queues}, key=rows.order)
    columns = {
        c: {queue: (np.full(times.size, np.nan), np.zeros(times.size, dtype=bool)) for queue in names}
        for c in measure.columns
    }
    for at, queues, values in parts:
        where = np.searchsorted(times, at)
        for queue in set(queues):
            mine = queues == queue
            for column, some in zip(measure.columns, values, strict=True):
                column_values, exists = columns[column][queue]
                column_values[where[mine]] = some[mine]
                exists[where[mine]] = True
    return times, columns


def _thinned(values: Any, step: int, *, mean: bool) -> list[float | None]:
    """Return the values with each `step` of them merged into one.

    The merged value is unknown if one of its values is unknown.
    """
    import numpy as np

    full = np.append(values, np.repeat(values[-1:], -len(values) % step)).reshape(-1, step)
    whole = full.mean(axis=1) if mean else full.max(axis=1)
    return [None if math.isnan(value) else round(value, 3) for value in whole.tolist()]


def _top(values: Any) -> float:
    import numpy as np

    known = values[~np.isnan(values)]
    return float(known.max()) if known.size else -1.0


def table_of(history: Lines) -> list[tuple[int, list[float | None]]]:
    """Return the lines as rows of a table, the newest first: the time, and a value for each line.

    Only every n-th point is kept, so that the table has at most `TABLE_ROWS` rows.
    """
    step = max(1, math.ceil(len(history.at_ms) / TABLE_ROWS))
    return [
        (history.at_ms[i], [values[i] for values in history.lines.values()])
        for i in range(len(history.at_ms) - 1, -1, -step)
    ]


SHORTEST = min(filter(None, LAYERS))
"""Minutes; most sandboxes are young, and an hour of them is a stroke at the edge."""


def span_of(query: Mapping[str, str]) -> int:
    """Return the requested time span in minutes; 0 is everything."""
    asked = query.get("span", "")
    return int(asked) if asked.isdecimal() and int(asked) in LAYERS else SHORTEST
