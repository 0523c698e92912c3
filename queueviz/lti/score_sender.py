"""The thread of the server that sends scores (`scores.turn`)."""

import logging
import threading

from django.db import DatabaseError, close_old_connections, connections

from queueviz.lti import scores

log = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0
STOP_WITHIN_S = 2.0  # a request under way ends with the process; its row is due again after its lease


class Sender:
    def __init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lti scores", daemon=True)

    def start(self) -> "Sender":
        self._thread.start()
        return self

    def stop(self) -> None:
        self._over.set()
        self._thread.join(STOP_WITHIN_S)

    def _run(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            one_turn()
        connections.close_all()


def one_turn() -> None:
    """Send the scores that are due.  An error of one row or of the database does not end the thread."""
    try:
        close_old_connections()
        scores.turn()
    except DatabaseError:
        log.warning("scores are not sent for now: the database does not answer")
    except Exception:
        log.exception("scores were not sent")
