"""The hub in virtual time: who gets which frame when."""

import asyncio
from typing import Any

import pytest

from sandbox.live.channel_reader import TOO_SLOW
from sandbox.live.hub import TOO_MANY
from tests.web.stage import BOARD, FACTS, Stage

MOST_VIEWERS = 600


def test_the_first_frame_is_a_snapshot_and_the_next_a_delta(stage: Stage) -> None:
    tab = stage.tab(BOARD)
    stage.run_for(0.06)
    stage.show()
    stage.run_for(0.06)
    assert tab.kinds() == ["snap", "delta"]
    assert tab.got[0]["data"]["queues"]["broker-a:0"]["max"] == "1"
    assert tab.got[1]["set"] == {"queues": {"broker-a:0": {"max": "2"}}}
    assert tab.got[1]["n"] == tab.got[0]["n"] + 1


def test_after_quiet_a_change_is_sent_at_once(stage: Stage) -> None:
    tab = stage.tab(BOARD)
    stage.run_for(0.4)
    stage.show()
    stage.loop.run_until_idle()
    assert tab.kinds() == ["snap", "delta"]


def test_a_busy_board_is_sent_at_most_twenty_times_a_second(stage: Stage) -> None:
    tab = stage.tab(BOARD)
    for _ in range(500):
        stage.show()
        stage.run_for(0.002)
        tab.acknowledge()
    assert 19 <= len(tab.got) <= 22
    assert stage.port.read_count <= 22


def test_a_board_of_many_queues_is_sent_ten_times_a_second(stage: Stage) -> None:
    tab = stage.tab(BOARD)
    for n in range(500):
        stage.show(queues={f"broker-a:{i}": {"max": str(n)} for i in range(17)})
        stage.run_for(0.002)
        tab.acknowledge()
    assert 9 <= len(tab.got) <= 12


def test_nothing_is_sent_where_nothing_changed(stage: Stage) -> None:
    tab = stage.tab(BOARD)
    stage.run_for(0.06)
    for _ in range(20):
        stage.port.ring("s")
        stage.run_for(0.06)
    assert tab.kinds() == ["snap"]


def test_sixty_viewers_cost_one_read_and_one_encoding_a_frame(stage: Stage) -> None:
    tabs = [stage.tab(BOARD) for _ in range(60)]
    stage.run_for(0.2)
    encoded, reads = stage.hub.figures.encoded, stage.port.read_count
    stage.show()
    stage.run_for(0.05)
    assert stage.hub.figures.encoded == encoded + 1
    assert stage.port.read_count == reads + 1
    assert all(tab.kinds() == ["snap", "delta"] for tab in tabs)


def test_boards_that_change_shortly_after_another_are_read_in_one_crossing(stage: Stage) -> None:
    others = ["board/a/g/t", "board/b/g/t", "board/c/g/t"]
    for name in others:
        stage.port.sandboxes[name.split("/")[1]] = "live"
        stage.port.show(name, {"queues": {}}, seq=1)
    tabs = [stage.tab(name) for name in (BOARD, *others)]
    stage.run_for(0.4)
    reads = stage.port.read_count
    stage.show()
    for name in others:
        stage.run_for(0.002)
        stage.port.show(name, {"queues": {"broker-a:0": {"max": "2"}}}, seq=2)
    stage.run_for(0.01)
    assert stage.port.read_count == reads + 2, "the first at once, the others together"
    assert all(tab.kinds() == ["snap", "delta"] for tab in tabs)


def test_the_hub_knows_how_late_its_frames_were_in_the_last_seconds(stage: Stage) -> None:
    stage.port.call_later = stage.loop.call_later
    stage.tab(BOARD)
    stage.run_for(1)
    assert stage.hub.late_s() == 0
    stage.port.costs_s[BOARD] = 0.4
    stage.show()
    stage.run_for(1)
    assert stage.hub.late_s() == pytest.approx(0.4)
    stage.port.costs_s.clear()
    stage.run_for(21)
    assert stage.hub.late_s() == 0


def test_a_late_viewer_starts_from_the_newest_snapshot(stage: Stage) -> None:
    early = stage.tab(BOARD)
    for _ in range(3):
        stage.run_for(0.06)
        stage.show()
    late = stage.tab(BOARD)
    stage.run_for(0.06)
    assert late.kinds() == ["snap"]
    assert late.got[0]["data"]["queues"]["broker-a:0"]["max"] == "4"
    assert late.got[0]["n"] == early.got[-1]["n"]


def test_who_does_not_acknowledge_for_a_second_gets_snapshots_only(stage: Stage) -> None:
    slow, quick = stage.tab(BOARD), stage.tab(BOARD)
    for _ in range(40):
        stage.show()
        stage.run_for(0.05)
        quick.acknowledge()
    after_a_second = [frame["k"] for frame in slow.got[-3:]]
    assert after_a_second == ["snap"] * 3
    assert quick.kinds().count("snap") == 1
    assert len(slow.got) < len(quick.got)


