"""The writers of what browsers send, one for each loop that has their sockets."""

import asyncio
import weakref

from channels.db import database_sync_to_async

from queueviz.browsers.keeper import Keeper
from queueviz.courses import lite_runs

_keepers: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Keeper]" = weakref.WeakKeyDictionary()


def keeper_of_this_loop() -> Keeper:
    """Return the loop's writer, which is made with the first browser."""
    loop = asyncio.get_running_loop()
    if loop not in _keepers:
        _keepers[loop] = Keeper(
            database_sync_to_async(lite_runs.keep),
            database_sync_to_async(lite_runs.note),
            database_sync_to_async(lite_runs.here),
        )
    return _keepers[loop]
