"""A recipe: what a run was made of, as a text; who opens it has the same run, to the last byte but for names."""

import base64
import random
import zlib
from pathlib import Path
from typing import Any

import orjson
import pytest

from sandbox.control.branch_orders import BY, RunOrder
from sandbox.control.limits import HostLimits
from sandbox.control.recipe_text import pack, unpack
from sandbox.hosting.recipes import RUN
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.replay import replay
from tests.sim.recorded_stage import SLUG, Recorded, drawn_action
from tests.wide import seeds

LIMITS = HostLimits()


def lived(
    tmp_path: Path, template: str, seed: int, *, actions: int = 12, sleeps: bool = False, starved: bool = False
) -> Recorded:
    stage, chance = Recorded(tmp_path, template, seed=seed, luck=seed), random.Random(seed)
    stage.watch()
    for number in range(actions):
        if sleeps and number == actions // 2:
            stage.sleep()
            stage.run(5)
            stage.wake()
        if starved:
            stage.starve(1 + chance.random() * 4)
        name, fields = drawn_action(chance, stage.host.snapshot(SLUG))
        stage.act(name, **({**fields, "count": 3} if "rows" in fields else fields))
        stage.run(chance.random() * 3)
    return stage


def journal(stage: Recorded, slug: str = SLUG) -> list[bytes]:
    """As if everyone who acted was the owner, and the sandbox had a recipe's name."""
    return [
        line.replace(b'"owner test"', f'"{BY}"'.encode()).replace(SLUG.encode(), RUN.encode())
        for line in stage.journal(slug)
    ]


def recipe(stage: Recorded, at: int) -> str:
    return pack(stage.machine.sim.run(stage.host.branches.recipe(SLUG, at)), LIMITS)


def opened(stage: Recorded, text: str, slug: str) -> None:
    stage.make(slug, unpack(text, LIMITS))


@pytest.mark.parametrize(
    ("template", "seed", "sleeps"),
    [("orders", 1, False), ("payments", 2, False), ("cluster", 3, False), ("orders", 4, True), ("payments", 5, True)],
)
def test_who_opens_a_recipe_has_the_same_run(tmp_path: Path, template: str, seed: int, sleeps: bool) -> None:
    stage = lived(tmp_path, template, seed, sleeps=sleeps)
    written, chance = journal(stage), random.Random(seed)
    rows = list(rows_since(stage.directory / "journal", 0))
    slept = [place for place, row in enumerate(rows) if row["type"] == "SandboxSlept"]
    for number in range(3):
        place = chance.randrange(max([200, *(one + 50 for one in slept)]), len(rows))
        opened(stage, recipe(stage, rows[place]["seq"]), f"again-{number}")
        assert journal(stage, f"again-{number}")[: place + 1] == written[: place + 1]
        stage.machine.sim.run(stage.host.delete(f"again-{number}"))
    stage.close()


@pytest.mark.parametrize("seed", seeds(4, 200))
def test_where_people_acted_on_a_starved_machine_the_recipe_is_the_same_run(tmp_path: Path, seed: int) -> None:
    stage = lived(tmp_path, ("orders", "payments", "cluster")[seed % 3], seed, actions=8, starved=True)
    rows = stage.rows()
    text = recipe(stage, rows[-1]["seq"])
    written = journal(stage)[: len(rows)]
    opened(stage, text, "again")
    assert journal(stage, "again")[: len(rows)] == written
    stage.close()


def test_it_goes_on_and_can_be_executed_again_itself(tmp_path: Path) -> None:
    stage = lived(tmp_path, "orders", 6)
    at = int(list(rows_since(stage.directory / "journal", 0))[-1]["seq"]) - 10
    text = recipe(stage, at)
    opened(stage, text, "again")
    assert recipe(stage, at) == text
    stage.run(10)
    stage.machine.sim.run(stage.host.sleep("again", "test"))
    found = replay(stage.directory.with_name("again"))
    assert found.first_difference is None
    assert found.events > at
    opened(stage, text, "another")
    assert journal(stage, "another")[:at] == journal(stage, "again")[:at]
    stage.close()


def test_of_thirty_actions_the_text_is_no_longer_than_a_link_may_be(tmp_path: Path) -> None:
    stage = lived(tmp_path, "payments", 9, actions=30)
    rows = list(rows_since(stage.directory / "journal", 0))
    text = recipe(stage, rows[-1]["seq"])
    assert len(text) < LIMITS.recipe_chars
    assert len(unpack(text, LIMITS).came) >= 20
    stage.close()


