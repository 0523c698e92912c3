"""Events of a watched link."""

from typing import NamedTuple

from sandbox.journal.events.event import flow


@flow
class CommandExchanged(NamedTuple):
    """One frame on a watched link `a~b`.  A link without viewers has no events."""

    link: str
    request_code: int | None  # also in the answer; null when the request was sent before the link was watched
    opaque: int
    direction: str  # there (from a to b), back
    bytes: int
    code: int | None  # this and the next two are the answer's
    remark: str | None
    took_ms: int | None
