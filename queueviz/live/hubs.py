"""The hubs of this process, one for each loop that has sockets."""

import asyncio
import weakref
from contextvars import Context
from typing import Any

from channels.db import database_sync_to_async

from queueviz.browsers.hub import BrowserHub
from queueviz.browsers.links import figures as browser_figures
from queueviz.browsers.port import BrowserPort
from queueviz.engines.port import PoolPort
from queueviz.engines.viewers import Viewers
from queueviz.live import process_notices, rights
from queueviz.live.course_channels import CourseChannels
from sandbox.live.hub import Hub
from sandbox.live.socket_costs import together

_course_channels: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, CourseChannels]" = weakref.WeakKeyDictionary()
_hubs: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, BrowserHub]" = weakref.WeakKeyDictionary()


def hub_of_this_loop(port: BrowserPort) -> BrowserHub:
    """Return the loop's hub, which is made with the first socket.

    With engines in processes of their own its hosted part is a `Viewers`, and the hubs are in the engines.
    """
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        still_see, hosted = database_sync_to_async(rights.still_see), port.hosted
        kind = (
            Viewers(hosted, still_see=still_see) if isinstance(hosted, PoolPort) else Hub(hosted, still_see=still_see)
        )
        _hubs[loop] = BrowserHub(kind, port, still_see)
    return _hubs[loop]


def course_channels_of_this_loop(port: Any) -> CourseChannels:
    """Return the loop's course channels.  They are in the web process, also if engines have processes of their own."""
    loop = asyncio.get_running_loop()
    if loop not in _course_channels:
        _course_channels[loop] = CourseChannels(port)
    return _course_channels[loop]


def rights_changed(slug: str) -> None:
    """Make all web processes check the rights to a sandbox or cluster again.  Any thread may call this.

    Called after a link was revoked, a sandbox made private or an operator removed.
    """
    recheck(slug)
    process_notices.send(slug)


def recheck(slug: str) -> None:
    """Make the hubs of this process check the rights to a sandbox at once; also used for notices of other processes.

    The check does not run in the caller's context: a request's context ends with the request, and database calls
    would use its dead thread.
    """
    for loop, hub in list(_hubs.items()):
        if loop.is_running():
            Context().run(asyncio.run_coroutine_threadsafe, hub.recheck(slug), loop)


def figures() -> dict[str, int]:
    """Return the figures of all hubs, for `/healthz/live`.  Raises EngineBusy."""
    return {**together([hub.counted() for hub in list(_hubs.values())]), **browser_figures()}
