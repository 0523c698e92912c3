"""Dates and times as text: names of index files, the hour of deletion, texts for administrators.

`utc_offset_minutes` is the time zone.  This module never reads the current time.
"""

FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The times, in ms since 1970, that have a date with a year of four digits: 0001-01-01 to 9999-12-31, UTC."""

_DAY_MS = 86_400_000


def hour_of_day(at_ms: int, utc_offset_minutes: int) -> int:
    return (at_ms + utc_offset_minutes * 60_000) % _DAY_MS // 3_600_000


def stamp(at_ms: int, utc_offset_minutes: int) -> str:
    """Return `yyyyMMddHHmmssSSS`, the form of index file names."""
    days, rest = divmod(at_ms + utc_offset_minutes * 60_000, _DAY_MS)
    year, month, day = _civil(days)
    seconds, millis = divmod(rest, 1000)
    return f"{year:04d}{month:02d}{day:02d}{seconds // 3600:02d}{seconds // 60 % 60:02d}{seconds % 60:02d}{millis:03d}"


def _civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a number of days since 1970-01-01 (H. Hinnant's `civil_from_days`)."""
    days += 719_468
    era, of_era = divmod(days, 146_097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153  # March is month 0
    day = of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + year_of_era + (month <= 2), month, day
