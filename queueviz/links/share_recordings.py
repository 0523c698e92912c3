"""Recordings of share links: made beside the server (`recordings`), then kept as long as their link is valid."""

import logging
import threading
from pathlib import Path

from django.db import connection

from queueviz.courses import releases
from queueviz.links import recordings, share_links
from queueviz.links.share_links import Share
from queueviz.models import Sandbox
from sandbox.control.limits import HostLimits
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused

log = logging.getLogger(__name__)

LIMITS = HostLimits()
ASK_EVERY_S = 1.0
THREAD = "queueviz-share"

_lock = threading.Lock()
_waiting: set[str] = set()  # digests of links
_over = threading.Event()


def demand_room() -> None:
    """Raise ActionRefused (429) if too many recordings wait."""
    if (waiting := len(_waiting)) >= LIMITS.share_links_waiting:
        raise ActionRefused(
            429, "{waiting} recordings are being made.", "Wait a minute and try again.", waiting=waiting
        )


def begin(share: Share) -> None:
    """Start to make the recording, if the queue has room.  If not, the next call of `state` tries again."""
    digest = str(share.grant.digest)
    if digest in _waiting:
        return
    scores = shows_scores(share.sandbox)  # not asked by the thread: it would keep a connection
    with _lock:
        if digest in _waiting or len(_waiting) >= LIMITS.share_links_waiting:
            return
        _waiting.add(digest)
    threading.Thread(target=_follow, args=(share, scores), name=THREAD, daemon=True).start()


def shows_scores(sandbox: Sandbox) -> bool:
    """Return True if every reader of a recording may see the scores in it."""
    return sandbox.course is None or releases.is_released(sandbox.course)


def state(share: Share) -> str:
    """Return `ready`, `making` or `failed`.  A recording that its server did not finish is begun again."""
    if share.is_ready:
        return "ready"
    if share.has_failed:
        return "failed"
    begin(share)
    return "making"


def _follow(share: Share, scores: bool) -> None:
    """Request the recording until it is complete.  The server abandons a recording without requests."""
    try:
        while not _over.wait(ASK_EVERY_S) and not _made(share, scores):
            continue
    except (ActionRefused, OSError) as error:
        log.warning("the recording of a share link was not made: %s", error)
        share_links.note_failed(share)
    finally:
        connection.close()
        _waiting.discard(str(share.grant.digest))


def _made(share: Share, scores: bool) -> bool:
    shown = share.shown
    try:
        recording = recordings.of_server().find(
            share.sandbox.slug, shown.first, shown.last, lambda: None, scores=scores
        )
    except ActionRefused as refused:
        if refused.status == 503:  # too many are being made
            return False
        raise
    if isinstance(recording, Path):
        _keep(share, recording.read_bytes())
        return True
    return False


def _keep(share: Share, recording: bytes) -> None:
    if len(recording) > LIMITS.share_bytes:
        raise OSError(f"it has more than {LIMITS.share_bytes} bytes")
    share_links.directory().mkdir(parents=True, exist_ok=True)
    unfinished = share.file.with_suffix(".new")
    unfinished.write_bytes(unnamed(recording))
    unfinished.replace(share.file)


def unnamed(recording: bytes) -> bytes:
    """Return the recording without its seed, which contains the sandbox's address.

    The first line of a recording is JSON (docs/recording.md).
    """
    line, _, rest = recording.partition(b"\n")
    return json_bytes.dumps(json_bytes.loads(line) | {"seed": None}) + b"\n" + rest
