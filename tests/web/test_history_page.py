"""The page History: fine where it is near, coarse where it is far, gaps where no one knows, and a table of it all."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from queueviz.boards import history_lines
from queueviz.boards.history_lines import MEASURES, Lines, lines, table_of
from tests.web.fake_port import SNAPSHOT, FakePort
from tests.web.markup import compact
from tests.web.pipeline_results import leave

pytestmark = pytest.mark.usefixtures("jobs")
LINE = {"group": "order-svc", "topic": "orders"}
NOW_MS = SNAPSHOT["at_ms"] // 1_000 * 1_000
CHANNEL = "board/{slug}/order-svc/orders"


def row(from_ms: int, lag: int | None, queue: str = "broker-a:0", **more: Any) -> dict[str, Any]:
    return {**LINE, "queue": queue, "from_ms": from_ms, "produced": 6, "consumed": 4, "lag": lag, "lag_ms": lag, **more}


def page(client: Client, slug: str, query: str = "") -> str:
    answer = client.get(f"/s/{slug}/history/{query}")
    assert answer.status_code == 200
    return compact(answer.content.decode())


def given(html: str) -> dict[str, Any]:
    """Return the initial data of the page's modules."""
    found = re.search(r'<script id="live" type="application/json">(.*?)</script>', html)
    assert found is not None
    return dict(json.loads(found[1]))


def drawn(client: Client, slug: str, query: str = "") -> dict[str, Any]:
    return dict(given(page(client, slug, query))["history"])


def test_before_the_first_result_only_what_was_seen_is_drawn(visitor: Client, mine: str) -> None:
    seen = page(visitor, mine)
    assert "So far, only data received by this page and the Board is drawn." in seen
    assert (drawn(visitor, mine)["at_ms"], drawn(visitor, mine)["lines"]) == ([], {})
    assert "Compute" in seen


def test_the_live_part_is_the_channel_of_the_board(visitor: Client, mine: str, port: FakePort) -> None:
    channel = CHANNEL.format(slug=mine)
    port.show(channel, {"queues": {}}, seq=1)
    found = given(page(visitor, mine))
    assert found["channels"] == {"board": channel}
    assert found["first"][channel]["data"] == {"queues": {}}


