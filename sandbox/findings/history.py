"""Values of earlier views: rates, times since a change, changes of membership.

Times are of the cluster's clock.  After a gap (sleep, a clock that was set) everything begins again, so nothing is
computed over it.
"""

from collections import deque
from collections.abc import Hashable, Iterable

WINDOW_MS = 60_000
LEAST_MS = 10_000  # a rate over less time is not known
SAMPLE_EVERY_MS = 2_000
GAP_MS = 30_000
MOST_SERIES = 20_000


class Series:
    """Samples of one number over the last minute."""

    __slots__ = ("samples",)

    def __init__(self) -> None:
        self.samples: deque[tuple[int, int]] = deque()

    def add(self, at_ms: int, value: int) -> None:
        samples = self.samples
        if samples and at_ms - samples[-1][0] < SAMPLE_EVERY_MS:
            return
        samples.append((at_ms, value))
        while at_ms - samples[0][0] > WINDOW_MS:
            samples.popleft()

    def copy(self) -> "Series":
        made = Series()
        made.samples = self.samples.copy()
        return made

    def per_s(self, window_ms: int) -> float | None:
        """Return the mean rise over the last `window_ms`; None: its samples cover less than `LEAST_MS`."""
        if not self.samples:
            return None
        last_ms, last = self.samples[-1]
        first_ms, first = next(sample for sample in self.samples if last_ms - sample[0] <= window_ms)
        return (last - first) * 1000 / (last_ms - first_ms) if last_ms - first_ms >= LEAST_MS else None

    def trend_per_s(self, window_ms: int) -> float | None:
        """Return the slope of the line that fits the samples best; None as for `per_s`.

        A number that changes in steps, such as a committed offset every 5 s, has less noise so.
        """
        if not self.samples:
            return None
        last_ms, last = self.samples[-1]
        points = [(at_ms - last_ms, value - last) for at_ms, value in self.samples if last_ms - at_ms <= window_ms]
        if -points[0][0] < LEAST_MS:
            return None
        count, sum_ms, sum_values = len(points), sum(at for at, _ in points), sum(value for _, value in points)
        above = count * sum(at * value for at, value in points) - sum_ms * sum_values
        return above * 1000 / (count * sum(at * at for at, _ in points) - sum_ms * sum_ms)

    def mean(self, window_ms: int) -> float | None:
        """Return the mean value; None as for `per_s`."""
        if not self.samples or self.samples[-1][0] - self.samples[0][0] < LEAST_MS:
            return None
        last_ms = self.samples[-1][0]
        values = [value for at_ms, value in self.samples if last_ms - at_ms <= window_ms]
        return sum(values) / len(values)


class History:
    """Series by key, and the time when a value changed last."""

    def __init__(self) -> None:
        self.at_ms: int | None = None
        self.began_ms = 0
        self._series: dict[Hashable, Series] = {}
        self._trends: dict[tuple[Hashable, int], float | None] = {}  # of this view: several rules read one
        self._latest: dict[Hashable, int] = {}  # of each series: a look may come too early for a sample
        self._values: dict[Hashable, tuple[object, int]] = {}
        self._changes: dict[Hashable, deque[int]] = {}

    def copy(self) -> "History":
        """Return a history for one more view, which does not become part of this one."""
        made = History()
        made.at_ms, made.began_ms = self.at_ms, self.began_ms
        made._series = {key: series.copy() for key, series in self._series.items()}
        made._values, made._latest = dict(self._values), dict(self._latest)
        made._changes = {key: times.copy() for key, times in self._changes.items()}
        return made

    def begin(self, at_ms: int) -> bool:
        """Begin a new view.  Return False, and forget everything, if it does not follow the last one."""
        self._trends.clear()
        follows = self.at_ms is not None and 0 <= at_ms - self.at_ms <= GAP_MS
        if not follows:
            self._series.clear()
            self._latest.clear()
            self._values.clear()
            self._changes.clear()
            self.began_ms = at_ms
        self.at_ms = at_ms
        return follows

    def add(self, key: Hashable, value: int) -> None:
        assert self.at_ms is not None
        series = self._series.get(key)
        if series is None:
            if len(self._series) >= MOST_SERIES:
                return
            series = self._series[key] = Series()
        series.add(self.at_ms, value)
        self._trends.clear()
        self._latest[key] = value

    def per_s(self, *keys: Hashable, window_ms: int = 30_000) -> float | None:
        """Return the sum of the known rates of these keys; None: none is known."""
        rates = [
            rate
            for key in keys
            if (series := self._series.get(key)) is not None and (rate := series.per_s(window_ms)) is not None
        ]
        return sum(rates) if rates else None

    def trend_per_s(self, *keys: Hashable, window_ms: int) -> float | None:
        """Return the sum of the known trends of these keys; None: none is known."""
        trends = [trend for key in keys if (trend := self._trend(key, window_ms)) is not None]
        return sum(trends) if trends else None

    def _trend(self, key: Hashable, window_ms: int) -> float | None:
        if (key, window_ms) not in self._trends:
            series = self._series.get(key)
            self._trends[key, window_ms] = None if series is None else series.trend_per_s(window_ms)
        return self._trends[key, window_ms]

    def rise(self, key: Hashable, within_ms: int) -> int:
        """Return by how much the number rose within the last `within_ms`, or since the first view."""
        series = self._series.get(key)
        if series is None or self.at_ms is None:
            return 0
        earlier = [value for at_ms, value in series.samples if self.at_ms - at_ms <= within_ms]
        return self._latest[key] - earlier[0] if earlier else 0

    def earlier(self, key: Hashable, ms: int) -> int | None:
        """Return the newest value that is at least `ms` old; None: there is none."""
        assert self.at_ms is not None
        samples = self._series[key].samples if key in self._series else ()
        return next((value for at_ms, value in reversed(samples) if self.at_ms - at_ms >= ms), None)

    def mean(self, key: Hashable, window_ms: int = 30_000) -> float | None:
        series = self._series.get(key)
        return None if series is None else series.mean(window_ms)

    def note(self, key: Hashable, value: object) -> None:
        """Record a value, for `unchanged_since_ms` and `changes`."""
        assert self.at_ms is not None
        before = self._values.get(key)
        if before is None:
            self._values[key] = value, self.at_ms
        elif before[0] != value:
            self._values[key] = value, self.at_ms
            times = self._changes.setdefault(key, deque(maxlen=64))
            times.append(self.at_ms)

    def value(self, key: Hashable) -> object:
        """Return the value that was recorded last; None: there is none."""
        known = self._values.get(key)
        return None if known is None else known[0]

    def unchanged_since_ms(self, key: Hashable) -> int | None:
        """Return the time of the view in which the value was new; None: it is not recorded."""
        known = self._values.get(key)
        return None if known is None else known[1]

    def changes(self, key: Hashable, within_ms: int) -> list[int]:
        """Return the times of the value's changes within the last `within_ms`."""
        assert self.at_ms is not None
        return [at_ms for at_ms in self._changes.get(key, ()) if self.at_ms - at_ms <= within_ms]

    def keep(self, keys: Iterable[Hashable]) -> None:
        """Forget everything about other keys."""
        kept = set(keys)
        for table in (self._series, self._latest, self._values, self._changes):
            for key in [key for key in table if key not in kept]:
                del table[key]
