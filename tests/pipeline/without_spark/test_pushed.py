"""What is kept of pushed filters chooses the rows the filters choose, whatever they are and in whatever order."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual, Not

from sandbox.pipeline.sources.places import Wanted
from sandbox.pipeline.sources.pushed import narrow
from sandbox.pipeline.sources.store import KEPT

NUMBERS = st.integers(-2, 12)
OF_BOUNDS: dict[type, Any] = {
    EqualTo: lambda a, b: a == b, GreaterThan: lambda a, b: a > b, GreaterThanOrEqual: lambda a, b: a >= b,
    LessThan: lambda a, b: a < b, LessThanOrEqual: lambda a, b: a <= b}  # fmt: skip


def bound(kind: Any) -> st.SearchStrategy[tuple[Filter, Any]]:
    return NUMBERS.map(lambda n: (kind(("queueOffset",), n), lambda at: OF_BOUNDS[kind](at, n)))


def chosen(wanted: Wanted, at: int) -> bool:
    return ((wanted.from_offset is None or at >= wanted.from_offset)
            and (wanted.to_offset is None or at < wanted.to_offset))  # fmt: skip


@given(st.lists(st.one_of([bound(kind) for kind in OF_BOUNDS]), max_size=5))
def test_bounds_keep_the_rows_that_every_filter_keeps(asked: list[tuple[Filter, Any]]) -> None:
    wanted: Wanted | None = Wanted()
    for one, _ in asked:
        assert wanted is not None
        wanted = narrow(wanted, one, KEPT)
    assert wanted is not None
    for at in range(-3, 14):
        assert chosen(wanted, at) == all(keeps(at) for _, keeps in asked)


@given(st.lists(st.frozensets(st.integers(0, 5)), min_size=1, max_size=4))
def test_sets_keep_what_all_of_them_hold(asked: list[frozenset[int]]) -> None:
    wanted: Wanted | None = Wanted()
    for values in asked:
        assert wanted is not None
        wanted = narrow(wanted, In(("queueId",), tuple(values)), KEPT)
    assert wanted is not None
    assert wanted.queue_ids == frozenset.intersection(*asked)


def test_what_cannot_be_kept_is_given_back() -> None:
    for asked in (EqualTo(("body",), b""), GreaterThan(("topic",), "a"), GreaterThan(("queueOffset",), 1.5),
                  EqualTo(("properties", "queueOffset"), 1), Not(EqualTo(("queueId",), 1))):  # fmt: skip
        assert narrow(Wanted(), asked, KEPT) is None
