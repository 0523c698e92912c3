"""Moments as texts and hours."""

from datetime import UTC, datetime

import pytest

from sandbox.kernel.calendar_text import hour_of_day, stamp
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import QueueTimeSpan


@pytest.mark.parametrize("at_ms", [0, 951_782_400_000, 1_709_164_799_999, 1_795_150_704_156, 4_102_444_800_001])
@pytest.mark.parametrize("offset_minutes", [0, 480, -210])
def test_a_stamp_is_the_date_and_time_in_digits(at_ms: int, offset_minutes: int) -> None:
    shifted = datetime.fromtimestamp((at_ms + offset_minutes * 60_000) // 1000, UTC)
    expected = shifted.strftime("%Y%m%d%H%M%S") + f"{at_ms % 1000:03}"
    assert stamp(at_ms, offset_minutes) == expected
    assert hour_of_day(at_ms, offset_minutes) == shifted.hour


def test_administrators_read_the_times_of_a_queue_as_rocketmq_writes_them() -> None:
    """RocketMQ: `UtilAll.YYYY_MM_DD_HH_MM_SS_SSS`."""
    row = QueueTimeSpan(MessageQueue("T", "b", 0), 951_782_400_007, -1, -1, 0).to_json(utc_offset_minutes=60)
    assert row["minTimeStampStr"] == "2000-02-29#01:00:00:007"
