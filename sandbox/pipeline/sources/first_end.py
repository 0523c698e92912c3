"""The first end of a stream that begins late, at `latest` or at a time: its start, in a batch without rows.

Spark's checkpoint holds ends only.  Without this end a stream that was killed in its first batch would begin later
after a restart.
"""

from typing import Any

Start = dict[str, Any]


class FirstEnd:
    """The first end for one start of the stream."""

    def __init__(self) -> None:
        self._start: Start | None = None
        self._is_due = False

    def begun(self, start: Start, *, is_late: bool) -> Start:
        """Record that the stream has no checkpoint yet and begins at `start`; return `start`.

        `is_late`: the start depends on the time of the call.
        """
        self._start, self._is_due = start, is_late
        return start

    def take(self, start: Start) -> bool:
        """Return True if the next end is `start` itself; True only once."""
        is_end = self._is_due and start == self._start
        if is_end:
            self._is_due = False
        return is_end

    def planned(self, start: Start) -> bool:
        """Record that a batch from `start` will be read, and return True if it is the first batch.

        Its end is then in the checkpoint, from this start of the stream or an earlier one.
        """
        if start != self._start:
            return False
        self._is_due = False
        return True
