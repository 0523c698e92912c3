"""A line that is said a thousand times is written ten times and counted."""

import logging

from queueviz.operations.log_flood import KINDS, LINES_PER_S, Flood


def record(line: int, second: float, text: str = "a reply to %s is not stored") -> logging.LogRecord:
    made = logging.LogRecord("sandbox.broker", logging.WARNING, "reply.py", line, text, ("T",), None)
    made.created = second
    return made


def test_of_one_kind_only_so_many_a_second_are_written_and_the_others_counted() -> None:
    flood = Flood()
    assert [flood.filter(record(1, 100.5)) for _ in range(LINES_PER_S + 5)] == [True] * LINES_PER_S + [False] * 5
    assert flood.filter(record(2, 100.6)), "another line is another kind"
    later = record(1, 101.0)
    assert flood.filter(later)
    assert later.getMessage() == "a reply to T is not stored (and 5 more of this kind before)"
    again = record(1, 101.1)
    assert flood.filter(again)
    assert again.getMessage() == "a reply to T is not stored"


def test_it_remembers_only_so_many_kinds() -> None:
    flood = Flood()
    assert all(flood.filter(record(line, 1.0)) for line in range(3 * KINDS))
    assert len(flood._kinds) <= KINDS
