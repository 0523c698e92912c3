"""The pipeline worker as a process beside the server: started and stopped with it, restarted if it ends."""

import logging
import os
import subprocess
import sys
import threading

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 5.0  # before it is begun again; doubled each time
MOST_PAUSE_S = 300.0
STOP_WITHIN_S = 4.0


class WorkerBeside:
    """The worker's process and its supervision.

    The process has a session of its own: Ctrl+C reaches only the server, which then stops the worker.
    """

    def __init__(self) -> None:
        self._over = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._watch, name="pipelineworker", daemon=True)

    def start(self) -> "WorkerBeside":
        self._thread.start()
        return self

    def stop(self) -> None:
        self._over.set()
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _watch(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._over.is_set():
            command = [sys.executable, sys.argv[0], "pipelineworker", "--beside", str(os.getpid())]
            self._process = subprocess.Popen(command, start_new_session=True)
            code = self._process.wait()
            if self._over.wait(0):
                return
            log.warning("the pipeline's worker ended with code %d; another one begins in %.0f s", code, pause_s)
            self._over.wait(pause_s)
            pause_s = min(MOST_PAUSE_S, pause_s * 2)
