"""Spark in a process of its own, as the product starts it; one for all tests of a worker."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from queueviz.runs import command_run
from sandbox.pipeline.runs.launch import ENDED, Child, Order, Where
from tests.golden.golden_stores import unpack

Reports = list[dict[str, Any]]
Run = Callable[..., Reports]


@pytest.fixture(scope="session")
def child(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    home = tmp_path_factory.mktemp("spark")
    with (home / "words").open("wb") as words, Child(Where("local[2]"), home, os.environ, errors=words) as made:
        yield made


def until_its_end(child: Child, order: Order) -> Iterator[dict[str, Any]]:
    """Reports of one run."""
    child.order(order)
    for report in child.reports():
        assert report["run"] == order.run
        yield report
        if report["state"] in ENDED:
            return
    raise AssertionError(f"the process ended before run {order.run} did")


@pytest.fixture
def run(child: Child, tmp_path: Path) -> Run:
    """Reports of one run; `out` is `tmp_path / "out"` by default, `sealed` the parent of each store's directory."""
    numbers = iter(range(1_000))

    def ordered(
        job: str,
        *,
        store: Path | None = None,
        stores: dict[str, Path] | None = None,
        journals: dict[str, str] | None = None,
        out: Path | None = None,
        sealed: Path | None = None,
        **options: str,
    ) -> Reports:
        name = f"{tmp_path.name}-{next(numbers)}"
        roots = {key: str(root) for key, root in (stores or ({} if store is None else {"broker-a": store})).items()}
        return list(
            until_its_end(
                child,
                Order(
                    name,
                    job,
                    roots,
                    journals or {},
                    str(out or tmp_path / "out"),
                    options,
                    {} if sealed is None else {key: str(sealed / key) for key in roots},
                ),
            )
        )

    return ordered


@pytest.fixture
def commands_share_spark(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """`manage.py pipeline`, called in this process, starts no Spark: the one of all tests does its runs."""

    class Shared:
        exit_code = None

        def __init__(self, *_: object, **__: object) -> None:
            self.reports: Callable[[], Iterator[dict[str, Any]]] = lambda: iter(())

        def __enter__(self) -> "Shared":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def order(self, order: Order) -> None:
            self.reports = lambda: until_its_end(child, order)

    monkeypatch.setattr(command_run, "Child", Shared)


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that a real broker wrote."""
    return unpack("basic-clean", tmp_path_factory.mktemp("golden"))
