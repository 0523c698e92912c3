"""Boards that are expensive to read, beside an honest one: the engine's time is shared."""

import pytest

from tests.web.stage import BOARD, Stage, Tab

EXPENSIVE_S = 0.005


@pytest.fixture(autouse=True)
def _reading_takes_time(stage: Stage) -> None:
    stage.port.call_later = stage.loop.call_later


def expensive(stage: Stage, sockets: int, channels: int, *, slug: str = "x", cost_s: float = EXPENSIVE_S) -> list[Tab]:
    """Tabs with boards of their own, which change all the time."""
    stage.port.sandboxes[slug] = "live"
    tabs = []
    for socket in range(sockets):
        names = [f"messages/{slug}?id={socket}-{n}" for n in range(channels)]
        for name in names:
            stage.port.costs_s[name] = cost_s
            stage.port.show(name, {"id": name}, seq=1)
        tabs.append(stage.tab(*names))
    return tabs


def frames_of(stage: Stage, tab: Tab, seconds: float) -> int:
    """Return the number of its frames while its board changes every 50 ms."""
    before = len(tab.got)
    for _ in range(round(seconds / 0.05)):
        stage.show()
        stage.port.ring("x")
        stage.run_for(0.05)
        tab.acknowledge()
    return len(tab.got) - before


def test_sixty_sockets_of_expensive_boards_leave_another_sandbox_s_board_its_frames(stage: Stage) -> None:
    honest = stage.tab(BOARD)
    undisturbed = frames_of(stage, honest, 5)
    expensive(stage, 60, 16)
    assert frames_of(stage, honest, 5) >= undisturbed / 2


def test_an_honest_board_of_the_same_sandbox_comes_before_those_of_who_costs_more(stage: Stage) -> None:
    honest = stage.tab(BOARD)
    undisturbed = frames_of(stage, honest, 5)
    expensive(stage, 60, 16, slug="s")
    assert frames_of(stage, honest, 5) >= undisturbed / 2


def test_every_expensive_board_is_read_in_the_end(stage: Stage) -> None:
    tabs = expensive(stage, 20, 4)
    stage.run_for(3)
    assert all(tab.kinds() == ["snap"] * 4 for tab in tabs)


def test_who_costs_more_than_its_share_is_served_less_often(stage: Stage) -> None:
    [tab] = expensive(stage, 1, 1, cost_s=0.02)
    reads = stage.port.read_count
    for _ in range(200):
        stage.port.ring("x")
        stage.run_for(0.05)
    at_its_share = stage.hub.limits.read_ms_per_s / 1000 * 10 / 0.02
    assert 0.9 * at_its_share <= stage.port.read_count - reads <= 1.2 * at_its_share
    assert tab.closed_with is None


def test_the_engine_reads_boards_for_no_longer_than_its_share(stage: Stage) -> None:
    expensive(stage, 60, 16)
    reads = stage.port.read_count
    stage.run_for(5)
    at_a_time = stage.hub.host.read_turn_ms / 1000 / EXPENSIVE_S
    assert (stage.port.read_count - reads) * at_a_time * EXPENSIVE_S <= 5 * stage.hub.host.read_share * 1.1
