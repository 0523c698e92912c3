"""Seeds against promises: fifteen, and 35 marked wide; those that ever failed; what the command says about them."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from sandbox.simulation.many import Tally, Work, run_many
from sandbox.simulation.run import Result, play, run_seed
from sandbox.simulation.script import PROFILES, write_script
from sandbox.simulation.troubles import KINDS
from sandbox.simulation.violation import MOST_SENTENCES, Violation, first_of
from tests.wide import seeds

ALWAYS = seeds(15, 50)
FAILED_ONCE = [
    line.partition("#")[0].split()
    for line in (Path(__file__).parent / "seeds.txt").read_text().splitlines()
    if line.partition("#")[0].strip()
]


@pytest.mark.parametrize("seed", ALWAYS)
def test_whatever_goes_wrong_every_promise_holds(seed: int) -> None:
    assert run_seed(seed).violations == []


@pytest.mark.parametrize("words", FAILED_ONCE, ids=" ".join)
def test_what_failed_once_does_not_fail_again(words: list[str]) -> None:
    seed, profile = int(words[0]), (words[1:] or ["mixed"])[0]
    assert run_seed(seed, profile=profile).violations == []


@pytest.mark.parametrize("seed", [0, 7, 31])
def test_a_seed_is_a_run_to_the_last_byte_of_its_journal(seed: int) -> None:
    first, second = play(write_script(seed)), play(write_script(seed))
    assert first.journal == second.journal
    assert len(first.journal) > 500
    assert first.digest() != play(write_script(seed + 1)).digest()


def test_a_script_is_its_seed_its_profile_and_its_minutes() -> None:
    assert write_script(5) == write_script(5)
    assert write_script(5) != write_script(6)
    assert write_script(5).steps != write_script(5, profile="orderly").steps
    assert write_script(5, profile="power", minutes=10).ends_s > write_script(5, profile="power", minutes=1).ends_s


def test_every_trouble_is_drawn_and_every_shape_of_cluster() -> None:
    scripts = [write_script(seed) for seed in range(200)]
    assert {step.kind for script in scripts for step in script.steps} >= KINDS.keys()
    setups = [script.setup for script in scripts]
    assert {len(setup.brokers) for setup in setups} == {1, 2}
    assert {len(setup.name_servers) for setup in setups} == {1, 2}
    assert {bool(setup.slaves) for setup in setups} == {True, False}
    assert {(setup.flush, setup.replication) for setup in setups} == {
        (flush, replication)
        for flush in ("ASYNC_FLUSH", "SYNC_FLUSH")
        for replication in ("ASYNC_MASTER", "SYNC_MASTER")
    }
    assert {group.kind for setup in setups for group in setup.groups} == {
        "concurrent",
        "orderly",
        "broadcasting",
        "pull",
        "lite_pull",
    }
    assert any(setup.transactional for setup in setups)


def test_processes_come_to_the_same_results_as_one() -> None:
    def all_of(workers: int) -> list[Result]:
        return sorted(run_many(range(3), Work("reset"), workers=workers), key=lambda result: result.seed)

    assert all_of(2) == all_of(1)


def reported(*words: str) -> str:
    out = StringIO()
    call_command("simulate", *words, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_the_command_counts_what_was_played() -> None:
    figures = json.loads(reported("--seeds", "2", "--workers", "1", "--profile", "reset", "--json"))
    assert figures["seeds"] == 2
    assert figures["violations"] == []
    assert figures["virtual_hours"] > 0.03
    assert figures["seeds_per_s"] > 0
    assert sum(figures["played"].values()) == 2
    assert "2 seeds" in reported("--seeds", "2", "--workers", "1", "--profile", "reset")


def test_one_seed_is_reported_step_by_step() -> None:
    text = reported("--seed", "1", "--profile", "reset")
    assert "setup: " in text
    assert "ResetOffsets" in text
    assert "0 violations" in text


@pytest.mark.parametrize("words", [("--seeds", "0"), ("--workers", "0"), ("--minutes", "-1")])
def test_nothing_is_played_for_numbers_that_make_no_sense(words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="greater than 0"):
        reported(*words)


def test_a_violation_is_reported_with_the_way_to_see_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = run_seed(1, profile="reset")._replace(violations=[Violation("order", "17 came before 16")])
    monkeypatch.setattr("sandbox.simulation.many.run_seed", lambda seed, **_: broken)
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("simulate", "--seeds", "1", "--workers", "1", "--profile", "reset", stdout=out, stderr=StringIO())
    assert ended.value.code == 1
    assert "seed 1, order: 17 came before 16" in out.getvalue()
    assert "manage.py simulate --seed 1 --profile reset" in out.getvalue()


def test_an_interruption_reports_what_was_done_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(seed: int, **_: object) -> Result:
        if seed == 2:
            raise KeyboardInterrupt
        return done

    done = run_seed(1, profile="reset")
    monkeypatch.setattr("sandbox.simulation.many.run_seed", interrupted)
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("simulate", "--seeds", "5", "--workers", "1", stdout=out, stderr=StringIO())
    assert ended.value.code == 130
    assert "2 seeds" in out.getvalue()


def test_a_promise_broken_everywhere_is_reported_a_few_times() -> None:
    many = [Violation("order", str(number)) for number in range(20)]
    kept = first_of([*many, Violation("stored", "one")])
    assert len(kept) == MOST_SENTENCES + 2
    assert "15 more" in kept[MOST_SENTENCES].sentence


def test_profiles_and_the_repetition_of_a_seed_go_together() -> None:
    tally = Tally(Work("orderly", 2.5))
    assert tally.work.again(3) == "manage.py simulate --seed 3 --profile orderly --minutes 2.5"
    assert tally.figures(0.0)["seeds_per_s"] is None
    assert set(PROFILES) > {"mixed", "orderly"}
