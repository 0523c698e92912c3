"""Feeding tables: what arrives, how fast, and one clear sentence where it cannot."""

from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from django.core.management import CommandError, call_command

from queueviz.operations.feed import BATCH_ROWS, Pace, SandboxSink, batches
from queueviz.operations.remote_sandbox import RemoteRefused, RemoteSandbox
from sandbox.cluster.actors.feeds import FeedRow
from sandbox.cluster.actors.table_feed import Columns, FeedUnreadable, csv_rows, ndjson_rows
from sandbox.kernel.errors import Locked
from sandbox.tools.store_feed import StoreSink


class Clock:
    """Time that passes only while someone sleeps."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept_s = 0.0

    def now(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.slept_s += seconds


def rows(count: int, gap_s: float) -> list[FeedRow]:
    return [FeedRow(0, gap_s if n else 0.0, f"k{n}", "t", b"{}") for n in range(count)]


def test_a_csv_row_becomes_a_message_with_key_tag_and_the_whole_row(tmp_path: Path) -> None:
    table = tmp_path / "orders.csv"
    table.write_text("id,state,at\n7,paid,2013-01-01T05:00\n8,sent,2013-01-01T05:02\n9,sent,2013-01-01T09:00\n")
    first, second, third = csv_rows(table, Columns(key="id", tag="state", time="at"))
    assert (first.key, first.tag, first.gap_s) == ("7", "paid", 0.0)
    assert orjson.loads(first.body) == {"id": "7", "state": "paid", "at": "2013-01-01T05:00"}
    assert second.gap_s == 120.0
    assert third.gap_s == 300.0, "gaps over five minutes are cut"


def test_a_json_line_is_the_body_as_it_stands(tmp_path: Path) -> None:
    table = tmp_path / "orders.ndjson"
    table.write_bytes(b'{"id": 9007199254740993, "at": 1357016400000}\n\n{"id": 8, "at": 1357016401}\n')
    first, second = ndjson_rows(table, Columns(key="id", time="at"))
    assert first.key == "9007199254740993"
    assert first.body == b'{"id": 9007199254740993, "at": 1357016400000}'
    assert second.gap_s == 1.0


@pytest.mark.parametrize(
    ("name", "content", "columns", "says"),
    [
        ("a.csv", "id,at\n1,2\n", Columns(key="colour"), "there is no column colour; its columns are id, at"),
        ("a.csv", "id,at\n1,noon\n", Columns(time="at"), "line 2: at is no time: 'noon'"),
        ("a.ndjson", '{"id": 1}\n{"id": \n', Columns(key="id"), "line 2"),
        ("a.ndjson", "[1]\n", Columns(), "not a JSON object"),
    ],
)
def test_a_bad_table_is_named_by_line_and_column(
    tmp_path: Path, name: str, content: str, columns: Columns, says: str
) -> None:
    table = tmp_path / name
    table.write_text(content)
    read = csv_rows if name.endswith("csv") else ndjson_rows
    with pytest.raises(FeedUnreadable) as refused:
        list(read(table, columns))
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ("csv", "{tmp}/none.csv", "--topic", "t", "--store", "{tmp}/store"),
        ("csv", "{tmp}", "--topic", "t", "--store", "{tmp}/store"),
        ("csv", "{tmp}/table.csv", "--key", "colour", "--topic", "t", "--store", "{tmp}/store"),
        ("ndjson", "{tmp}/latin.csv", "--topic", "t", "--store", "{tmp}/store"),
        ("csv", "{tmp}/latin.csv", "--topic", "t", "--store", "{tmp}/store"),
        ("csv", "{tmp}/table.csv", "--topic", "t", "--store", "{tmp}/table.csv"),
        ("csv", "{tmp}/table.csv", "--topic", "t"),
        ("csv", "{tmp}/table.csv", "--topic", "t", "--sandbox", "s", "--url", "nonsense"),
    ],
)
def test_what_cannot_be_fed_ends_with_one_sentence(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "table.csv").write_text("id\n1\n")
    (tmp_path / "latin.csv").write_bytes(b"id\n\xe9\n")
    with pytest.raises(CommandError) as refused:
        call_command("feed", *(part.format(tmp=tmp_path) for part in arguments))
    assert refused.value.returncode == 1
    assert "\n" not in str(refused.value)
    assert "Traceback" not in str(refused.value)


def test_a_table_goes_into_a_store_no_one_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "table.csv").write_text("id\n" + "".join(f"{n}\n" for n in range(1_200)))
    table, store = str(tmp_path / "table.csv"), str(tmp_path / "s")
    call_command("feed", "csv", table, "--key", "id", "--topic", "t", "--store", store)
    assert "1200 messages sent to t." in capsys.readouterr().out
    call_command("mqstore", "verify", store)
    assert "1200 records" in capsys.readouterr().out
    assert not (tmp_path / "s" / "abort").exists()


def test_a_store_someone_holds_is_left_alone(tmp_path: Path) -> None:
    holder = StoreSink(tmp_path / "s", "t", queues=1)
    try:
        with pytest.raises(Locked):
            StoreSink(tmp_path / "s", "t", queues=1)
    finally:
        holder.close()


def test_rows_are_sent_at_their_time_divided_by_the_speed() -> None:
    clock = Clock()
    sent = [len(batch) for batch in batches(rows(11, 60.0), Pace(60.0), now=clock.now, sleep=clock.sleep)]
    assert sum(sent) == 11
    assert 9.4 <= clock.slept_s <= 10.1


def test_dense_rows_go_together_but_never_too_many_at_once() -> None:
    clock = Clock()
    sizes = [len(batch) for batch in batches(rows(3_000, 0.0), Pace(1.0), now=clock.now, sleep=clock.sleep)]
    assert sum(sizes) == 3_000
    assert max(sizes) <= BATCH_ROWS
    assert clock.slept_s >= 3_000 / 1_500 - 1, "no faster than the sandbox's limit"


class Server:
    """The API as `RemoteSandbox` meets it: a list of answers, and what was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def sandbox(self, clock: Clock) -> RemoteSandbox:
        return RemoteSandbox(
            "http://server", "s", "qv_x", transport=httpx.MockTransport(self), sleep=clock.sleep, now=clock.now
        )


