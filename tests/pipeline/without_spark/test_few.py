"""The size below which a run is planned differently."""

from pathlib import Path

from sandbox.pipeline.spark.small_runs import FEW_BYTES, is_few


def filled(root: Path, size: int) -> None:
    (root / "commitlog").mkdir(parents=True, exist_ok=True)
    with (root / "commitlog" / "more").open("wb") as file:
        file.write(bytes(range(256)) * (size // 256))


def test_what_files_take_on_disk_says_whether_it_is_few(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with (tmp_path / "a" / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    stores, journals = {"a": str(tmp_path / "a")}, {"j": str(tmp_path / "j")}
    assert is_few(stores, journals, {})
    filled(tmp_path / "j", FEW_BYTES // 2)
    assert is_few(stores, journals, {})
    filled(tmp_path / "a", FEW_BYTES // 2)
    assert not is_few(stores, journals, {})
    assert is_few(stores, {}, {})


def test_what_goes_on_or_is_not_known_is_not_few(tmp_path: Path) -> None:
    assert not is_few({}, {}, {"path": str(tmp_path)})
    assert not is_few({}, {"j": str(tmp_path)}, {"follow": "true"})
    assert is_few({}, {"j": str(tmp_path)}, {"follow": "false"})
    assert is_few({"gone": str(tmp_path / "gone")}, {}, {})
