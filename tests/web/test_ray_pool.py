"""Which engine of a cluster is asked to hold a sandbox, by what the table says and by what engines answer."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from queueviz.engines.ray_pool import RayPool
from sandbox.hosting.lease import Figures, HeldElsewhere, Listed
from sandbox.kernel.errors import EngineBusy


class ScriptedLink:
    """An engine that answers every `hold` at once: with nothing, or with an error."""

    is_up = True

    def __init__(self, refuses: Exception | None = None) -> None:
        self.refuses = refuses
        self.held: list[str] = []

    def ask(self, kind: str, verb: str, given: tuple[Any, ...], named: dict[str, Any]) -> Future[Any]:
        assert (kind, verb) == ("call", "hold")
        self.held.append(given[0])
        future: Future[Any] = Future()
        if self.refuses is not None:
            future.set_exception(self.refuses)
        else:
            future.set_result(None)
        return future

    def close(self) -> None: ...


class SlowTable:
    """While its answer, of no sandbox, is on its way, something happens."""

    def __init__(self, meanwhile: Callable[[], None], engine: Listed) -> None:
        self._meanwhile = meanwhile
        self._engine = engine

    def engines(self) -> list[Listed]:
        return [self._engine]

    def places(self) -> dict[str, str]:
        self._meanwhile()
        return {}


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[RayPool]:
    pool = RayPool("nowhere", tmp_path, 0)
    yield pool
    pool.stop()


def engines(pool: RayPool, **links: Any) -> None:
    pool._links.update(links)
    pool._listed.update({name: Listed(name, name, "host", False, 9.0, 0, Figures()) for name in links})


def test_what_the_table_names_is_not_asked_unless_it_may_be_wrong(pool: RayPool) -> None:
    first = ScriptedLink()
    engines(pool, first=first)
    pool._places["a"] = "first"
    pool.seat("a").result(0)
    assert not first.held
    pool.seat("a", again=True).result(0)
    assert first.held == ["a"]


def test_an_older_answer_of_the_table_does_not_cover_what_an_engine_has_said_since(
    pool: RayPool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = ScriptedLink()
    engines(pool, first=first)
    monkeypatch.setattr(pool, "_table", SlowTable(lambda: pool.seat("a").result(0), pool._listed["first"]))
    pool._look()
    assert pool.place_of("a") == "first"
    monkeypatch.setattr(pool, "_table", SlowTable(lambda: None, pool._listed["first"]))
    pool._look()
    assert not pool.place_of("a"), "by now the table would have it"


def test_an_engine_that_takes_nothing_new_leaves_it_to_another_one(pool: RayPool) -> None:
    first, second = ScriptedLink(EngineBusy("draining")), ScriptedLink()
    engines(pool, first=first, second=second)
    pool._listed["first"] = pool._listed["first"]._replace(sandboxes=1)
    pool._places["a"] = "first"
    pool.seat("a", again=True).result(0)
    assert pool.place_of("a") == "second"


def test_who_has_it_is_named_by_an_engine_that_does_not(pool: RayPool) -> None:
    first, second = ScriptedLink(HeldElsewhere("a", "second")), ScriptedLink()
    engines(pool, first=first, second=second)
    pool.seat("a").result(0)
    assert pool.place_of("a") == "second"


def test_without_an_engine_that_takes_it_that_is_the_answer(pool: RayPool) -> None:
    first = ScriptedLink(EngineBusy("draining"))
    engines(pool, first=first)
    with pytest.raises(EngineBusy, match="draining"):
        pool.seat("a").result(0)
    assert len(first.held) == 3
