"""The notices of this process, if QUEUEVIZ_REDIS_URL is set: started and stopped with the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from queueviz.live.notices import Notices

_notices: Notices | None = None


def start(heard: Callable[[str], None]) -> None:
    """Start notices; `heard` is called with slugs of other web processes.  Without the variable, do nothing.

    Raises ValueError with a sentence: the URL is no Redis URL, or the extra `scale` is not installed.
    """
    global _notices
    if not settings.QUEUEVIZ_REDIS_URL:
        return
    try:
        from queueviz.live.notices import Notices  # its driver is an extra
    except ImportError:
        raise ValueError(
            "QUEUEVIZ_REDIS_URL is set, and Redis's driver is not installed: it is in the extra `scale`."
        ) from None
    try:
        _notices = Notices(settings.QUEUEVIZ_REDIS_URL, heard).start()
    except ValueError:  # the URL may hold a password: it is not shown
        raise ValueError("QUEUEVIZ_REDIS_URL is no URL of Redis. Write it as redis://host:6379/0.") from None


def stop() -> None:
    global _notices
    ended, _notices = _notices, None
    if ended is not None:
        ended.stop()


def send(slug: str) -> None:
    """Send a notice to all other web processes, if there are any; returns at once."""
    if _notices is not None:
        _notices.send(slug)


def figures() -> dict[str, int]:
    """Return the figures for `/healthz/live`; empty without Redis."""
    return _notices.figures() if _notices is not None else {}
