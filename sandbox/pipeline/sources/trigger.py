"""The time of the next batch of a stream."""

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, ReadMinRows

from sandbox.pipeline.sources.batch_limits import Pace


class Trigger:
    """The rule that holds a batch back.

    Fewer than `least` messages wait for more, at most `delay_ms` since the last batch.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._last_s: float | None = None

    @property
    def limit(self) -> ReadLimit:
        """The value for Spark's `getDefaultReadLimit`."""
        most, least, _ = self._pace
        if most is not None:
            return ReadMaxRows(most)
        return ReadAllAvailable() if least is None else ReadMinRows(least)

    def holds_back(self, waiting: int, limit: ReadLimit, now_s: float) -> bool:
        """Return True if this many waiting messages are too few for a batch now.

        The first batch is never held back, nor is a read without a limit.
        """
        least = self._pace.least
        if least is None or isinstance(limit, ReadAllAvailable):
            return False
        since_s = None if self._last_s is None else now_s - self._last_s
        if waiting < least and since_s is not None and since_s * 1_000 < self._pace.delay_ms:
            return True
        self._last_s = now_s
        return False
