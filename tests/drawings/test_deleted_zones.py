"""Messages that retention deleted: drawn as deleted, and counted as the server counts them."""

import re
from typing import Any

import pytest

from sandbox.queries.rows.lag import deleted_lag, deleted_unread
from tests.drawings.modules import Modules
from tests.drawings.test_strip import plans

SIZE = {"width": 542, "height": 50, "window": 500, "k": 1, "compact": False, "now_ms": 0}
STOPPED = {
    "min": "290",
    "max": "357",
    "committed": "37",
    "in_memory": None,
    "next_pull": "37",
    "cells": None,
    "owner": None,
}
RESTARTED = {**STOPPED, "next_pull": "290", "in_memory": "37", "cells": "", "owner": "reader"}
CORRECTED = {"min": "624", "max": "677", "committed": "334", "in_memory": "334", "next_pull": "624"}
CORRECTED |= {"cells": "100b", "cells_from": "334", "owner": "reader"}
UNSAID = {**STOPPED, "owner": "reader", "cached": None}
OUT_OF_ORDER = {**CORRECTED, "cells": "p40d9b", "min": "370", "next_pull": "384", "max": "400"}
CASES = {
    "stopped": STOPPED,
    "restarted": RESTARTED,
    "corrected": CORRECTED,
    "a real cluster": UNSAID,
    "out of order": OUT_OF_ORDER,
}
ZONES = ("done", "lag", "unknown", "risk", "between", "finished", "replay", "skip")
BAR = 4  # px: thin cells merge into bars
X_OF = """({ scale }, min, max) => {
    const { x } = scale({ min: BigInt(min), max: BigInt(max), window: 500, width: 542, compact: false });
    return x(BigInt(min));
}"""
COUNTS = "({ deletedLag, deletedUnread }, row) => [deletedLag(row), deletedUnread(row)]"
ZONE_OF = "({ zoneOf }, row, offsets) => offsets.map((at) => zoneOf(row, at))"


@pytest.mark.parametrize("row", CASES.values(), ids=CASES)
def test_only_hatching_and_copies_in_memory_are_left_of_min(modules: Modules, row: dict[str, Any]) -> None:
    (plan,) = plans(modules, [(row, {**SIZE, "target": str(int(row["min"]) + 5)})])
    first = modules("scale", X_OF, row["min"], row["max"])
    for zone in ZONES:
        starts = [float(x) for x in re.findall(r"M([\d.]+)", plan["paths"].get(zone, ""))]
        assert all(x >= first - BAR for x in starts), (zone, starts, first)
    hatched = re.match(r"M([\d.]+) [\d.]+h([\d.]+)", plan["paths"]["deleted"])
    assert hatched is not None
    begin, width = map(float, hatched.groups())
    assert begin + width == pytest.approx(first, abs=0.2), "hatched up to min"


@pytest.mark.parametrize("row", CASES.values(), ids=CASES)
def test_the_page_counts_as_the_server_does(modules: Modules, row: dict[str, Any]) -> None:
    assert modules("offsets", COUNTS, row) == [deleted_lag(row), deleted_unread(row)]


def test_the_message_under_the_pointer_is_deleted_unread_or_a_copy_in_memory(modules: Modules) -> None:
    assert modules("strip_peek", ZONE_OF, STOPPED, ["20", "37", "289", "290"]) == ["deleted", "unread", "unread", "lag"]
    assert modules("strip_peek", ZONE_OF, CORRECTED, ["300", "334", "434", "624"]) == [
        "deleted",
        "waiting",
        "unread",
        "lag",
    ]
