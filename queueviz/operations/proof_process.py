"""The process beside the server that executes the runs of students' browsers; it ends when none waits."""

import logging
import os
import subprocess
import sys
import time

from queueviz.courses import proof_requests

log = logging.getLogger(__name__)

PAUSE_S = 60.0  # after a process that failed


class ProofProcess:
    """At most one process.  Call `turn` in intervals, `stop` at the end of the server."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._not_before_s = 0.0

    def turn(self) -> None:
        """Start the process if a run waits and none is running."""
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                return
            self._process = None
            if code:
                log.warning("the process that executes runs ended with code %d", code)
                self._not_before_s = time.monotonic() + PAUSE_S
        if time.monotonic() >= self._not_before_s and proof_requests.has_work():
            command = [sys.executable, sys.argv[0], "proofworker", "--beside", str(os.getpid())]
            self._process = subprocess.Popen(command, start_new_session=True)
