"""Lock of a data home, so that one server uses it."""

import fcntl
import os
import time
from pathlib import Path
from typing import BinaryIO

from sandbox.kernel.errors import Locked

LOCK_NAME = "engine.lock"
GONE_WITHIN_S = 5.0  # engine processes end after the server that had them
LOOK_EVERY_S = 0.05


def lock(home: Path, *, shared: bool = False) -> BinaryIO:
    """Lock a data home until all processes that inherited the file have closed it.

    `shared`: other shared holders are allowed, and leases decide about each sandbox.  A server with its own engines
    locks exclusively: it and shared holders exclude each other.

    Raises Locked.  If the holder has exited, its engine processes are ending: this waits for them.
    """
    path = home / LOCK_NAME
    file = path.open("a+b")
    until_s = time.monotonic() + GONE_WITHIN_S
    while True:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            break
        except OSError as error:
            file.seek(0)
            holder = file.read().decode() or "unknown"
            if Path(f"/proc/{holder}").exists() or time.monotonic() > until_s:
                file.close()
                raise Locked(f"the data home {home} is in use by process {holder}") from error
            time.sleep(LOOK_EVERY_S)
    if not shared:
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
    return file
