"""Topics of the records of a file, found by comparing all names of one length together."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from sandbox.store_columns.log_columns import LogFile, Records
from sandbox.store_columns.queue_positions import Longs


def topics_in(file: LogFile, records: Records) -> tuple[list[str | None], Longs]:
    """Return the different topics of the records, and for each record the index of its topic.

    A topic that is not UTF-8 is None.
    """
    topics: list[str | None] = []
    numbers = np.zeros(len(records), np.int64)
    for length, count in sorted(Counter(records.topic_bytes.tolist()).items()):
        rows = np.flatnonzero(records.topic_bytes == length) if count < len(records) else np.arange(len(records))
        windows = (
            sliding_window_view(file.bytes, length)[records.topic_at[rows]]
            if length
            else np.zeros((len(rows), 0), np.uint8)
        )
        while len(rows):
            same = (windows == windows[0]).all(axis=1)
            numbers[rows[same]] = len(topics)
            topics.append(_text(windows[0].tobytes()))
            rows, windows = rows[~same], windows[~same]
    return topics, numbers


def named(topics: Sequence[str | None], topic_of: Longs) -> NDArray[np.bool_]:
    """Return a mask of the records whose topic is UTF-8; the others are no records to a broker."""
    return np.array([topic is not None for topic in topics], bool)[topic_of]


def _text(name: bytes) -> str | None:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None
