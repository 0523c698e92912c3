"""A run over little is planned otherwise, and says the same."""

from pathlib import Path

import pytest

from sandbox.pipeline.few import FEW_BYTES, is_few
from tests.pipeline.audits import Table, run_over, table
from tests.pipeline.conftest import Run
from tests.pipeline.test_delivery_audit import troubled

TABLES = ("messages", "summary", "repeats", "order_breaks")


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


@pytest.mark.pipeline
def test_a_delivery_audit_says_the_same_of_few_bytes_and_of_many(run: Run, tmp_path: Path) -> None:
    made = troubled(tmp_path / "world", 4)

    def audited() -> dict[str, Table]:
        out = run_over(run, "delivery_audit", {"s": made}, tmp_path / "out")
        return {name: sorted(table(out, name), key=repr) for name in TABLES}

    few = audited()
    filled(next(iter(made.stores.values())) / "beside", FEW_BYTES)
    assert audited() == few
    assert {row["verdict"] for row in few["messages"]} >= {"once", "duplicate"}