def test_near_times_come_in_seconds_and_far_ones_in_ten_seconds(visitor: Client, mine: str) -> None:
    tens = [row(NOW_MS - 60_000 + 10_000 * n, 100 + n) for n in range(5)]
    seconds = [row(NOW_MS - 15_000 + 1_000 * n, n) for n in range(15)]
    leave("lag_history", mine, {"seconds": seconds, "tens": tens, "fives": []})
    found = drawn(visitor, mine, "?span=60")
    ends = [NOW_MS - 50_000 + 10_000 * n for n in range(5)] + [NOW_MS - 9_000 + 1_000 * n for n in range(10)]
    assert found["at_ms"] == ends, "where the tens end the seconds go on"
    assert found["lines"]["broker-a:0"] == [100, 101, 102, 103, 104, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
    assert drawn(visitor, mine, "?span=15")["at_ms"] == [NOW_MS - 14_000 + 1_000 * n for n in range(15)]


def test_all_there_is_begins_with_five_minutes(visitor: Client, mine: str) -> None:
    leave(
        "lag_history",
        mine,
        {"seconds": [row(NOW_MS - 1_000, 3)], "tens": [row(NOW_MS - 11_000, 2)], "fives": [row(NOW_MS - 10**9, 1)]},
    )
    found = drawn(visitor, mine, "?span=0")
    assert (found["lines"]["broker-a:0"], found["span_ms"]) == ([1, 2, 3], 0)
    assert drawn(visitor, mine, "?span=1440")["lines"]["broker-a:0"] == [2, 3]
    assert drawn(visitor, mine, "?span=77")["span_ms"] == 900_000, "a span nobody offers is the shortest"


def test_unknown_is_null_and_a_dash_in_the_table(visitor: Client, mine: str) -> None:
    leave(
        "lag_history",
        mine,
        {
            "seconds": [
                row(NOW_MS - 3_000, 7),
                row(NOW_MS - 2_000, None),
                row(NOW_MS - 1_000, 0),
                row(NOW_MS - 1_000, 5, "broker-a:1"),
            ]
        },
    )
    seen = page(visitor, mine, "?span=15")
    assert given(seen)["history"]["lines"] == {
        "total": [7, None, 5],
        "broker-a:0": [7, None, 0],
        "broker-a:1": [None, None, 5],
    }, "a row without a value is unknown; without a row, the queue did not exist"
    table = re.sub(r"<[^>]+>", "|", seen.split('id="twin"')[1])
    assert re.search(r"\|+5\|+0\|+5\|+.*\|+–\|+–\|+–\|+.*\|+7\|+7\|+–\|", table, re.S), "the newest first"


def test_throughput_is_the_whole_groups_and_a_second(visitor: Client, mine: str) -> None:
    leave(
        "lag_history",
        mine,
        {
            "tens": [
                row(NOW_MS - 20_000, 1, produced=60, consumed=40),
                row(NOW_MS - 20_000, 1, "broker-a:1", produced=30, consumed=0),
                row(NOW_MS - 10_000, 1, produced=60, consumed=None),
                row(NOW_MS - 10_000, 1, "broker-a:1", produced=0, consumed=10),
            ]
        },
    )
    assert drawn(visitor, mine, "?measure=flow&span=60")["lines"] == {"produced": [9, 6], "consumed": [4, None]}


def test_age_is_drawn_on_request_and_nonsense_is_lag(visitor: Client, mine: str) -> None:
    leave("lag_history", mine, {"seconds": [row(NOW_MS - 1_000, 7, lag_ms=4_500)]})
    assert drawn(visitor, mine, "?measure=age")["lines"]["broker-a:0"] == [4_500]
    assert drawn(visitor, mine, "?measure=../")["lines"]["broker-a:0"] == [7]


def test_a_group_that_is_gone_can_still_be_picked(visitor: Client, mine: str) -> None:
    old = {**row(NOW_MS - 300_000, 9), "group": "gone", "topic": "orders"}
    leave("lag_history", mine, {"fives": [old], "seconds": [row(NOW_MS - 1_000, 1)]})
    seen = page(visitor, mine, "?group=gone&topic=orders&span=1440")
    assert given(seen)["history"]["lines"]["broker-a:0"] == [9]
    assert "<option selected>gone</option>" in seen


def test_the_total_and_the_worst_three_are_drawn_and_the_rest_is_one_line(visitor: Client, mine: str) -> None:
    rows = [row(NOW_MS - 1_000, lag, f"broker-a:{n}") for n, lag in enumerate([5, 80, 1, 60, 2, 70])]
    leave("lag_history", mine, {"seconds": rows})
    seen = page(visitor, mine)
    assert given(seen)["history"]["lines"] == {
        "total": [218],
        "broker-a:1": [80],
        "broker-a:3": [60],
        "broker-a:5": [70],
        "others": [8],
    }
    heads = re.findall(r'<th scope="col" class="r">([^<]+)</th>', seen.split('id="twin"')[1].split("</thead>")[0])
    assert heads == ["all queues", "q1", "q3", "q5", "3 other queues"]


def test_four_queues_have_their_names(visitor: Client, mine: str) -> None:
    leave("lag_history", mine, {"seconds": [row(NOW_MS - 1_000, n, f"broker-a:{n}") for n in range(4)]})
    assert list(drawn(visitor, mine)["lines"]) == ["total", *(f"broker-a:{n}" for n in range(4))]


def test_the_age_of_all_queues_is_that_of_the_oldest(visitor: Client, mine: str) -> None:
    rows = [row(NOW_MS - 1_000, 1, f"broker-a:{n}", lag_ms=1_000 * n) for n in range(6)]
    leave("lag_history", mine, {"seconds": rows})
    drawn_lines = drawn(visitor, mine, "?measure=age")["lines"]
    assert (drawn_lines["total"], drawn_lines["others"]) == ([5_000], [2_000])


def test_all_queues_have_small_charts_and_a_column_each(visitor: Client, mine: str) -> None:
    rows = [row(NOW_MS - 1_000, n, f"broker-a:{n}") for n in range(history_lines.MOST_SMALL + 1)]
    leave("lag_history", mine, {"seconds": rows})
    html = page(visitor, mine, "?queues=all")
    assert list(given(html)["history"]["queues"]["lines"]) == [f"broker-a:{n}" for n in range(1, 65)]
    assert 'id="h-queues"' in html
    assert "1 queue with less lag has no chart." in html
    assert len(re.findall(r'<th scope="col" class="r">', html.split('id="twin"')[1].split("</thead>")[0])) == 65
    assert 'id="h-queues"' not in page(visitor, mine, "?queues=all&measure=flow"), "throughput is the group's"


def test_more_points_than_a_line_has_are_put_together_by_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    rows = [{"queue": "a:0", "from_ms": 1_000 * n, "lag": None if n == 9 else n} for n in range(11)]
    batches = pa.Table.from_pylist(rows).to_batches()
    monkeypatch.setattr(history_lines, "MOST_POINTS", 4)
    found = lines(("seconds",), lambda table, since_ms: batches, MEASURES["lag"], from_ms=0)
    assert found == Lines([3_000, 6_000, 9_000, 11_000], {name: [2, 5, 8, None] for name in ("total", "a:0")}, 0, 3)


def test_a_table_has_sixty_rows_at_most_and_ends_with_the_newest() -> None:
    found = Lines(list(range(900)), {"a:0": [float(n) for n in range(900)]}, 0, 1)
    table = table_of(found)
    assert (len(table), table[0]) == (60, (899, [899.0]))


def test_the_board_leads_to_what_lies_further_back(visitor: Client, mine: str) -> None:
    board = visitor.get(f"/s/{mine}/").content.decode()
    assert f"/s/{mine}/history/?group=order-svc&amp;topic=orders" in board
    assert f"/s/{mine}/audit/?group=order-svc&amp;topic=orders" in board
