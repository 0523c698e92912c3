"""The input and output of a process that plays a run beside the server.

The process reads one line with its order, prints {"progress"} lines, and ends with {"result"} or {"refused"}.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

import orjson

from sandbox.kernel.errors import ActionRefused, SandboxError

NICENESS = 10  # behind the server

Progress = Callable[[float], None]  # 0 to 1


def serve(play: Callable[[dict[str, Any], Progress], Any]) -> None:
    os.nice(NICENESS)
    order = orjson.loads(sys.stdin.buffer.readline())
    try:
        _say({"result": play(order, lambda share: _say({"progress": round(share, 3)}))})
    except ActionRefused as error:
        _say({"refused": {"message": error.message, "values": error.values}})
    except (SandboxError, OSError) as error:
        _say({"refused": {"message": "This run cannot be replayed: {why}.", "values": {"why": str(error)}}})


def _say(line: dict[str, object]) -> None:
    sys.stdout.buffer.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()
