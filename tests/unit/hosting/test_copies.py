"""The files of a sandbox that was taken from an engine which never gave it back."""

from pathlib import Path

import pytest

from sandbox.hosting.lease import LeaseLost
from sandbox.hosting.reclaimed_copies import newest, take_over


def good() -> None: ...


def lost() -> None:
    raise LeaseLost("run out")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    directory = tmp_path / "calm-otter"
    (directory / "broker-a").mkdir(parents=True)
    (directory / "sandbox.json").write_text("{}")
    (directory / "broker-a" / "log").write_bytes(b"first")
    return directory


def test_late_writes_of_the_engine_before_reach_files_that_are_no_longer_read(directory: Path) -> None:
    with (directory / "broker-a" / "log").open("ab") as open_before:
        copy = take_over(directory, 7, good)
        open_before.write(b" late")
    assert newest(directory) == copy
    assert (copy / "broker-a" / "log").read_bytes() == b"first"
    assert (copy / "sandbox.json").exists()
    assert [path.name for path in directory.iterdir()] == [copy.name], "what was read before is gone"


def test_the_copy_of_the_latest_claim_counts_and_an_earlier_engine_never_reads_it(directory: Path) -> None:
    first, second = take_over(directory, 3, good), take_over(directory, 9, good)
    assert newest(directory) == second
    assert not first.exists()
    assert newest(directory, below=9) == directory


def test_who_loses_the_lease_over_its_copy_leaves_what_was_read_before(directory: Path) -> None:
    with pytest.raises(LeaseLost):
        take_over(directory, 7, lost)
    assert (directory / "broker-a" / "log").read_bytes() == b"first"
    assert take_over(directory, 8, good).name == "copy-8"


def test_a_copy_that_is_there_is_not_made_again(directory: Path) -> None:
    copy = take_over(directory, 7, good)
    (copy / "broker-a" / "log").write_bytes(b"gone on")
    assert (take_over(directory, 7, good) / "broker-a" / "log").read_bytes() == b"gone on"


def test_holes_stay_holes(directory: Path) -> None:
    with (directory / "hole").open("wb") as file:
        file.truncate(8 << 20)
    assert (take_over(directory, 7, good) / "hole").stat().st_blocks * 512 < 1 << 20