def ok(**body: Any) -> httpx.Response:
    return httpx.Response(200, json=body)


def no(status: int) -> httpx.Response:
    return httpx.Response(status, json={"error": "Too many.", "hint": "Wait."})


def test_a_busy_server_is_asked_again_later_and_later() -> None:
    clock, server = Clock(), Server(no(429), no(429), httpx.ConnectError("refused"), ok(seq="5"))
    assert server.sandbox(clock).act({"action": "CrashActor", "actor": "A"}) == 5
    assert len(server.asked) == 4
    assert clock.slept_s >= 0.25 + 0.5 + 1.0
    assert server.asked[0].headers["Authorization"] == "Bearer qv_x"


def test_a_sleeping_sandbox_is_woken_once() -> None:
    clock, server = Clock(), Server(no(503), ok(state="live"), ok(seq="5"))
    assert server.sandbox(clock).act({"action": "CrashActor", "actor": "A"}) == 5
    assert [request.url.path for request in server.asked] == [
        "/api/sandboxes/s/actions",
        "/api/sandboxes/s/wake",
        "/api/sandboxes/s/actions",
    ]


@pytest.mark.parametrize(("status", "says"), [(403, "token"), (404, "has no sandbox s"), (422, "Too many. Wait.")])
def test_a_refusal_is_one_sentence_and_is_not_tried_again(status: int, says: str) -> None:
    server = Server(no(status))
    with pytest.raises(RemoteRefused) as refused:
        server.sandbox(Clock()).act({"action": "CrashActor"})
    assert says in str(refused.value)
    assert len(server.asked) == 1


def test_an_action_that_may_have_been_done_is_not_done_twice() -> None:
    server = Server(httpx.ReadTimeout("late"))
    with pytest.raises(RemoteRefused):
        server.sandbox(Clock()).act({"action": "SendMessages"})
    assert len(server.asked) == 1


def test_a_server_that_stays_away_ends_the_patience() -> None:
    clock, server = Clock(), Server(*[httpx.ConnectError("refused")] * 100)
    with pytest.raises(RemoteRefused) as refused:
        server.sandbox(clock).snapshot()
    assert "No server answers at http://server" in str(refused.value)
    assert clock.slept_s <= 121


def _snapshot(stored: int) -> httpx.Response:
    queues = [{"broker": "broker-a", "queue_id": 0, "max": str(stored)}]
    return ok(topics=[{"topic": "t", "queues": queues}])


def test_the_next_batch_waits_until_the_last_one_has_arrived() -> None:
    clock, server = Clock(), Server(_snapshot(10), ok(seq="1"), _snapshot(10), _snapshot(11), _snapshot(12))
    sink = SandboxSink(server.sandbox(clock), "t", now=clock.now, sleep=clock.sleep)
    sink.send(rows(2, 0.0))
    assert server.answers == []
    sent = orjson.loads(server.asked[1].content)
    assert sent["rows"] == [{"key": "k0", "tag": "t", "body": "{}"}, {"key": "k1", "tag": "t", "body": "{}"}]


def test_messages_the_sandbox_refused_do_not_hold_the_feed_for_ever() -> None:
    clock, server = Clock(), Server(_snapshot(10), ok(seq="1"), *[_snapshot(11) for _ in range(100)])
    sink = SandboxSink(server.sandbox(clock), "t", now=clock.now, sleep=clock.sleep)
    sink.send(rows(2, 0.0))
    assert clock.slept_s <= 12