def test_a_recipe_says_neither_who_acted_nor_where(tmp_path: Path) -> None:
    stage = lived(tmp_path, "orders", 8)
    text = recipe(stage, list(rows_since(stage.directory / "journal", 0))[-1]["seq"])
    data = zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), wbits=-15)
    assert b"test" not in data
    assert SLUG.encode() not in data
    stage.close()


def test_what_has_no_recipe_is_refused_with_a_sentence(tmp_path: Path) -> None:
    stage = lived(tmp_path, "orders", 7, actions=2)
    stage.act("SetRate", rate=1)
    stage.run(20)
    with pytest.raises(ActionRefused, match=r"Event \d+ does not exist"):
        recipe(stage, 10**9)
    with pytest.raises(ActionRefused, match="has not started"):
        recipe(stage, 0)
    order = unpack(recipe(stage, 200), LIMITS)
    for wrong, why in (
        ({"conditions": "other"}, "The limits of this server"),
        ({"template": "none"}, "Template none does not exist"),
        ({"preset": "none"}, "(?i)preset"),
        ({"first_port": 65_535}, "(?i)port"),
    ):
        with pytest.raises(ActionRefused, match=why):
            opened(stage, pack(RunOrder(**{**vars(order), **wrong}), LIMITS), "again")
    stage.kill()
    stage.wake()
    stage.run(3)
    with pytest.raises(ActionRefused, match="cannot be replayed"):
        recipe(stage, list(rows_since(stage.directory / "journal", 0))[-1]["seq"])
    stage.close()


def packed(value: Any) -> str:
    packer = zlib.compressobj(9, wbits=-15)
    return base64.urlsafe_b64encode(packer.compress(orjson.dumps(value)) + packer.flush()).decode().rstrip("=")


GOOD = [
    1,
    "orders",
    "sandbox",
    "7",
    1_795_000_000_000,
    2**30,
    20_000,
    "abc",
    900,
    60_000,
    [
        [5, 10, "CrashActor", {"actor": "A"}],
        [1, 1, None, {"limit": "topics", "value": 1, "allowed": 1, "who": "x"}],
        [4, 9, "idle", 5_000],
        [3, 3, "RestartActor", {"actor": "A"}],
    ],
]


def test_a_text_is_read_as_it_was_written() -> None:
    order = unpack(packed(GOOD), LIMITS)
    assert [(one.turn, one.ms, one.name, one.wall_ms) for one in order.came] == [
        (5, 10, "CrashActor", 0),
        (6, 11, None, 0),
        (10, 20, "idle", 1_795_000_005_000),
        (3, 3, "RestartActor", 0),
    ]
    assert pack(order, LIMITS) == packed(GOOD)


def changed(place: int, value: Any) -> list[Any]:
    return [*GOOD[:place], value, *GOOD[place + 1 :]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no recipe",
        "AAAA",
        "é",
        "x" * 2_001,
        packed(GOOD)[:-4],
        packed(GOOD) + "AAAA",
        packed({}),
        packed([1]),
        packed("x" * 100_000),
        packed(changed(4, -1)),
        packed(changed(4, 1.5)),
        packed(changed(4, "1")),
        packed(changed(4, 2**60)),
        packed(changed(6, 70_000)),
        packed(changed(3, "")),
        packed(changed(3, "s" * 300)),
        packed(changed(10, [[1, 1, "CrashActor"]])),
        packed(changed(10, [[1, 1, "Nothing", {}]])),
        packed(changed(10, [[1, 1, "CrashActor", {"actor": 7}]])),
        packed(changed(10, [[1, 1, None, {"limit": "x"}]])),
        packed(changed(10, [[1, 10**9, "CrashActor", {"actor": "A"}]])),
        packed(changed(10, [GOOD[10][0]] * 51)),
        packed(changed(9, 10**9)),
        packed(changed(0, 2)),
        packed(changed(10, [[1, 1, "CrashActor", ["actor"]]])),
        packed(changed(10, [[True, 1, "CrashActor", {"actor": "A"}]])),
        packed(changed(10, 7)),
    ],
)
def test_a_text_that_is_no_recipe_is_refused(text: str) -> None:
    with pytest.raises(ActionRefused) as why:
        unpack(text, LIMITS)
    assert why.value.status == 422
