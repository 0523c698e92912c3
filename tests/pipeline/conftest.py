"""Spark in a process of its own, as the product starts it; one for all tests of a worker."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.pipeline.launch import ENDED, Child, Order, Where
from tests.golden.golden_stores import unpack
from tests.pipeline.worlds import begun, member, record, sent

Told = list[dict[str, Any]]
Run = Callable[..., Told]


@pytest.fixture(scope="package")
def child(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    home = tmp_path_factory.mktemp("spark")
    with (home / "words").open("wb") as words, Child(Where("local[2]"), home, os.environ, errors=words) as made:
        yield made


@pytest.fixture
def run(child: Child, tmp_path: Path) -> Run:
    """Everything it said of one run; `out` is `tmp_path / "out"` unless told otherwise, `sealed` above its stores'."""
    numbers = iter(range(1_000))

    def ordered(job: str, *, store: Path | None = None, stores: dict[str, Path] | None = None,
                journals: dict[str, str] | None = None, out: Path | None = None,
                sealed: Path | None = None, **options: str) -> Told:
        name = f"{tmp_path.name}-{next(numbers)}"
        roots = {key: str(root) for key, root in (stores or ({} if store is None else {"broker-a": store})).items()}
        child.order(Order(name, job, roots, journals or {}, str(out or tmp_path / "out"), options,
                          {} if sealed is None else {key: str(sealed / key) for key in roots}))
        told: Told = []
        for line in child.reports():
            assert line["run"] == name
            told.append(line)
            if line["state"] in ENDED:
                return told
        raise AssertionError(f"the process ended after {told}")

    return ordered


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that a real broker wrote."""
    return unpack("basic-clean", tmp_path_factory.mktemp("golden"))


@pytest.fixture
def long_audit(tmp_path: Path) -> Order:
    """A delivery audit of fifty consumed messages: some sixteen stages, and six tables that the run keeps."""
    with begun(tmp_path / "world") as world:
        member(world)
        sent(world, 50)
        world.run(30)
        made = record(world, tmp_path / "world")
    return Order("r", "delivery_audit", {f"s/{name}": str(root) for name, root in made.stores.items()},
                 {"s": str(made.journal)}, str(tmp_path / "out"), {})