def test_after_five_seconds_a_slow_viewer_gets_two_frames_a_second(stage: Stage) -> None:
    slow = stage.tab(BOARD)
    for _ in range(120):
        stage.show()
        stage.run_for(0.05)
    before = len(slow.got)
    for _ in range(80):
        stage.show()
        stage.run_for(0.05)
    assert 7 <= len(slow.got) - before <= 9


def test_after_twenty_seconds_the_socket_is_closed(stage: Stage) -> None:
    slow, quick = stage.tab(BOARD), stage.tab(BOARD)
    for _ in range(22 * 10):
        stage.show()
        stage.run_for(0.1)
        quick.acknowledge()
    assert slow.closed_with == TOO_SLOW
    assert quick.closed_with is None


def test_who_catches_up_is_current_again(stage: Stage) -> None:
    tab = stage.tab(BOARD)
    for _ in range(40):
        stage.show()
        stage.run_for(0.05)
    tab.acknowledge()
    stage.run_for(0.06)
    tab.acknowledge()
    stage.show()
    stage.run_for(0.06)
    assert tab.kinds()[-2:] == ["snap", "delta"]
    assert tab.got[-1]["set"]["queues"]["broker-a:0"]["max"] == str(stage.seq)


def test_a_hidden_tab_gets_no_frames_for_a_minute_and_one_snapshot_on_return(stage: Stage) -> None:
    tab = stage.tab(BOARD)
    stage.run_for(0.06)
    tab.got.clear()
    stage.hub.hide(tab.viewer, hidden=True)
    reads = stage.port.read_count
    for _ in range(60):
        stage.show()
        stage.run_for(1)
    assert tab.got == []
    assert stage.port.read_count == reads
    assert len(tab.beats) >= 59
    stage.hub.hide(tab.viewer, hidden=False)
    stage.run_for(0.06)
    assert tab.kinds() == ["snap"]
    assert tab.got[0]["data"]["queues"]["broker-a:0"]["max"] == str(stage.seq)


def test_a_sandbox_that_woke_anew_sends_everyone_a_snapshot(stage: Stage) -> None:
    tab = stage.tab(BOARD)
    stage.run_for(0.06)
    stage.port.show(BOARD, {"queues": {}}, seq=10_000, epoch="8000")
    stage.run_for(0.06)
    assert tab.kinds() == ["snap", "snap"]
    assert tab.got[1]["ep"] == "8000"


def test_a_change_of_pace_alone_is_reported(stage: Stage) -> None:
    tab = stage.tab(BOARD)
    stage.run_for(0.06)
    stage.port.show(BOARD, stage.port.boards[BOARD].data, seq=9, rate=0)
    stage.run_for(0.06)
    assert tab.got[-1]["k"] == "delta"
    assert tab.got[-1]["rate"] == 0


def test_a_board_too_large_to_send_ends_with_its_reason_and_the_socket_stays(stage: Stage) -> None:
    stage.show(text="x" * 200_000)
    tab = stage.tab(BOARD)
    stage.run_for(0.06)
    assert tab.got == [{"k": "end", "ch": BOARD, "reason": "too_large"}]
    assert tab.closed_with is None


def test_a_delta_above_a_frame_s_limit_becomes_a_snapshot(stage: Stage) -> None:
    tab = stage.tab(BOARD)
    stage.run_for(0.06)
    stage.show(text="x" * 70_000)
    stage.run_for(0.06)
    assert tab.kinds() == ["snap", "snap"]


@pytest.mark.parametrize("name", ["board", "", "nonsense/s/g", "board/unknown/g/t", "board//g/t", "x" * 5_000])
def test_a_channel_that_does_not_exist_ends(stage: Stage, name: str) -> None:
    tab = stage.tab(name)
    stage.run_for(0.06)
    assert [frame["k"] for frame in tab.got] == ["end"]
    assert tab.got[0]["reason"] == "unknown"


@pytest.mark.parametrize("name", ["messages/s?id=a&z=1", "messages/s?z=1", "board/s/g/t?z=1", "board/s/%67/t"])
def test_another_spelling_makes_no_channel(stage: Stage, name: str) -> None:
    stage.port.show(name, {"queues": {}}, seq=1)
    tab = stage.tab(name)
    stage.run_for(0.06)
    assert tab.got == [{"k": "end", "ch": name, "reason": "unknown"}]


def test_a_channel_without_right_ends_like_an_unknown_one(stage: Stage) -> None:
    tab = stage.tab(BOARD, may_see=False)
    stage.run_for(0.06)
    assert tab.got == [{"k": "end", "ch": BOARD, "reason": "unknown"}]


