"""Decoding of frame bodies for viewers."""

import json
import zlib
from struct import error

from sandbox.kernel.errors import SandboxError
from sandbox.message import properties, record
from sandbox.remoting.codes import RequestCode, ResponseCode

TEXT_CHARS = 4_000
RECORDS_SHOWN = 64
COMPRESSED = 1  # bit of sysFlag

_RECORDS = {
    RequestCode.PULL_MESSAGE,
    RequestCode.LITE_PULL_MESSAGE,
    RequestCode.QUERY_MESSAGE,
    RequestCode.VIEW_MESSAGE_BY_ID,
}
_MESSAGE = {RequestCode.SEND_MESSAGE: "sysFlag", RequestCode.SEND_MESSAGE_V2: "f"}  # and the field of its sysFlag


def body_of(request_code: int | None, code: int | None, body: bytes, ext: dict[str, str]) -> dict[str, object]:
    """Return a frame's body for display: `kind` (json, records, text, compressed, bytes), `text` and `records`.

    `code` is None for a request.  A truncated body yields less.
    """
    if request_code in _RECORDS and code == ResponseCode.SUCCESS:
        return {"kind": "records", "text": "", "records": _records(body)}
    if code is None and request_code in _MESSAGE and _number(ext.get(_MESSAGE[RequestCode(request_code)])) & COMPRESSED:
        return {"kind": "compressed", "text": _cut(_text(_inflated(body)) or ""), "records": []}
    if body[:1] in (b"{", b"["):
        return {"kind": "json", "text": _cut(_pretty(body)), "records": []}
    text = _text(body)
    return {"kind": "bytes" if text is None else "text", "text": _cut(text or ""), "records": []}


def _records(body: bytes) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    try:
        for message in record.decode_all(body):
            rows.append(
                {
                    "topic": message.topic,
                    "queue_id": message.queue_id,
                    "offset": str(message.queue_offset),
                    "keys": message.properties.get(properties.KEYS, ""),
                    "tags": message.properties.get(properties.TAGS, ""),
                    "bytes": len(message.body),
                    "text": _cut(_text(message.body) or "", 200),
                }
            )
            if len(rows) == RECORDS_SHOWN:
                break
    except (SandboxError, ValueError, IndexError, error):
        pass  # the truncated body ends inside a record
    return rows


def _pretty(body: bytes) -> str:
    """Return JSON with indentation; RocketMQ's maps with objects as keys stay unchanged."""
    try:
        return json.dumps(json.loads(body), ensure_ascii=False, indent=2)
    except ValueError:
        return body.decode("utf-8", "replace")


def _text(body: bytes) -> str | None:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return text if all(sign.isprintable() or sign in "\t\r\n" for sign in text) else None


def _inflated(body: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(body, TEXT_CHARS * 4)
    except zlib.error:
        return b""


def _cut(text: str, most: int = TEXT_CHARS) -> str:
    return text if len(text) <= most else text[:most] + "…"


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0
