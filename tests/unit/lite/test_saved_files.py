"""A page that is opened again finds the sandbox as the last complete save has it, however the browser ended."""

import shutil
from pathlib import Path
from random import Random

import pytest

from sandbox.lite.memory_disk import MAPPED
from sandbox.lite.saved_files import SavedFiles
from tests.lite.any_run import InMemory
from tests.sim.recorded_stage import SLUG, drawn_action

Contents = dict[str, tuple[int, bytes]]


def contents(home: Path) -> Contents:
    """Return the content of each file, and the time of its last change."""
    paths = [path for path in home.rglob("*") if path.is_file()]
    return {
        path.relative_to(home).as_posix(): (
            path.stat().st_mtime_ns,
            bytes(MAPPED.get(str(path), b"")) or path.read_bytes(),
        )
        for path in paths
    }


def wipe(home: Path) -> None:
    shutil.rmtree(home)
    MAPPED.clear()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    MAPPED.clear()
    return tmp_path / "home"


def saved_run(home: Path, template: str, seed: int, saves: int = 4) -> tuple[list[bytes], list[Contents]]:
    """Run a sandbox; return a record of each save, and the files at that moment."""
    script = Random(seed)
    stage = InMemory(home, template, seed=seed, on_files=False)
    saved = SavedFiles(home)
    records, moments = [], []
    for _ in range(saves):
        stage.run(2)
        name, fields = drawn_action(script, stage.host.snapshot(SLUG))
        stage.act(name, **fields)
        stage.journal()
        records.append(saved.changes())
        moments.append(contents(home))
    assert saved.changes() == b"", "nothing has changed since"
    assert saved.log_bytes == sum(map(len, records))
    stage.kill()
    return records, moments


@pytest.mark.parametrize("template", ["orders", "cluster", "retries"])
def test_a_log_that_ends_anywhere_restores_the_last_complete_save(template: str, home: Path) -> None:
    records, moments = saved_run(home, template, 5)
    log = b"".join(records)
    for whole in range(1, len(records) + 1):
        end = len(b"".join(records[:whole]))
        for length in {end, min(end + 5, len(log)), min(end + 4_000, len(log))}:
            if length >= len(b"".join(records[: whole + 1])) and whole < len(records):
                continue
            wipe(home)
            assert SavedFiles(home).restore(log[:length]) == end
            assert contents(home) == moments[whole - 1]


def test_a_restored_sandbox_goes_on_with_the_journal_it_had(home: Path) -> None:
    records, _ = saved_run(home, "orders", 8)
    before = b"".join(sorted((home / "sandboxes" / SLUG / "journal").glob("*.ndjson"))[0].read_bytes().splitlines(True))
    wipe(home)
    SavedFiles(home).restore(b"".join(records))
    stage = InMemory.again(home)
    stage.wake()
    stage.run(3)
    journal = b"".join(stage.journal())
    assert journal.startswith(before)
    assert len(journal) > len(before)


def test_a_damaged_record_ends_the_log(home: Path) -> None:
    records, moments = saved_run(home, "orders", 9, saves=2)
    damaged = bytearray(records[1])
    damaged[len(damaged) // 2] ^= 1
    wipe(home)
    assert SavedFiles(home).restore(records[0] + bytes(damaged)) == len(records[0])
    assert contents(home) == moments[0]


def test_a_log_that_begins_anew_has_everything(home: Path) -> None:
    _, moments = saved_run(home, "orders", 10, saves=3)
    record = SavedFiles(home).whole()
    wipe(home)
    SavedFiles(home).restore(record)
    assert contents(home) == moments[-1]


def test_a_file_that_is_gone_is_gone_after_a_restore(home: Path) -> None:
    home.mkdir()
    (home / "table.json").write_bytes(b"{}")
    saved = SavedFiles(home)
    first = saved.changes()
    (home / "table.json").unlink()
    second = saved.changes()
    SavedFiles(home).restore(first + second)
    assert list(home.iterdir()) == []
