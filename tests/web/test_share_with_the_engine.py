"""A share link of a running sandbox: its recording holds the boards of its range, and nothing names the sandbox."""

import gzip
import threading
from io import BytesIO
from typing import Any

import pytest
from django.test import Client

from queueviz import engine
from queueviz.boards import BOARDS, PARTS
from queueviz.links import share_recordings
from sandbox.recording.reader import Recording
from tests.web.engine_calls import act, events, start
from tests.web.patience import until
from tests.web.test_share_page import FORM

MAKING_S = 120.0  # on a machine with other work
pytestmark = pytest.mark.django_db(transaction=True)


def unpacked(recording: bytes) -> bytes:
    """Everything in it, as text."""
    line, _, rest = recording.partition(b"\n")
    found, stream = [line], BytesIO(rest)
    while stream.tell() < len(rest):
        with gzip.GzipFile(fileobj=stream) as part:
            found.append(part.read())
    return b"\n".join(found)


def test_a_range_of_a_running_sandbox_is_recorded_and_names_it_nowhere(real_engine: Any) -> None:
    owner = Client()
    slug = start(owner, "orders")
    act(owner, slug, action="SetRate", rate=20)
    # A recording begins at its first frame: what is done in a sandbox's first instant comes before it.
    until(lambda: any(row["type"] == "MessagesConsumed" for row in events(owner, slug)))
    crashed = act(owner, slug, action="CrashActor", actor="B")
    last = until(lambda: next((row["seq"] for row in events(owner, slug) if int(row["seq"]) > crashed + 60), 0))
    page = owner.post(
        f"/s/{slug}/share/", FORM | {"first": "0", "last": str(last), "at": str(crashed), "notes": ""}, follow=True
    )
    url = page.content.decode().split('readonly\n              value="http://testserver')[1].split('"')[0]
    for thread in threading.enumerate():
        if thread.name == share_recordings.THREAD:
            thread.join(MAKING_S)
    packed = Client().get(url + "recording.qvr").content
    with BytesIO(packed) as file:
        recording = Recording(file)
        recording.check()
        assert recording.head.seq[1] <= int(last)
        assert any(row["type"] == "MemberStateChanged" for row in recording.facts(0, int(last)))
        board = recording.at(int(last)).state["channels"]["board/order-svc/orders"]
    assert len(board["queues"]) == 8
    assert slug.encode() not in unpacked(packed)


def test_no_page_answer_or_channel_of_a_running_sandbox_names_it_behind_a_live_link(real_engine: Any) -> None:
    owner = Client()
    slug = start(owner, "orders")
    until(lambda: any(row["type"] == "MessagesConsumed" for row in events(owner, slug)))
    page = owner.post(f"/s/{slug}/share/", FORM | {"kind": "live"}, follow=True).content.decode()
    link = page.split('readonly\n              value="http://testserver')[1].split('"')[0]
    newest = events(owner, slug)[-1]["seq"]
    for rest in [
        "",
        *(f"{name}/" for name in BOARDS),
        *(f"part/{name}/" for name in (*PARTS, *BOARDS)),
        "audit/",
        "history/",
        "journal/?at=7",
        f"?at={newest}",
        "api/journal?show=all",
        "api/state",
        f"api/changes?from=1&to={newest}",
        "api/ask/transactions",
        "api/ask/lab-state",
    ]:
        answer = Client().get(link + rest)
        assert answer.status_code < 500, rest
        assert slug not in answer.content.decode() + str(dict(answer.headers)), rest
    names = [
        f"{kind}/{slug}" + "".join(f"/{part}" for part in parts)
        for kind, parts in {
            "board": ("order-svc", "orders"),
            "locks": ("order-svc",),
            "rebalance": ("order-svc",),
            "groups": (),
            "store": ("broker-a",),
            "index": ("broker-a",),
            "topics": (),
            "topology": (),
            "wire": (),
            "messages": (),
            "connect": (),
            "lab": (),
            "tile": (),
        }.items()
    ]
    for name, reading in zip(names, engine.answer(real_engine.read(names)), strict=True):
        assert slug not in str(reading), f"{name}: say in queueviz/access/hidden_names.py which of its fields has it"