def test_the_seventeenth_channel_is_refused(stage: Stage) -> None:
    names = [f"board/s/g/t{n}" for n in range(17)]
    for name in names:
        stage.port.show(name, {"queues": {}}, seq=1)
    tab = stage.tab(*names)
    stage.run_for(0.06)
    assert {"k": "end", "ch": names[16], "reason": "too_many_channels"} in tab.got
    assert tab.kinds().count("snap") == 16


def test_one_viewer_too_many_of_a_sandbox_is_turned_away(stage: Stage) -> None:
    for _ in range(MOST_VIEWERS):
        stage.tab(BOARD)
    assert stage.tab(BOARD).closed_with == TOO_MANY


def test_a_viewer_counts_in_each_sandbox_it_watches(stage: Stage) -> None:
    stage.port.sandboxes["other"] = "live"
    for _ in range(MOST_VIEWERS):
        stage.tab("board/other/g/t", BOARD)
    assert stage.tab(BOARD).closed_with == TOO_MANY
    stage.hub.leave(stage.tabs[0].viewer, BOARD)
    assert stage.tab(BOARD).closed_with is None


def test_viewers_who_come_at_once_to_a_slow_engine_are_counted_when_they_are_in(stage: Stage) -> None:
    tabs = [stage.tab() for _ in range(MOST_VIEWERS + 1)]

    async def all_at_once() -> None:
        await asyncio.gather(*(stage.hub.join(tab.viewer, BOARD) for tab in tabs))

    stage.do(all_at_once())
    assert [tab.closed_with for tab in tabs].count(TOO_MANY) == 1


def test_who_gives_up_on_a_silent_engine_leaves_no_bell(stage: Stage) -> None:
    stage.port.silent.add("subscribe")
    tab = stage.tab(BOARD)
    assert tab.got == [{"k": "end", "ch": BOARD, "reason": "unknown"}]
    stage.port.silent.clear()
    assert [frame["k"] for frame in _first_frames(stage)] == ["snap"]
    assert len(stage.port.bells["s"]) == 1


def _first_frames(stage: Stage) -> list[dict[str, Any]]:
    tab = stage.tab(BOARD)
    stage.run_for(0.06)
    return tab.got


def test_a_revoked_right_ends_the_channel(stage: Stage) -> None:
    tab, other = stage.tab(BOARD), stage.tab(BOARD)
    stage.run_for(0.06)
    tab.may_see = False
    stage.do(stage.hub.recheck("s"))
    stage.show()
    stage.run_for(0.06)
    assert tab.got[-1] == {"k": "end", "ch": BOARD, "reason": "forbidden"}
    assert other.kinds() == ["snap", "delta"]


def test_a_sandbox_no_one_watches_has_no_bell(stage: Stage) -> None:
    tab = stage.tab(BOARD, FACTS)
    assert len(stage.port.bells["s"]) == 1
    stage.hub.forget(tab.viewer)
    stage.run_for(0.06)
    assert stage.port.bells["s"] == []


def test_a_beat_comes_every_second_with_the_newest_event_and_the_watchers(stage: Stage) -> None:
    tab, _ = stage.tab(BOARD), stage.tab(BOARD)
    stage.run_for(10.5)
    assert 10 <= len(tab.beats) <= 11
    assert tab.beats[-1]["watchers"] == 2
    assert tab.beats[-1]["seq"] == "1"


def test_an_engine_that_does_not_answer_leaves_the_beat_alone(stage: Stage) -> None:
    tab = stage.tab(BOARD)
    stage.run_for(0.06)
    stage.port.silent.add("read")
    stage.show()
    stage.run_for(10)
    assert tab.kinds() == ["snap"]
    assert len(tab.beats) >= 3
    stage.port.silent.clear()
    stage.show()
    stage.run_for(3)
    assert tab.got[-1]["k"] in ("snap", "delta")


def test_the_host_has_room_for_so_many_sockets_and_so_many_of_one_address(stage: Stage) -> None:
    for _ in range(stage.hub.host.sockets_per_address):
        assert stage.hub.has_room_for("127.0.0.1")
        stage.tab()
    assert not stage.hub.has_room_for("127.0.0.1")
    assert stage.hub.has_room_for("192.0.2.1")


def test_a_board_of_a_sandbox_that_is_waking_is_shown_once_it_is_open(stage: Stage) -> None:
    stage.port.sandboxes["s"] = "waking"
    tab = stage.tab(BOARD)
    stage.run_for(5)
    assert tab.kinds() == []
    stage.port.sandboxes["s"] = "live"
    stage.port.ring("s")
    stage.run_for(0.06)
    assert tab.kinds() == ["snap"]
