"""Property text of a sent message as it is stored (spec store-format 2.4)."""

from functools import lru_cache

from sandbox.message import properties as names
from sandbox.message.msg_id import host_bytes

_END = "\x02"
_WAIT = f"{names.WAIT}\x01"


def plain_text(text: str, cluster: str) -> tuple[bytes, bool]:
    """Return a single message's property text without WAIT and with CLUSTER, and the value of WAIT.

    It edits the text, because building a map of every message costs more than storing the message.
    """
    if text.endswith(_END):
        text = text[:-1]
    first, separator, rest = text.partition(_WAIT)  # Java's texts have the pair in this form
    if separator and first.endswith(_END) and rest.startswith("true"):
        if rest == "true" and first != _END:
            return f"{first}CLUSTER\x01{cluster}".encode(), True
        if rest[4:5] == _END:
            return f"{first}{rest[5:]}\x02CLUSTER\x01{cluster}".encode(), True
    wait = True
    at = _find(text, _WAIT) if separator else -1
    if at >= 0:
        end = text.find(_END, at)
        value = text[at + len(_WAIT) :] if end < 0 else text[at + len(_WAIT) : end]
        wait = value == "true" or value.lower() == "true"
        text = text[: max(0, at - 1)] if end < 0 else text[:at] + text[end + 1 :]
    return (f"{text}\x02CLUSTER\x01{cluster}" if text else f"CLUSTER\x01{cluster}").encode(), wait


def batch_text(text: str, cluster: str) -> bytes:
    """Return the text appended to the properties of every batch item: CLUSTER, then the batch's text with its WAIT."""
    return (f"CLUSTER\x01{cluster}\x02{text}" if text else f"CLUSTER\x01{cluster}").encode()


@lru_cache(maxsize=4096)
def host_of(remote: str) -> bytes:
    """Return a host text `ip:port` as the bytes in records."""
    ip, _, port = remote.rpartition(":")
    return host_bytes(ip.strip("[]"), int(port))


def _find(text: str, mark: str) -> int:
    """Return the position of the pair that starts with `mark` (name and separator), −1 if the text has none."""
    at = text.find(mark)
    while at > 0 and text[at - 1] != _END:
        at = text.find(mark, at + 1)
    return at
