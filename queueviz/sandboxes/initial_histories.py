"""Recorded histories with which new sandboxes begin.

Processes beside the server make them, one after the other, at low priority.
"""

import atexit
import threading
import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from queueviz.links.reruns import Play
from sandbox.cluster.config import HostConfig
from sandbox.cluster.templates import TEMPLATES
from sandbox.control.limits import HostLimits
from sandbox.hosting.histories import Histories
from sandbox.kernel.errors import ActionRefused

LIMITS = HostLimits()
MAKE = "sandbox.simulation.history"
FIRST = ("flights", "sandbox")  # made before the server listens
FIRST_WITHIN_S = 30.0
AGAIN_S = 600.0  # after one that failed, or left it to another process


class Making(Play):
    """The process that makes the history of one template and preset."""

    def __init__(self, template: str, preset: str) -> None:
        order = {
            "template": template,
            "preset": preset,
            "history_s": settings.QUEUEVIZ_HISTORY_S,
            "node_host": settings.QUEUEVIZ_NODE_ADDRESS,
        }
        super().__init__("", "history", [MAKE, str(settings.QUEUEVIZ_HOME)], order, most_s=LIMITS.history_s)
        self._wished_s = time.monotonic()

    @property
    def may_be_followed(self) -> bool:
        """True if another one may begin: the result of this one is gone, or it failed some time ago."""
        return self.is_over and (bool(self.result) or time.monotonic() - self._wished_s > AGAIN_S)


_makings: dict[tuple[str, str], Making] = {}
_lock = threading.Lock()
_places = threading.Semaphore(1)


def wish(template: str, preset: str) -> Making | None:
    """Start to make a history for the template and preset, if it is missing and allowed; return at once.

    Return the process that makes it, or None if none is needed.
    """
    if settings.QUEUEVIZ_HISTORY_S <= 0 or not _is_wanted(template, preset):
        return None
    with _lock:
        before = _makings.get((template, preset))
        if before is not None and not before.may_be_followed:
            return before
        making = _makings[template, preset] = Making(template, preset)
    threading.Thread(target=_in_turn, args=(making,), name="history", daemon=True).start()
    return making


def make_first(say: Callable[[str], object]) -> None:
    """Make the history in `FIRST` before the server listens, if it is missing, so that the first board has a past.

    After `FIRST_WITHIN_S` the server listens all the same, and the history is there later.
    """
    making = wish(*FIRST)
    if making is not None and not making.over.is_set():
        say("Playing the first minutes of the demo …")
        making.over.wait(FIRST_WITHIN_S)


def make_others() -> None:
    """Start to make the missing histories of the other templates, one after the other."""
    for template in TEMPLATES:
        wish(template, "sandbox")


def _is_wanted(template: str, preset: str) -> bool:
    config = HostConfig(node_host=settings.QUEUEVIZ_NODE_ADDRESS, history_s=settings.QUEUEVIZ_HISTORY_S)
    try:
        return Histories(Path(settings.QUEUEVIZ_HOME), config).is_wanted(template, preset)
    except ActionRefused:  # unknown template
        return False


def _in_turn(making: Making) -> None:
    with _places:
        making.run()


@atexit.register
def _stop() -> None:
    for making in list(_makings.values()):
        making.cancel()
