"""Bands of findings on a time axis: their words do not overlap, and are not cut to a part that misleads."""

from typing import Any

from tests.drawings.modules import Modules

PLAN = "({ bandPlan }, { bands, ...axis }) => bandPlan(bands, { ...axis, wordWidth: (word) => word.length * 6 })"
FOLLOWED = """({ Bands }, { facts, group }) => {
  const bands = new Bands(group);
  for (const fact of facts) bands.follow(fact, (it) => it.code);
  return bands.list.map(({ since_ms, until_ms, word }) => [since_ms, until_ms, word]);
}"""
SLOW = {"code": "slow", "kind": "group", "subject": "svc", "group": "svc", "topic": ""}


def band(since_ms: int, until_ms: int | None, word: str = "members too slow") -> dict[str, Any]:
    return {"since_ms": since_ms, "until_ms": until_ms, "word": word}


def plan(modules: Modules, *bands: dict[str, Any], width: int = 1_000, to_ms: int = 1_000) -> list[dict[str, Any]]:
    return list(modules("bands", PLAN, {"bands": bands, "from_ms": 0, "to_ms": to_ms, "width": width}))


def opened(since_ms: int, **more: Any) -> dict[str, Any]:
    severity = {"severity": "warning", "because_of": ""}
    return {"type": "FindingOpened", "at_ms": since_ms + 20, "since_ms": str(since_ms), **severity, **SLOW, **more}


def closed(at_ms: int, lasted_ms: int, **more: Any) -> dict[str, Any]:
    return {"type": "FindingClosed", "at_ms": at_ms, "lasted_ms": lasted_ms, "how": "ended", **SLOW, **more}


def test_a_band_ends_with_the_axis_or_with_its_finding(modules: Modules) -> None:
    over, open_now = plan(modules, band(100, 300), band(600, None))
    assert (over["left"], over["width"], over["is_open"]) == (100, 200, False)
    assert (open_now["left"], open_now["width"], open_now["is_open"]) == (600, 400, True)
    assert plan(modules, band(-500, -10), band(1_200, None)) == [], "those beside the axis are not drawn"


def test_words_without_room_before_the_next_band_of_their_row_become_a_number(modules: Modules) -> None:
    first, second = plan(modules, band(10, 30), band(60, 900, "pulls paused by a limit"))
    assert (first["label"], first["word"]) == ("①", "members too slow"), "52 px would leave one word of three"
    assert second["label"] == "pulls paused by a limit"
    alone = plan(modules, band(100, 120))[0]
    assert (alone["label"], alone["x"], alone["room"]) == ("members too slow", 100, 96), "they go on behind their band"


def test_words_at_the_end_of_the_axis_begin_further_left(modules: Modules) -> None:
    [late] = plan(modules, band(990, None))
    assert (late["label"], late["x"], late["room"]) == ("members too slow", 904, 96)


def test_overlapping_bands_have_rows_of_their_own(modules: Modules) -> None:
    rows = [each["row"] for each in plan(modules, band(100, 500), band(200, 400), band(450, 600), band(700, None))]
    assert rows == [0, 1, 1, 0]


def test_a_narrow_chart_has_numbers_and_their_words_below(modules: Modules) -> None:
    planned = plan(modules, band(100, 300), band(600, None, "pulls paused by a limit"), width=340)
    assert [each["label"] for each in planned] == ["①", "②"]
    assert [each["word"] for each in planned] == ["members too slow", "pulls paused by a limit"]


def test_only_the_newest_twelve_are_drawn(modules: Modules) -> None:
    planned = plan(modules, *[band(50 * n, 50 * n + 40, str(n)) for n in range(15)])
    assert [each["word"] for each in planned] == [str(n) for n in range(3, 15)]


def test_facts_open_and_close_bands_of_their_group(modules: Modules) -> None:
    facts = [
        opened(100),
        opened(100),  # the same once more: the page had it from the journal
        opened(110, group="other", subject="other"),
        opened(120, code="note", severity="info"),
        opened(130, code="late", because_of="slow"),
        opened(140, code="down", kind="broker", subject="broker-a", group=""),
        closed(400, 280),
    ]
    assert modules("bands", FOLLOWED, {"facts": facts, "group": "svc"}) == [
        [100, 400, "slow"],
        [140, None, "down"],
    ]
