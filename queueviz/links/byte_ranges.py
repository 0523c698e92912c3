"""HTTP responses with a file, whole or a range of its bytes (RFC 9110, section 14)."""

import re
from pathlib import Path

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


def answer(request: HttpRequest, path: Path, content_type: str) -> HttpResponse:
    """Return a response with the file: 200, 206 with one range, 304 or 416.  Several ranges get the whole file."""
    status = path.stat()
    tag, total = f'"{status.st_mtime_ns:x}-{status.st_size:x}"', status.st_size
    if request.headers.get("If-None-Match") == tag:
        return _with(HttpResponseNotModified(), tag)
    match = _RANGE.fullmatch(request.headers.get("Range", ""))
    if match is None or not (match[1] or match[2]) or request.headers.get("If-Range", tag) != tag:
        return _with(HttpResponse(path.read_bytes(), content_type=content_type), tag)
    begins, ends = _places(match[1], match[2], total)
    if begins >= ends:
        refused = HttpResponse(status=416, content_type=content_type)
        refused["Content-Range"] = f"bytes */{total}"
        return _with(refused, tag)
    with path.open("rb") as file:
        file.seek(begins)
        part = HttpResponse(file.read(ends - begins), status=206, content_type=content_type)
    part["Content-Range"] = f"bytes {begins}-{ends - 1}/{total}"
    return _with(part, tag)


def _places(first: str, last: str, total: int) -> tuple[int, int]:
    """Return begin and end of a byte range.  Without a first number, the range is the last bytes."""
    if not first:
        return max(0, total - int(last)), total
    return int(first), min(total, int(last) + 1 if last else total)


def _with(response: HttpResponse, tag: str) -> HttpResponse:
    response["ETag"] = tag
    response["Accept-Ranges"] = "bytes"
    response["Cache-Control"] = "private, no-cache"
    response["Content-Encoding"] = "identity"  # compressed already: ranges are of these bytes
    return response
