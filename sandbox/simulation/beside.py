"""The input and output of a process that plays a run beside the server.

The process reads one line with its order, prints {"progress"} lines, some with the {"partial"} result so far, and ends
with {"result"} or {"refused"}.
"""

import os
import sys
from collections.abc import Callable
from typing import Any, Protocol

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused, SandboxError

NICENESS = 10  # behind the server

Progress = Callable[[float], None]  # 0 to 1


class Report(Protocol):
    """A `Progress` that may also pass on the result so far."""

    def __call__(self, share: float, partial: object = None) -> None: ...


def serve(play: Callable[[dict[str, Any], Report], Any]) -> None:
    os.nice(NICENESS)
    order = json_bytes.loads(sys.stdin.buffer.readline())
    try:
        _say({"result": play(order, _report)})
    except ActionRefused as error:
        _say({"refused": {"message": error.message, "values": error.values}})
    except (SandboxError, OSError) as error:
        _say({"refused": {"message": "This run cannot be replayed: {why}.", "values": {"why": str(error)}}})


def _report(share: float, partial: object = None) -> None:
    _say({"progress": round(share, 3)} | ({} if partial is None else {"partial": partial}))


def _say(line: dict[str, object]) -> None:
    sys.stdout.buffer.write(json_bytes.dumps(line, option=json_bytes.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()
