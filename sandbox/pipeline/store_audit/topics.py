"""Topics of the records of a file, found by comparing all names of one length together."""

from collections import Counter

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sandbox.pipeline.sources.queue_positions import Longs
from sandbox.pipeline.store_audit.log_columns import LogFile, Records


def topics_in(file: LogFile, records: Records) -> tuple[list[str], Longs]:
    """Return the different topics of the records, and for each record the index of its topic."""
    topics: list[str] = []
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
            topics.append(windows[0].tobytes().decode("utf-8", "replace"))
            rows, windows = rows[~same], windows[~same]
    return topics, numbers
