"""Planted troubles are found, and a healthy life has no finding; docs/simulation.md names the figures of many seeds."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from sandbox.findings.all_rules import BY_CODE
from sandbox.simulation.findings.plants import NOT_PLANTED, PLANTS, kinds, partners
from sandbox.simulation.findings.run import (
    PLANTED_MS,
    Closed,
    FindingRun,
    Noted,
    Opened,
    Planted,
    _after_ms,
    codes_of,
    play_findings,
)
from sandbox.simulation.findings.tally import FindingTally, lines_of, reaches_goals

HEALTHY, PAIR = 4, 3
SEEDS = (HEALTHY, PAIR, *(4 * number + 1 for number in range(len(PLANTS))))  # and one of each code


def test_every_code_is_planted_or_has_a_reason() -> None:
    assert PLANTS.keys() | NOT_PLANTED.keys() == BY_CODE.keys()
    assert not PLANTS.keys() & NOT_PLANTED.keys()
    assert all(NOT_PLANTED.values())
    for plant in PLANTS.values():
        assert {*plant.also, *plant.hides} <= BY_CODE.keys(), plant.code


def test_one_seed_of_four_is_healthy_and_one_has_a_pair() -> None:
    assert [len(codes_of(seed)) for seed in range(4)] == [0, 1, 1, 2]
    assert {codes_of(seed)[0] for seed in SEEDS[2:]} == PLANTS.keys()
    for code in kinds(alone=False):
        assert partners(code), code


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_planted_is_found_and_nothing_else(seed: int) -> None:
    run = play_findings(seed)
    assert run.wrong == ()
    assert [planted.code for planted in run.planted if planted.after_ms is None or planted.refused] == []
    also = {code for planted in run.planted for code in (planted.code, *PLANTS[planted.code].also)}
    assert {each.code for each in run.opened} <= also
    for planted in run.planted:
        assert (planted.after_ms or 0) >= PLANTS[planted.code].least_s * 1000, planted


def test_a_finding_that_closes_before_its_trouble_ends_is_missed() -> None:
    hung = PLANTS["member_hung"]
    opened = Opened(PLANTED_MS + 12_000, "member_hung", "A")
    assert _after_ms(Noted([opened], []), hung) == 12_000
    assert _after_ms(Noted([opened], [Closed(PLANTED_MS + 130_000, "member_hung", "A")]), hung) is None
    assert _after_ms(Noted([opened], [Closed(PLANTED_MS + 130_000, "member_hung", "B")]), hung) == 12_000
    assert _after_ms(Noted([opened], [Closed(PLANTED_MS + 200_000, "member_hung", "A")]), hung) == 12_000


def test_a_finding_without_the_sentence_of_its_trouble_is_missed() -> None:
    down = PLANTS["broker_down"]
    opened = Opened(PLANTED_MS + 6_000, "broker_down", "broker-a", ("unread_by", "ordered", "stores"))
    assert _after_ms(Noted([opened], []), down) == 6_000
    assert _after_ms(Noted([opened._replace(says=("down", "stores"))], []), down) is None


def test_a_seed_has_the_same_findings_at_the_same_times() -> None:
    first = play_findings(PAIR)
    assert first.opened
    assert play_findings(PAIR) == first


def test_the_sum_over_runs_names_what_was_missed() -> None:
    tally = FindingTally()
    healthy_s = 600.0
    for run in (
        FindingRun(1, (Planted("paused", 4_000),), (), healthy_s, ()),
        FindingRun(2, (Planted("paused", None),), ("hot_queue",), healthy_s, ()),
        FindingRun(3, (Planted("paused", 6_000), Planted("suspended", None, refused=True)), (), healthy_s, ()),
    ):
        tally.add(run)
    figures = tally.figures()
    assert figures["codes"]["paused"] == {
        "planted": 3,
        "found": 2,
        "recall": 0.667,
        "median_delay_ms": 5_000,
        "least_delay_ms": 0,
        "missed": [2],
    }
    assert (figures["false"], figures["healthy_minutes"], figures["false_per_100_min"]) == (
        [(2, "hot_queue")],
        30,
        3.33,
    )
    assert figures["codes"]["suspended"]["planted"] == 0
    assert not reaches_goals(figures)
    assert "suspended: refused, so not planted, in 3" in list(lines_of(tally))


def test_the_command_prints_the_figures_of_each_code() -> None:
    [seed] = [seed for seed in SEEDS if codes_of(seed) == ("dead_letters_grow",)]
    out = StringIO()
    call_command("simulate", "--findings", "--seeds", "1", "--first", str(seed), "--workers", "1", "--json", stdout=out)
    figures = json.loads(out.getvalue())
    assert figures.keys() == {"codes", "false_per_100_min", "healthy_minutes", "false"}
    assert figures["codes"]["dead_letters_grow"]["missed"] == []
    out = StringIO()
    call_command("simulate", "--findings", "--seed", str(seed), "--workers", "1", stdout=out)
    first_row = out.getvalue().splitlines()[1].split()
    assert first_row[:4] == ["dead_letters_grow", "1", "1", "1.00"]
