"""Recordings without processes: a file the test wrote, or one that is half made."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from queueviz.links.recordings import Making

if TYPE_CHECKING:
    from tests.web.fake_port import FakePort


class FakeRecordings:
    def __init__(self, port: "FakePort") -> None:
        self._port = port

    def find(self, slug: str, first: int, last: int, admit: Callable[[], None], *, scores: bool) -> Path | Making:
        admit()
        self._port.recorded_scores.append(scores)
        if (found := self._port.recordings.get(slug)) is not None:
            return Path(found)
        making = Making(Path("none"), 0.0)
        making.progress = 0.5
        return making

    def forget(self, slug: str) -> None:
        self._port.recordings.pop(slug, None)
