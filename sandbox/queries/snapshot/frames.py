"""Links, and the frames on one of them, for the Frames page (channel `wire/<slug>/<link>`)."""

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.frame_recorder import Frame, Link, Watched
from sandbox.queries.snapshot.code_names import request_name, response_name

Row = dict[str, object]


def read_wire(cluster: Cluster, link: str | None) -> Row:
    """Return the links, and with `link` its newest frames too; that link is recorded from now on."""
    if link is None:
        return {"links": cluster.frames.links(), "link": None, "frames": {}}
    watched = cluster.frames.watch(link)
    return {
        "links": cluster.frames.links(),
        "link": link_row(watched),
        "frames": {str(frame.no): frame_row(frame, watched.link) for frame in watched.shown},
    }


def link_row(watched: Watched) -> Row:
    return {
        "name": watched.link.name,
        "a": watched.link.a,
        "b": watched.link.b,
        "seen": watched.seen,
        "rest": watched.rest,
    }


def frame_row(frame: Frame, link: Link) -> Row:
    """Return the row of a frame.

    `code` and `took_ms` of a request are those of its response, once that was recorded; `pair` is the number of the
    other frame.  `kind`: request, answer, oneway.
    """
    sender, receiver = link if frame.there else reversed(link)
    return {
        "at_ms": frame.at_ms,
        "from": sender,
        "to": receiver,
        "there": frame.there,
        "kind": "answer" if frame.answer else "oneway" if frame.oneway else "request",
        "request_code": frame.request_code,
        "name": request_name(frame.request_code),
        "opaque": frame.opaque,
        "bytes": frame.bytes,
        "code": frame.code,
        "status": response_name(frame.code),
        "remark": frame.remark,
        "took_ms": frame.took_ms,
        "pair": frame.asked_by if frame.answer else frame.answered_by,
    }
