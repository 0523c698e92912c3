"""A thread of the server that does one thing again and again."""

import logging
import threading
from collections.abc import Callable

from django.db import DatabaseError, close_old_connections, connections

log = logging.getLogger(__name__)

STOP_WITHIN_S = 2.0  # a turn under way ends with the process


class Periodic:
    """Calls `turn` every `every_s` seconds until `stop`.  `what`: names it in the log."""

    def __init__(self, what: str, turn: Callable[[], object], every_s: float) -> None:
        self.what, self._turn, self._every_s = what, turn, every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=what, daemon=True)

    def start(self) -> "Periodic":
        self._thread.start()
        return self

    def stop(self) -> None:
        self._over.set()
        self._thread.join(STOP_WITHIN_S)

    def once(self) -> None:
        """Do one turn.  An error of one row or of the database does not end the thread."""
        try:
            close_old_connections()
            self._turn()
        except DatabaseError:
            log.warning("%s: not done for now, the database does not answer", self.what)
        except Exception:
            log.exception("%s: not done", self.what)

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            self.once()
        connections.close_all()
