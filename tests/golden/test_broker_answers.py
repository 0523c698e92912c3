"""Requests recorded at a real broker and name server, put to ours: codes, remarks and header fields must be the same.

The recording is trimmed (at most three examples of each kind), so some requests meet another state here than there,
and some ask for what we do not serve.  Those are listed with their reason; whatever differs beyond the list, or no
longer differs, fails.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.frame import FrameDecoder
from tests.unit.broker.stage import BROKER, NAME_SERVER, Client, Stage

pytestmark = pytest.mark.golden

RECORDED = Path(__file__).parent / "wire" / "json.jsonl"
PORT = re.compile(r"127\.0\.0\.1:\d+")

# The recording lacks the sends, heartbeats or files that led to what was answered.
OTHER_STATE = {
    113,
    115,
    127,
    139,
    178,
    205,
    218,
    220,
    221,
    317,
    321,
    324,
    345,
    402,
    433,
    631,
    687,
    793,
    799,
    932,
    934,
    986,
    988,
    994,
    996,
    998,
    1069,
    1081,
}
# Java's own exceptions; ours say what was wrong.
JAVA_WORDS = {82, 170}
# Passed on to a client, which says nothing here.
SILENT_CLIENT = {387, 394, 404, 410, 418, 720}
EXPLAINED = OTHER_STATE | JAVA_WORDS | SILENT_CLIENT


def frames() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]


def replay(rows: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any], RemotingCommand | None]]:
    """Every answered request with what was answered there and here, in order and at its time."""
    stage, clients = Stage(wire=True), dict[tuple[str, int], Client]()
    answers = {row["request_seq"]: row["header"] for row in rows if row["kind"] == "response"}
    for row in rows:
        if row["kind"] == "response" or row["direction"] != "c2s" or row["link"] == "broker-namesrv":
            continue
        stage.pass_s(max(0.0, row["t"] - stage.time.clock.monotonic()))
        key = (row["link"], row["conn"])
        if key not in clients or clients[key].closed:
            clients[key] = stage.client(address=BROKER if row["link"] == "client-broker" else NAME_SERVER)
        [command] = FrameDecoder().feed(bytes.fromhex(row["frame_hex"]))
        command.opaque = 1_000_000 + row["seq"]
        clients[key].channel.send(command)
        stage.settle()
        if row["seq"] in answers:
            yield row["seq"], answers[row["seq"]], clients[key].answers.get(command.opaque)


def seen(code: int, remark: str | None, ext: dict[str, str] | None) -> tuple[int, str | None, list[str] | None]:
    """Return the values that must agree.  Ports differ from run to run."""
    return int(code), PORT.sub("127.0.0.1:port", remark) if remark else remark, None if ext is None else sorted(ext)


def test_what_a_real_broker_answered_ours_answers_too() -> None:
    compared, different = 0, {}
    for seq, there, here in replay(frames()):
        compared += 1
        want = seen(there["code"], there.get("remark"), there.get("extFields"))
        got = seen(here.code, here.remark, here.ext) if here is not None else None
        if want != got:
            different[seq] = (want, got)
    unexpected = {seq: pair for seq, pair in different.items() if seq not in EXPLAINED}
    assert unexpected == {}
    assert set(different) == EXPLAINED
    assert compared - len(different) > 100
