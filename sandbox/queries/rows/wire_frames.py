"""Rows of the Frames page: links, and the frames on one of them (`wire/<slug>/<link>`, question `frames`)."""

from typing import TypedDict

from sandbox.queries.rows.records import Dump


class WireLink(TypedDict):
    """The link whose frames are shown."""

    name: str
    a: str
    b: str
    seen: int  # frames
    rest: int  # frames that are not shown


class ListedLink(TypedDict):
    """One link in the list."""

    a: str
    b: str
    connections: int  # open ones
    seen: int | None  # frames; None: the link is not recorded


FrameRow = TypedDict(
    "FrameRow",
    {
        "at_ms": int,
        "from": str,
        "to": str,
        "there": bool,
        "kind": str,  # request, answer, oneway
        "request_code": int | None,
        "name": str | None,
        "opaque": int,
        "bytes": int,
        "code": int | None,  # of the answer; likewise the next three
        "status": str | None,
        "remark": str | None,
        "took_ms": int | None,
        "pair": int | None,  # number of the answer, or of the request
    },
)
"""One frame."""


class Wire(TypedDict):
    """The links, and the newest frames of the chosen one."""

    links: dict[str, ListedLink]
    link: WireLink | None
    frames: dict[str, FrameRow]  # by number


class FrameBytes(Dump):
    """The kept bytes of a frame."""

    bytes: int
    kept: int
