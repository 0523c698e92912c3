"""The first end of a stream that begins late, at `latest` or at a time: where it begins, in a batch without rows.

Spark's checkpoint holds ends only: without this one, a stream that was killed in its first batch would begin later when
started again.
"""

from typing import Any

Start = dict[str, Any]


class FirstEnd:
    """The first end of one start of the stream."""

    def __init__(self) -> None:
        self._start: Start | None = None
        self._is_due = False

    def begun(self, start: Start, *, is_late: bool) -> Start:
        """The stream has no checkpoint yet, and begins there.  `is_late`: that depends on the time of the call."""
        self._start, self._is_due = start, is_late
        return start

    def take(self, start: Start) -> bool:
        """Return whether the next end is `start` itself; True only once."""
        is_end = self._is_due and start == self._start
        if is_end:
            self._is_due = False
        return is_end

    def planned(self, start: Start) -> bool:
        """A batch from there is going to be read, so its end is written down, by this start of the stream or by an
        earlier one.  Returns whether it is the first batch.
        """
        if start != self._start:
            return False
        self._is_due = False
        return True
