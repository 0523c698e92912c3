"""Unique names: client ids, message keys, request numbers."""

import calendar
import time


def client_id(ip: str, instance: str, unit: str = "") -> str:
    """Return the client id `ip@instance[@unit]` (spec client-behaviour 1.1)."""
    return f"{ip}@{instance}@{unit}" if unit else f"{ip}@{instance}"


def instance_name(pid: int, nanos: int) -> str:
    """Return the instance name `pid#nanoTime`: clustering consumers and all producers use it instead of DEFAULT."""
    return f"{pid}#{nanos}"


def random_uuid(drawn: int) -> str:
    """Return a version 4 UUID from a random number below 2**128."""
    bits = drawn & ~(0xF000 << 64 | 0xC000 << 48) | 0x4000 << 64 | 0x8000 << 48
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def month_start_ms(now_ms: int) -> int:
    """Return the first millisecond of the month of `now_ms`, in UTC."""
    day = time.gmtime(now_ms // 1000)
    return calendar.timegm((day.tm_year, day.tm_mon, 1, 0, 0, 0)) * 1000


class UniqueKeys:
    """Generator of the UNIQ_KEY of every message.  RocketMQ: `MessageClientIDSetter` (spec store-format 3).

    A key has 32 characters: the hex of address (4), pid (2), class-loader hash (4; here the client's number),
    milliseconds since the start of the month (4) and a counter (2).
    """

    def __init__(self, ip: bytes, pid: int, loader: int) -> None:
        self._fixed = (ip + (pid & 0xFFFF).to_bytes(2, "big") + (loader & 0xFFFFFFFF).to_bytes(4, "big")).hex().upper()
        self._month_ms = 0
        self._next_month_ms = 0
        self._counter = 0

    def next(self, now_ms: int) -> str:
        if now_ms >= self._next_month_ms:
            self._month_ms = month_start_ms(now_ms)
            self._next_month_ms = month_start_ms(self._month_ms + 32 * 86_400_000)
        diff = max(0, now_ms - self._month_ms)
        self._counter = (self._counter + 1) & 0xFFFF
        return f"{self._fixed}{diff & 0xFFFFFFFF:08X}{self._counter:04X}"
