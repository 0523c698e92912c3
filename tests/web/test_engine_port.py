"""Which engine process gets which call, and what becomes of several answers."""

from concurrent.futures import Future
from typing import Any, cast

import pytest

from queueviz.engines.pool import Pool
from queueviz.engines.port import TO_ONE, PoolPort
from sandbox.control.branch_orders import BranchOrder
from sandbox.hosting.port import EnginePort
from sandbox.hosting.registry import NotHeld
from sandbox.kernel.errors import ActionRefused, EngineBusy


class ScriptedPool:
    """Two engines; `a` is on the first, `b` on the second.  A test answers the calls."""

    size = 2

    def __init__(self) -> None:
        self.places = {"a": 0, "b": 1}
        self.asked: list[tuple[int, str, tuple[Any, ...]]] = []
        self.futures: list[Future[Any]] = []
        self.seated: list[tuple[str, bool]] = []

    def place_of(self, slug: str) -> int:
        return self.places.get(slug, 0)

    def engines(self) -> list[int]:
        return list(range(self.size))

    def seat(self, slug: str, *, new: bool = False, again: bool = False) -> Future[None]:
        self.seated.append((slug, again))
        if new:
            self.places.setdefault(slug, 1)
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def displace(self, slug: str) -> None:
        del self.places[slug]

    def ask(
        self, index: int, kind: str, verb: str = "", given: tuple[Any, ...] = (), named: object = None
    ) -> Future[Any]:
        self.asked.append((index, verb or kind, given))
        self.futures.append(Future())
        return self.futures[-1]


@pytest.fixture
def pool() -> ScriptedPool:
    return ScriptedPool()


@pytest.fixture
def port(pool: ScriptedPool) -> PoolPort:
    return PoolPort(cast(Pool, pool))


def test_a_verb_goes_to_the_engine_that_has_the_sandbox(pool: ScriptedPool, port: PoolPort) -> None:
    port.snapshot("b")
    port.wake("a")
    assert pool.asked == [(1, "snapshot", ("b",)), (0, "wake", ("a",))]


def test_where_an_engine_does_not_have_it_the_one_that_has_it_is_asked(
    pool: ScriptedPool,
    port: PoolPort,
) -> None:
    woken = port.wake("a")
    pool.places["a"] = 1
    pool.futures[0].set_exception(NotHeld("a"))
    assert pool.seated == [("a", False), ("a", True)]
    assert [(engine, verb) for engine, verb, _ in pool.asked] == [(0, "wake"), (1, "wake")]
    pool.futures[1].set_exception(NotHeld("a"))
    with pytest.raises(NotHeld):
        woken.result(0)


def test_every_verb_of_an_engine_is_one_here_or_the_hubs() -> None:
    public = {verb for verb in vars(EnginePort) if not verb.startswith("_")}
    here = TO_ONE | {verb for verb in vars(PoolPort) if not verb.startswith("_")}
    here -= {"figures", "statuses", "merged"}
    assert public - here == {"subscribe", "unsubscribe", "read_within", "hold", "drain"}
    assert not here - public


def test_what_only_a_hub_may_do_is_no_verb_here(port: PoolPort) -> None:
    for verb in ("subscribe", "unsubscribe", "read_within", "_host"):
        with pytest.raises(AttributeError):
            getattr(port, verb)


def test_channels_of_both_engines_are_answered_in_the_order_asked(pool: ScriptedPool, port: PoolPort) -> None:
    read = port.read(["groups/b", "groups/a", "client/b/i", "nonsense"])
    assert pool.asked == [(1, "read", (["groups/b", "client/b/i"],)), (0, "read", (["groups/a", "nonsense"],))]
    pool.futures[1].set_result(["of a", "unknown"])
    assert not read.done()
    pool.futures[0].set_result(["groups of b", "store of b"])
    assert read.result(0) == ["groups of b", "of a", "store of b", "unknown"]


def test_reading_fails_where_one_engine_does(pool: ScriptedPool, port: PoolPort) -> None:
    read = port.read(["groups/a", "groups/b"])
    pool.futures[0].set_result(["of a"])
    pool.futures[1].set_exception(EngineBusy("gone"))
    with pytest.raises(EngineBusy):
        read.result(0)


def test_the_status_is_of_the_engines_that_answer(pool: ScriptedPool, port: PoolPort) -> None:
    status = port.status()
    pool.futures[0].set_exception(EngineBusy("gone"))
    pool.futures[1].set_result(
        {
            "awake": 1,
            "known": 2,
            "cap": 200,
            "fds": 40,
            "fd_limit": 1_000,
            "sandboxes": {"b": {"state": "live"}},
            "attached": {},
        }
    )
    assert status.result(0) == {
        "awake": 1,
        "known": 2,
        "cap": 200,
        "fds": 40,
        "fd_limit": 1_000,
        "engines": 2,
        "engines_answering": 1,
        "sandboxes": {"b": {"state": "live"}},
        "attached": {},
        "full": None,
    }


def test_without_any_engine_there_is_no_status(pool: ScriptedPool, port: PoolPort) -> None:
    status = port.status()
    for future in pool.futures:
        future.set_exception(EngineBusy("gone"))
    with pytest.raises(EngineBusy):
        status.result(0)


def test_a_branch_begins_when_its_parents_engine_has_shown_the_journal(pool: ScriptedPool, port: PoolPort) -> None:
    order = BranchOrder(parent="a", at=7, changes={})
    made = port.branch("new", order)
    assert pool.asked == [(0, "show", ("a",))]
    pool.futures[0].set_result(None)
    assert pool.asked[1:] == [(1, "branch", ("new", order))]
    pool.futures[1].set_result({"state": "branching"})
    assert made.result(0) == {"state": "branching"}


def test_a_branch_of_an_unknown_parent_is_refused_and_has_no_place(pool: ScriptedPool, port: PoolPort) -> None:
    made = port.branch("new", BranchOrder(parent="gone", at=7, changes={}))
    pool.futures[0].set_exception(ActionRefused(404, "There is no sandbox."))
    with pytest.raises(ActionRefused):
        made.result(0)
    assert "new" not in pool.places


def test_a_deleted_sandbox_loses_its_place_and_one_that_is_still_there_keeps_it(
    pool: ScriptedPool, port: PoolPort
) -> None:
    port.delete("a")
    port.delete("b")
    pool.futures[0].set_exception(ActionRefused(404, "No data."))
    pool.futures[1].set_exception(EngineBusy("late"))
    assert pool.places == {"b": 1}
