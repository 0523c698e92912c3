"""Patterns of addresses that need no signature.  RocketMQ: `RemoteAddressStrategyFactory` (spec remoting 5)."""

import ipaddress
from collections.abc import Callable

Matches = Callable[[str], bool]
"""Whether this address, without its port, fits the pattern."""

ANY_ADDRESS = frozenset({"*", "*.*.*.*", "*:*:*:*:*:*:*:*"})
MAX_PATTERN_CHARS = 1_024
_PARTS_V4, _PARTS_V6 = 4, 8


def address_pattern(text: str | None) -> Matches:
    """Return a function that matches addresses against a pattern.

    Patterns: exact, `*`, `1.2.3.*`, `1.2.3.4-9`, `a,b`, `1.2.3.{4,5}`; an empty pattern matches no address.  Raises
    ValueError for any other text.
    """
    text = (text or "").strip()
    if not text:
        return lambda _: False
    if len(text) > MAX_PATTERN_CHARS:
        raise ValueError(f"an address pattern has at most {MAX_PATTERN_CHARS} characters")
    if text in ANY_ADDRESS:
        return lambda _: True
    if text.endswith("}"):
        return _one_of(_spelled_out(text))
    if "," in text:
        return _one_of([part for part in text.split(",") if part])
    if "*" in text or "-" in text:
        return _range(text)
    return _one_of([text])


def _spelled_out(text: str) -> list[str]:
    head, mark, last = text[:-1].rpartition("{")
    separator = ":" if ":" in text else "."
    if not mark or not head.endswith(separator):
        raise ValueError(f"{text} is no pattern of addresses")
    return [head + part for part in last.split(",") if part]


def _one_of(texts: list[str]) -> Matches:
    addresses = {ipaddress.ip_address(text) for text in texts}

    def matches(address: str) -> bool:
        parsed = _address(address)
        return parsed is not None and parsed in addresses

    return matches


def _range(text: str) -> Matches:
    """Return the matcher of an address range.

    The last parts may be `*`, the one before them a span; parts to the left are numbers.
    """
    if ":" in text:
        return _range_v6(text)
    parts = text.split(".")
    if len(parts) != _PARTS_V4:
        raise ValueError(f"{text} is no pattern of addresses")
    spans = [_span(part, 10, 255) for part in parts]
    _check_order(text, spans, 255)

    def matches(address: str) -> bool:
        parsed = _address(address)
        if not isinstance(parsed, ipaddress.IPv4Address):
            return False
        return all(low <= number <= high for number, (low, high) in zip(parsed.packed, spans, strict=True))

    return matches


def _range_v6(text: str) -> Matches:
    """Return the matcher of an IPv6 range, like `_range`; `::` in front of the spans stands for zeros."""
    head, _, tail = text.rpartition("::")
    left = [part for part in head.split(":") if part] if "::" in text else []
    right = tail.split(":") if "::" in text else text.split(":")
    if "::" not in text and right[-1] == "*":
        right += ["*"] * (_PARTS_V6 - len(right))
    zeros = _PARTS_V6 - len(left) - len(right)
    if zeros < 0 or (zeros and "::" not in text):
        raise ValueError(f"{text} is no pattern of addresses")
    spans = [_span(part, 16, 0xFFFF) for part in [*left, *["0"] * zeros, *right]]
    _check_order(text, spans, 0xFFFF)

    def matches(address: str) -> bool:
        parsed = _address(address)
        if not isinstance(parsed, ipaddress.IPv6Address):
            return False
        numbers = [int(part, 16) for part in parsed.exploded.split(":")]
        return all(low <= number <= high for number, (low, high) in zip(numbers, spans, strict=True))

    return matches


def _span(part: str, base: int, most: int) -> tuple[int, int]:
    low, mark, high = part.strip().partition("-")
    if part.strip() == "*":
        return 0, most
    first, last = int(low, base), int(high if mark else low, base)
    if not 0 <= first <= last <= most:
        raise ValueError(f"{part} is no part of an address")
    return first, last


def _check_order(text: str, spans: list[tuple[int, int]], most: int) -> None:
    """Raise ValueError unless the first part is a number and only `*` follows a span."""
    open_from = next((index for index, (low, high) in enumerate(spans) if low != high), len(spans))
    if open_from == 0 or any(span != (0, most) for span in spans[open_from + 1 :]):
        raise ValueError(f"{text} is no pattern of addresses")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
