"""Output and exit codes of `mqstore`."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.kernel.errors import StoreError
from sandbox.store.config import MessageStoreConfig, delay_levels_text
from sandbox.tools import mqstore
from tests.golden.golden_stores import unpack


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("basic-crash", tmp_path_factory.mktemp("store"))


def ran(*words: object) -> tuple[int, list[str]]:
    parser = argparse.ArgumentParser()
    mqstore.add_arguments(parser)
    lines: list[str] = []
    code = mqstore.run(mqstore.options_of(vars(parser.parse_args([str(word) for word in words]))), lines.append)
    return code, lines


def rows(*words: object) -> list[dict[str, Any]]:
    code, lines = ran(*words, "--json")
    assert code == 0
    return [json.loads(line) for line in lines]


def test_a_summary_reports_what_is_there_and_how_it_was_left(root: Path) -> None:
    row = rows("summary", root)[0]
    assert row["abort"] is True
    assert row["lock"] == {"present": True, "holder": 0}
    assert row["commitLog"] == {"files": 3, "fileBytes": 1_048_576, "minOffset": 0, "maxOffset": 1_348_762}
    assert (row["queues"], row["messages"]) == (34, 153)
    assert row["consumerOffsets"]["GoldenBasic@GID_golden_push"] == {"0": 12, "1": 12, "2": 12, "3": 13}
    text = "\n".join(ran("summary", root)[1])
    assert "the abort file exists; the lock is held by no process" in text
    assert "312 entries of 4000, 237 of 1000 slots" in text


def test_queues_can_be_chosen(root: Path) -> None:
    assert len(ran("queues", root)[1]) == 34
    assert [row["queueId"] for row in rows("queues", root, "--topic", "GoldenBasic")] == [0, 1, 2, 3]
    assert ran("queues", root, "--topic", "GoldenBasic", "--queue", 3)[1] == [
        "GoldenBasic/3  0 to 13, first stored at 1795150704194"
    ]


def test_messages_begin_and_end_where_asked(root: Path) -> None:
    found = rows("messages", root, "--topic", "GoldenBasic", "--queue", 1, "--from", 5, "--limit", 3)
    assert [row["queueOffset"] for row in found] == [5, 6, 7]
    assert rows("messages", root, "--limit", 0) == []
    assert rows("messages", root, "--topic", "nothing") == []


def test_the_log_is_shown_in_order_of_arrival(root: Path) -> None:
    found = rows("messages", root, "--log", "--from", 214, "--limit", 2)
    assert [row["commitLogOffset"] for row in found] == [214, 425]
    assert {row["topic"] for row in rows("messages", root, "--log", "--topic", "RMQ_SYS_TRANS_HALF_TOPIC")} == {
        "RMQ_SYS_TRANS_HALF_TOPIC"
    }
    with pytest.raises(StoreError, match="no record begins at 215"):
        ran("messages", root, "--log", "--from", 215)


def test_a_compressed_body_is_shown_as_it_was_sent(root: Path) -> None:
    assert "'compress me 0\\ncompress me 1" in ran("messages", root, "--topic", "GoldenBig", "--limit", 1)[1][0]


def test_a_key_is_looked_up_in_its_topic(root: Path) -> None:
    answer = rows("index", root, "--topic", "GoldenBig", "--key", "BIG1")[0]
    assert [row["queueOffset"] for row in answer["messages"]] == [1]
    assert answer["indexLastUpdatePhyoffset"] == 1_048_576
    assert len(ran("index", root, "--topic", "GoldenBig", "--key", "BIG1")[1]) == 1
    assert rows("index", root)[0]["slots"] == 1_000
    with pytest.raises(StoreError, match="needs --topic"):
        ran("index", root, "--key", "BIG1")


def test_a_sound_store_verifies_with_0_and_a_damaged_one_with_1(root: Path, tmp_path: Path) -> None:
    assert ran("verify", root) == (0, ["153 records up to 1348762, 153 units in 34 queues, 312 index entries: sound"])
    damaged = unpack("basic-crash", tmp_path)
    log = damaged / "commitlog" / ("0" * 20)
    log.write_bytes(log.read_bytes()[:90] + b"X" + log.read_bytes()[91:])
    code, lines = ran("verify", damaged)
    assert code == 1
    assert lines[0].startswith(f"error    commitlog/{0:020} at 0: body CRC is ")
    assert lines[-1].endswith("NOT sound")
    report = ran("verify", damaged, "--json")
    assert report[0] == 1
    assert json.loads(report[1][0])["findings"][0]["code"] == "crc"


def test_normal_states_are_lines_that_begin_with_note(root: Path, tmp_path: Path) -> None:
    used = unpack("basic-clean", tmp_path)
    (used / "abort").touch()
    units = used / "consumequeue" / "GoldenBasic" / "0" / f"{0:020}"
    units.write_bytes(units.read_bytes()[:220].ljust(20_000, b"\0"))
    for path in (used / "index").iterdir():
        path.unlink()
    code, lines = ran("verify", used)
    assert code == 0
    assert lines[:-1] == [
        "note     1 queue units are not written yet [not_dispatched]",
        "note     312 keys have no index entry yet, or the index is off [not_indexed]",
    ]
    [report] = rows("verify", used)
    assert (report["findings"], report["sound"], report["checked"]["not_dispatched"]) == ([], True, 1)


def test_due_times_are_checked_against_the_levels_that_are_set(root: Path) -> None:
    levels = delay_levels_text(MessageStoreConfig.delay_levels_ms)
    assert ran("verify", root, "--delay-levels", levels)[0] == 0
    code, lines = ran("verify", root, "--delay-levels", levels.replace("1s", "2s", 1))
    assert (code, "[wrong_unit]" in lines[0]) == (1, True)
    with pytest.raises(StoreError, match="--delay-levels must be a broker's messageDelayLevel, such as 1s 5s 10s"):
        ran("verify", root, "--delay-levels", "soon")


def test_only_a_verification_loads_numpy() -> None:
    code = "import sys; import sandbox.tools.mqstore; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_no_store_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"^\S+ is not a store: it has no directory commitlog$"):
        ran("summary", tmp_path)


@pytest.mark.parametrize("words", [("--limit", "-1"), ("--from", "x"), ("--queue", "a")])
def test_numbers_are_numbers(words: tuple[str, str], root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        ran("messages", root, *words)
    assert words[0] in capsys.readouterr().err
