"""Slow seeds and large matrices: a run leaves them out, `script/test nightly` plays all of them, CI a part by the date.

Marked `nightly`.  Every such test belongs to one of seven parts, and every part is played by CI once in seven days.
Marked `in_turn`: long tests whose subject has shorter ones beside them; CI plays a third of them on each of three
days, all other runs play all.  A machine too slow for a whole stage plays a third of all its tests so.
"""

import zlib
from collections.abc import Iterable
from datetime import date
from typing import Any

import pytest

PARTS, THIRDS = 7, 3
NONE, ALL = "none", "all"


def which(text: str) -> str:
    """What `--nightly` takes: none, all, or a date."""
    if text not in (NONE, ALL):
        try:
            date.fromisoformat(text)
        except ValueError:
            raise pytest.UsageError(f"--nightly takes none, all or a date such as 2026-11-22, not {text!r}") from None
    return text


def is_played(nodeid: str, chosen: str) -> bool:
    return chosen == ALL or (chosen != NONE and part_of(nodeid) == part_on(date.fromisoformat(chosen)))


def part_of(nodeid: str, parts: int = PARTS) -> int:
    return zlib.crc32(nodeid.encode()) % parts


def part_on(day: date, parts: int = PARTS) -> int:
    return day.toordinal() % parts


def is_in_third(nodeid: str, day: date | None) -> bool:
    """None: all are."""
    return day is None or part_of(nodeid, THIRDS) == part_on(day, THIRDS)


def header(chosen: str) -> str:
    if chosen in (NONE, ALL):
        return f"nightly: {chosen}"
    return f"nightly: part {part_on(date.fromisoformat(chosen)) + 1} of {PARTS}, that of {chosen}"


def seeds(every_run: int, every_night: int) -> list[Any]:
    """Numbers from 0: those of every run, and those of the nightly one."""
    return [*range(every_run), *many(range(every_run, every_night))]


def many(values: Iterable[Any]) -> list[Any]:
    return [pytest.param(value, marks=pytest.mark.nightly) for value in values]
