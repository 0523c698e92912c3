"""Recordings by HTTP: made by a process, sent by ranges, for those who may see the sandbox."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from queueviz.links import recordings
from queueviz.links.recordings import Making, Recordings
from queueviz.models import Sandbox
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused
from sandbox.recording.frame import PACE_MS
from sandbox.recording.reader import Recording
from tests.web.fake_port import FakePort

JSON = "application/json"
WAIT_S = 60
ALL = b"0123456789"
WRITES = "import sys; print(0.25); print(1.0); open(sys.argv[1], 'wb').write(b'x' * 1000)"


def made_by(home: Path, script: str, now: Any = lambda: 0.0, **limits: Any) -> Recordings:
    return Recordings(home, HostLimits(**limits), command=[sys.executable, "-c", script], now=now)


def admitted() -> None:
    return None


def done(found: Recordings) -> None:
    """One is made at a time."""
    found.pool.submit(admitted).result(WAIT_S)


def test_a_recording_is_made_once_and_kept(tmp_path: Path) -> None:
    found, admissions = made_by(tmp_path, WRITES), []
    first = found.find("box", 0, 9, lambda: admissions.append(1), scores=True)
    assert isinstance(first, Making)
    done(found)
    assert first.progress == 1.0
    kept = found.find("box", 0, 9, lambda: admissions.append(1), scores=True)
    assert isinstance(kept, Path)
    assert kept.stat().st_size == 1000
    assert admissions == [1]
    assert not kept.is_relative_to(tmp_path / "sandboxes")


def test_one_without_scores_is_another_file(tmp_path: Path) -> None:
    found = made_by(tmp_path, "import sys; open(sys.argv[1], 'w').write(sys.argv[-1])")
    kept = []
    for scores in (True, False):
        found.find("box", 0, 9, admitted, scores=scores)
        done(found)
        kept.append(found.find("box", 0, 9, admitted, scores=scores))
    assert [path.read_text() for path in kept if isinstance(path, Path)] == ["9", "--without-scores"]


def test_one_that_failed_says_why_once_and_is_begun_again(tmp_path: Path) -> None:
    found = made_by(tmp_path, "import sys; sys.exit('CommandError: The range is empty.')")
    found.find("box", 0, 9, admitted, scores=True)
    done(found)
    with pytest.raises(ActionRefused) as refused:
        found.find("box", 0, 9, admitted, scores=True)
    assert (refused.value.status, refused.value.values["why"]) == (409, "The range is empty")
    assert isinstance(found.find("box", 0, 9, admitted, scores=True), Making)
    assert not list(tmp_path.glob("recordings/*/*.qvr"))
    done(found)


def test_one_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    found = made_by(tmp_path, "import signal; signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()")
    found.find("box", 0, 9, admitted, scores=True)
    done(found)
    with pytest.raises(ActionRefused, match="could not be made") as refused:
        found.find("box", 0, 9, admitted, scores=True)
    assert refused.value.values["why"] == "its process was ended by signal 14"


def test_one_that_is_not_asked_for_any_more_is_ended(tmp_path: Path) -> None:
    times = iter([0.0, 0.0, 1.0, 100.0])
    found = made_by(tmp_path, "print(0.1, flush=True); import signal; signal.pause()", now=lambda: next(times, 200.0))
    making = found.find("box", 0, 9, admitted, scores=True)
    done(found)
    assert isinstance(making, Making)
    assert making.why == "the request was cancelled"
    assert isinstance(found.find("other", 0, 9, admitted, scores=True), Making), "it takes no place"
    found.stop()


def test_only_so_many_wait(tmp_path: Path) -> None:
    found = made_by(tmp_path, "import signal; signal.pause()", recordings_waiting=2)
    for last in (1, 2):
        found.find("box", 0, last, admitted, scores=True)
    with pytest.raises(ActionRefused) as refused:
        found.find("box", 0, 3, admitted, scores=True)
    assert refused.value.status == 503
    found.forget("box")
    assert isinstance(found.find("other", 0, 3, admitted, scores=True), Making)
    found.stop()


def test_the_ones_not_asked_for_longest_make_room(tmp_path: Path) -> None:
    found = made_by(tmp_path, WRITES, recordings_bytes=2_500)
    for last in (1, 2, 3):
        found.find("box", 0, last, admitted, scores=True)
        done(found)
        if last == 2:
            found.find("box", 0, 1, admitted, scores=True)  # wanted again
    kept = sorted(path.name.split("-")[1] for path in tmp_path.glob("recordings/box/*.qvr"))
    assert kept == ["1", "3"]
    found.forget("box")
    assert not (tmp_path / "recordings" / "box").exists()


@pytest.mark.parametrize(
    ("wanted", "status", "body", "content_range"),
    [
        ("", 200, ALL, None),
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-2", 206, b"89", "bytes 8-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=-99", 206, ALL, "bytes 0-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=-0", 416, b"", "bytes */10"),
        ("bytes=5-3", 416, b"", "bytes */10"),
        ("bytes=0-1,3-4", 200, ALL, None),
        ("lines=1-2", 200, ALL, None),
    ],
)
def test_ranges_of_a_recording(
    visitor: Client,
    port: FakePort,
    mine: str,
    tmp_path: Path,
    wanted: str,
    status: int,
    body: bytes,
    content_range: str | None,
) -> None:
    (tmp_path / "made.qvr").write_bytes(ALL)
    port.recordings[mine] = tmp_path / "made.qvr"
    answer = visitor.get(f"/api/sandboxes/{mine}/recording", headers={"Range": wanted, "Accept-Encoding": "gzip"})
    assert (answer.status_code, answer.content, answer.get("Content-Range")) == (status, body, content_range)
    assert answer["Accept-Ranges"] == "bytes"
    assert answer["Content-Encoding"] == "identity"


def test_a_known_recording_is_not_sent_again(visitor: Client, port: FakePort, mine: str, tmp_path: Path) -> None:
    (tmp_path / "made.qvr").write_bytes(ALL)
    port.recordings[mine] = tmp_path / "made.qvr"
    url = f"/api/sandboxes/{mine}/recording"
    tag = visitor.get(url)["ETag"]
    assert visitor.get(url, headers={"If-None-Match": tag}).status_code == 304
    assert visitor.get(url, headers={"If-Range": tag, "Range": "bytes=0-1"}).status_code == 206
    assert visitor.get(url, headers={"If-Range": '"old"', "Range": "bytes=0-1"}).status_code == 200


def test_while_it_is_made_the_answer_says_how_far_and_which_range(visitor: Client, mine: str) -> None:
    answer = visitor.get(f"/api/sandboxes/{mine}/recording?from=3")
    assert answer.status_code == 202
    assert answer.json() == {"progress": 0.5, "from": "3", "to": "18402"}


@pytest.mark.parametrize("wanted", ["from=-1", "from=9&to=8", "to=18403", "from=x"])
def test_a_range_that_is_not_there_is_refused(visitor: Client, mine: str, wanted: str) -> None:
    answer = visitor.get(f"/api/sandboxes/{mine}/recording?{wanted}")
    assert answer.status_code == 422
    assert answer.json()["hint"]


def test_only_who_may_see_a_sandbox_gets_its_recording(visitor: Client, anonymous: Client, mine: str) -> None:
    Sandbox.objects.update(visibility=Sandbox.Visibility.PRIVATE)
    assert anonymous.get(f"/api/sandboxes/{mine}/recording").status_code == 404
    assert visitor.get(f"/api/sandboxes/{mine}/recording").status_code == 202


def test_one_visitor_has_only_so_many_made(visitor: Client, mine: str) -> None:
    most = HostLimits().recordings_per_hour
    answers = [visitor.get(f"/api/sandboxes/{mine}/recording").status_code for _ in range(most + 1)]
    assert answers == [202] * most + [429]


@pytest.mark.django_db(transaction=True)
def test_a_sandbox_of_the_engine_is_recorded_with_its_boards(real_engine: Any) -> None:
    client = Client()
    slug = client.post("/api/sandboxes", {"template": "orders"}, content_type=JSON).json()["slug"]
    url = f"/api/sandboxes/{slug}/recording"
    real_engine.sleep(slug, "test").result(WAIT_S)
    first = client.get(url)
    assert first.status_code == 202
    url += f"?from={first.json()['from']}&to={first.json()['to']}"
    done(recordings.of_server())
    head = client.get(url, headers={"Range": "bytes=0-32767"})
    assert head.status_code == 206, head.content
    found = Recording(io.BytesIO(client.get(url).content))
    found.check()
    assert found.head.about.pace_ms == PACE_MS, "it can be executed again"
    assert found.head.seq[1] <= int(first.json()["to"])
