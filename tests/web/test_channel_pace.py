"""A board that changes a lot comes less often, so that a viewer's line carries it."""

from typing import Any

import pytest

from sandbox.control.channel_names import KINDS
from sandbox.control.limits import SocketLimits
from sandbox.control.readings import Reading
from sandbox.live.channel import Channel
from sandbox.live.socket_costs import Figures
from sandbox.live.viewer import Viewer, Watch

NAME = "board/demo/g/orders"


def reading(queues: int, at: int) -> Reading:
    rows: dict[str, Any] = {
        f"broker-a:{n}": {"max": str(at), "committed": str(at), "cells": "3d4p5b"} for n in range(queues)
    }
    return Reading(at, at, 1.0, "7f3a", {"header": {}, "queues": rows, "members": {}})


def test_every_kind_of_channel_that_may_be_watched_has_its_pace_and_no_other() -> None:
    read_with_the_page_only = {"topics", "findings"}
    assert {name for name, kind in KINDS.items() if kind.least_interval_s} == set(KINDS) - read_with_the_page_only


@pytest.mark.parametrize(("queues", "least_s"), [(8, 0.05), (64, 0.1), (400, 0.4)])
async def test_deltas_stay_within_the_bytes_a_second_a_board_may_cost(queues: int, least_s: float) -> None:
    sent: list[str] = []

    async def send(text: str) -> None:
        sent.append(text)

    async def allow(slug: str) -> bool:
        return True

    async def close(code: int) -> None:
        raise AssertionError(code)

    limits = SocketLimits()
    channel = Channel(NAME, "demo", limits, Figures())
    viewer = Viewer(send, close, allow, "test", limits)
    viewer.watches[NAME] = Watch()
    channel.viewers[viewer] = None
    now_s = 0.0
    for at in range(1, 40):
        await channel.publish(reading(queues, at), now_s)
        for watch in viewer.watches.values():
            watch.acknowledge(at)
        now_s += channel.interval_s
    deltas = sum(len(text) for text in sent if '"k":"delta"' in text)
    assert deltas > 0
    assert deltas / now_s <= limits.board_bytes_per_s * 1.1 or channel.interval_s == 0.5
    assert channel.interval_s >= least_s
