"""The lag of each queue over the last five minutes, second by second, with or without viewers.

Seconds are those of the sandbox's clock.  A second is None if the lag is unknown: the queue's broker was down, or
the sandbox was asleep.
"""

import logging
from collections import deque
from pathlib import Path

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.record import replace_file
from sandbox.kernel import json_bytes
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.groups import group_names, topics_read

log = logging.getLogger(__name__)

KEPT = 300
FILE_NAME = "lag.json"

Series = dict[str, deque[int | None]]  # by row of the board: `broker-a:3`


def last_lag(directory: Path, group: str, topic: str) -> dict[str, object]:
    """Return the values of a sleeping sandbox as `RecentLag.of` does."""
    second, series = _load(directory)
    return _rows(second, series.get((group, topic), {}))


class RecentLag:
    """Series of lag values, one per second; queues and groups that are gone for five minutes are dropped."""

    @classmethod
    def beside(cls, cluster: Cluster) -> "RecentLag":
        return cls(cluster)

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._second: int | None = None  # the last one taken
        self._series: dict[tuple[str, str], Series] = {}

    def start(self) -> None:
        """Restore the values saved before sleep and start recording; unreadable values are dropped with a warning."""
        self._second, self._series = _load(self._cluster.directory)
        self._tick()

    def save(self) -> None:
        """Save the values before sleep.  Raises OSError."""
        series = [
            [group, topic, {key: list(values) for key, values in sorted(series.items())}]
            for (group, topic), series in sorted(self._series.items())
        ]
        replace_file(self._cluster.directory / FILE_NAME, json_bytes.dumps({"second": self._second, "series": series}))

    def of(self, group: str, topic: str) -> dict[str, object]:
        """Return the lag values of a group and topic, by queue.

        `second`: the second, on the sandbox's clock, of the last value of each queue.
        """
        return _rows(self._second, self._series.get((group, topic), {}))

    def _tick(self) -> None:
        clock = self._cluster.clock
        now_ms = clock.now_ms()
        second = now_ms // 1000
        if self._second is None or second != self._second:
            self._take(second)
        clock.call_later((1000 - now_ms % 1000) / 1000, self._tick)

    def _take(self, second: int) -> None:
        if self._second is not None and second < self._second:
            self._series.clear()  # the clock was set back
        missed = 0 if self._second is None else min(KEPT, max(0, second - self._second - 1))
        self._second = second
        now = {
            (group, topic): self._lags(view, topic)
            for group in group_names(self._cluster)
            for view in [GroupView(self._cluster, group)]
            for topic in topics_read(view)
        }
        for pair in sorted(self._series.keys() | now.keys()):
            series, lags = self._series.setdefault(pair, {}), now.get(pair, {})
            for key in sorted(series.keys() | lags.keys()):
                values = series.setdefault(key, deque(maxlen=KEPT))
                # two seconds late is a busy machine, not a hole
                values.extend([values[-1] if values and missed <= 2 else None] * missed)
                values.append(lags.get(key))
                if key not in lags and not any(value is not None for value in values):
                    del series[key]
            if not series:
                del self._series[pair]

    @staticmethod
    def _lags(view: GroupView, topic: str) -> dict[str, int | None]:
        """Return the lag of each queue, as the rows of the board have it (`rows.lag`)."""
        if view.model == "BROADCASTING":
            held = [
                (f"{mq.row}@{actor.client_id}", mq, actor.consumer.offset_store.read_memory(mq))
                for actor in view.actors
                if actor.consumer is not None and actor.lives
                for mq in actor.consumer.process_queues
                if mq.topic == topic and mq.broker in view.masters
            ]
        else:
            held = [(mq.row, mq, view.committed(mq)) for mq in view.read_queues(topic)]
            if view.reads(topic):
                held = [(key, mq, 0 if committed is None else committed) for key, mq, committed in held]
        return {
            key: None if begin is None else view.masters[mq.broker].store.max_offset(mq.topic, mq.queue_id) - begin
            for key, mq, begin in held
        }


def _load(directory: Path) -> tuple[int | None, dict[tuple[str, str], Series]]:
    try:
        kept = json_bytes.loads((directory / FILE_NAME).read_bytes())
        series = {
            (group, topic): {key: deque(values, KEPT) for key, values in series.items()}
            for group, topic, series in kept["series"]
        }
        return int(kept["second"]), series
    except FileNotFoundError:
        return None, {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("the lag kept of %s cannot be read, and begins anew: %s", directory.name, error)
        return None, {}


def _rows(second: int | None, series: Series) -> dict[str, object]:
    return {"second": second, "queues": {key: list(values) for key, values in series.items()}}
