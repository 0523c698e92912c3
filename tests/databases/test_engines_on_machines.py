"""Engines of a Ray cluster of two machines: one is drained and ended, the other one killed."""

from collections.abc import Iterator

import pytest

from tests.machines.boxes import Box, Counts, by_engine, counts, make, visit
from tests.machines.machines import NOT_HERE, Machines, are_here, machines
from tests.server.server import until

SANDBOXES = 2
RECOVERED_WITHIN_S = 60.0  # fifteen on a machine of its own (docs/growing.md)


@pytest.fixture
def two_machines() -> Iterator[Machines]:
    if not are_here():
        pytest.skip(NOT_HERE)
    with machines(2) as there:
        there.serve(1, engines=2)
        yield there


def test_what_an_engine_had_goes_on_elsewhere_when_it_is_drained_or_killed(two_machines: Machines) -> None:
    there = two_machines
    boxes = [make(there, number, 1) for number in range(SANDBOXES)]
    assert sorted(len(slugs) for slugs in _places(there).values()) == [1, 1]
    sent = [_sends(there, box, Counts(0, 0)) for box in boxes]

    done = there.manage("engines", "drain", "engine-1")
    assert "engine-1 has no sandboxes left" in done.stdout, done.stderr
    assert there.manage("engines", "stop", "engine-1").returncode == 0
    assert set(_places(there)) == {"engine-2"}
    sent = [_sends(there, box, before) for box, before in zip(boxes, sent, strict=True)]
    assert _places(there) == {"engine-2": {box.slug for box in boxes}}
    refused = there.manage("engines", "drain", "engine-2")
    assert "engine-2 is the only engine that accepts sandboxes. Start another engine first." in refused.stderr

    [alone] = by_engine(there)
    there.kill(alone)
    for box, before in zip(boxes, sent, strict=True):
        _sends(there, box, before)


def _places(there: Machines) -> dict[str, set[str]]:
    return {row["name"]: row["slugs"] for row in by_engine(there)}


def _sends(there: Machines, box: Box, before: Counts) -> Counts:
    """Its producers have more answers than before, once its page is open, and nothing that was acknowledged is lost."""

    def look() -> Counts | None:
        now = counts(there, box) if visit(there, box) == 200 else None
        return now if now is not None and now.sent > before.sent else None

    now = until(look, within_s=RECOVERED_WITHIN_S, what=f"{box.slug} sends")
    assert now is not None
    assert now.stored >= before.sent
    return now
