"""What a sandbox in a browser begins from: a template, a lab, an incident or a reproducible link."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.control.actions import CrashActor
from sandbox.control.limits import HostLimits
from sandbox.control.recipe_text import pack
from sandbox.kernel.errors import ActionRefused
from sandbox.lite.entry import OWNER, Kind, Lite

SLUG = "one"


async def _done(future: Any) -> Any:
    return await asyncio.wrap_future(future)


async def _begun(home: Path, kind: Kind, name: str, shares: list[float] | None = None) -> Lite:
    lite = Lite(str(home), lambda number, text: None, lambda number, code: None)
    await lite.begin(SLUG, kind, name, progress=None if shares is None else shares.append)
    return lite


async def _journal(lite: Lite, upto: int) -> list[tuple[str, str]]:
    entries = await _done(lite.port.entries(SLUG, -1, upto + 1))
    return [(row["seq"], row["type"]) for row in entries.rows]


def test_a_lab_has_begun_its_first_step(tmp_path: Path) -> None:
    async def main() -> str:
        lite = await _begun(tmp_path, "lab", "pinned-offset")
        answer = await _done(lite.port.snapshot(SLUG))
        await lite.end()
        return str(answer["sandbox"]["lab"])

    assert "pinned-offset" in asyncio.run(main())


def test_an_incident_is_executed_and_goes_on(tmp_path: Path) -> None:
    async def main() -> tuple[list[float], int]:
        shares: list[float] = []
        lite = await _begun(tmp_path, "incident", "lag-after-a-deploy", shares)
        seq = await _done(lite.port.newest_seq(SLUG))
        await lite.end()
        return shares, seq

    shares, seq = asyncio.run(main())
    assert shares == sorted(shares)
    assert len(shares) > 1
    assert seq > 1_000


def test_a_run_with_an_action_is_executed_again_from_its_text(tmp_path: Path) -> None:
    async def main() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        first = await _begun(tmp_path / "first", "template", "orders")
        await asyncio.sleep(0)
        seq = await _done(first.port.act(SLUG, CrashActor(actor="A"), OWNER))
        text = pack(await _done(first.port.recipe(SLUG, seq)), HostLimits())
        again = await _begun(tmp_path / "again", "recipe", text)
        journals = await _journal(first, seq), await _journal(again, seq)
        await first.end()
        await again.end()
        return journals

    one, other = asyncio.run(main())
    assert one == other
    assert one[-1][1] == "ActionTaken"


@pytest.mark.parametrize(
    ("kind", "name", "status"), [("recipe", "nothing", 422), ("lab", "nothing", 404), ("incident", "nothing", 404)]
)
def test_what_cannot_begin_is_refused(tmp_path: Path, kind: Kind, name: str, status: int) -> None:
    with pytest.raises(ActionRefused) as refused:
        asyncio.run(_begun(tmp_path, kind, name))
    assert refused.value.status == status
