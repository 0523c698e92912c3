"""Formats of numbers: thin spaces from four digits, true minus, an en dash for unknown.

The browser writes the same (static/queueviz/js/format.js); tests/drawings/formats.json compares the two.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from django import template

from sandbox.kernel.calendar_text import FIRST_MS, LAST_MS

register = template.Library()

THIN = "\u2009"
UNKNOWN = "–"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@register.filter
def number(value: object) -> str:
    """Return a number with thin spaces, as 15 291; offsets are never abbreviated."""
    if value is None or value == "":
        return UNKNOWN
    text = str(value)
    sign, digits = ("−", text[1:]) if text.startswith("-") else ("", text)
    if not digits.isdigit():
        return text
    head = len(digits) % 3
    groups = [digits[:head], *(digits[i : i + 3] for i in range(head, len(digits), 3))]
    return sign + THIN.join(group for group in groups if group)


@register.filter
def change(value: object) -> str:
    """Return a difference with its sign."""
    text = number(value)
    return text if text in (UNKNOWN, "0") or text.startswith("−") else f"+{text}"


@register.filter
def brief(value: float | str | None) -> str:
    """Return a tile's count in short form, as 12.4 k."""
    if value is None or value == "":
        return UNKNOWN
    n = float(value)
    if n < 10_000:
        return number(_half_up(n))
    return f"{n / 1000:.{1 if n < 1e5 else 0}f} k" if n < 1e6 else f"{n / 1e6:.{1 if n < 1e8 else 0}f} M"


@register.filter
def rate(value: float | str | None) -> str:
    """Return a rate with three significant digits, without a unit."""
    if value is None or value == "":
        return UNKNOWN
    value = float(value)
    if value >= 100:
        return number(_half_up(value))
    return f"{value:.1f}" if value >= 10 else f"{value:.{0 if value == 0 else 2 if value < 1 else 1}f}"


@register.filter
def duration(ms: float | str | None) -> str:
    """Return a duration as 990 ms, 1.3 s, 96 s, 5 m 32 s or 2 h 04 m."""
    if ms is None or ms == "":
        return UNKNOWN
    ms = float(ms)
    if ms < 995:
        return f"{max(0, _half_up(ms / 10) * 10)} ms"
    s = ms / 1000
    if s < 10:
        return f"{s:.1f} s"
    if s < 120:
        return f"{math.floor(s)} s"
    m = math.floor(s / 60)
    if m < 60:
        return f"{m} m {math.floor(s % 60):02d} s"
    h = m // 60
    return f"{h} h {m % 60:02d} m" if h < 48 else f"{h // 24} d {h % 24} h"


@register.filter("bytes")
def byte_count(value: float | str | None) -> str:
    """Return a size as 1.4 MiB, binary."""
    if value is None or value == "":
        return UNKNOWN
    n, unit = float(value), 0
    while n >= 1024 and unit < 4:
        n, unit = n / 1024, unit + 1
    if unit == 0:
        return f"{number(_half_up(n))} B"
    return f"{_half_up(n) if n >= 100 else f'{n:.1f}'} {_UNITS[unit]}"


@register.filter
def clock(ms: int | str | None, zone_min: int = 0) -> str:
    """Return a time as 10:42:17.350, in a zone given in minutes east of UTC."""
    if ms is None or ms == "":
        return UNKNOWN
    at = _at(ms, zone_min)
    return _plain_ms(ms) if at is None else f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}"


@register.filter
def second(ms: int | str | None) -> str:
    """Return a time as 10:42:17, without milliseconds."""
    shown = clock(ms)
    return shown[:8] if ":" in shown else shown


@register.filter
def moment(ms: int | str | None) -> str:
    """Return a time as 2026-11-20 10:42:17.350, for fields and copies; UTC."""
    if ms is None or ms == "":
        return UNKNOWN
    at = _at(ms)
    return _plain_ms(ms) if at is None else f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d}"


def _at(ms: int | str, zone_min: int = 0) -> datetime | None:
    """Return the local time.

    None: outside the calendar, such as a false born time that a client set in its message.
    """
    local_ms = int(ms) + zone_min * 60_000
    if not FIRST_MS <= local_ms <= LAST_MS:
        return None
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=local_ms)


def _plain_ms(ms: int | str) -> str:
    return f"{number(ms)} ms"


def _half_up(value: float) -> int:
    return math.floor(value + 0.5)
