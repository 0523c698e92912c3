"""The entry of a worker: what a page can begin with, what its sockets get, and what is kept for the next visit."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

import pytest

from sandbox.control.actions import CrashActor
from sandbox.control.limits import HostLimits
from sandbox.control.recipe_text import pack
from sandbox.kernel.errors import ActionRefused
from sandbox.lite import entry
from sandbox.lite.entry import OWNER, Kind, Lite, reads_flights
from sandbox.lite.memory_disk import MAPPED
from sandbox.sim.loop import SimLoop

T = TypeVar("T")

SLUG = "kept"


class Page:
    """A page with a worker of its own, in virtual time."""

    def __init__(self, home: Path, log: bytes = b"") -> None:
        self.loop = SimLoop()
        self.frames: list[dict[str, object]] = []
        self.lite = self.loop.run(self._begun(home, log))

    async def _begun(self, home: Path, log: bytes) -> Lite:
        return Lite(str(home), lambda number, text: self.frames.append(json.loads(text)), self._closed, log=log)

    def _closed(self, number: int, code: int) -> None:
        self.frames.append({"closed": number})

    def answer(self, future: "Future[T]") -> T:
        async def wait() -> T:
            return await asyncio.wrap_future(future)

        return self.loop.run(wait())

    def begin(self, kind: Kind, name: str, progress: Callable[[float], None] | None = None) -> None:
        self.loop.run(self.lite.begin(SLUG, kind, name, "7", progress))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    MAPPED.clear()
    return tmp_path


def test_a_socket_gets_the_board(home: Path) -> None:
    page = Page(home)
    page.begin("template", "orders")
    page.lite.open(1)
    page.loop.run(page.lite.hear(1, json.dumps({"k": "sub", "ch": f"board/{SLUG}/order-svc/orders"})))
    page.loop.run_for(1)
    assert page.frames[0]["k"] == "snap"


def test_a_socket_is_answered_until_it_is_closed(home: Path) -> None:
    page = Page(home)
    page.begin("template", "orders")
    page.lite.open(1)
    page.loop.run(page.lite.hear(1, '{"k":"ping","t":5}'))
    assert page.frames == [{"k": "pong", "t": 5}]
    page.lite.close(1)
    page.loop.run(page.lite.hear(1, '{"k":"ping","t":6}'))
    assert len(page.frames) == 1


def test_a_lab_begins_with_its_first_step(home: Path) -> None:
    page = Page(home)
    page.begin("lab", "lag-and-throughput")
    assert page.answer(page.lite.port.snapshot(SLUG))["sandbox"]["lab"]


def test_an_incident_is_executed_and_says_how_far_it_is(home: Path) -> None:
    page, shares = Page(home), list[float]()
    page.begin("incident", "duplicates-after-a-restart", shares.append)
    assert shares == sorted(shares)
    assert page.answer(page.lite.port.status())["sandboxes"][SLUG]["state"] == "live"


def test_a_run_is_executed_again_from_the_text_of_its_link(home: Path) -> None:
    page = Page(home / "first")
    page.begin("template", "orders")
    page.loop.run_for(2)
    seq = page.answer(page.lite.port.act(SLUG, CrashActor(actor="A"), OWNER))
    text = pack(page.answer(page.lite.port.recipe(SLUG, seq)), HostLimits())
    before = journal(home / "first").splitlines()
    again = Page(home / "again")
    again.begin("recipe", text)
    again.lite.record()
    after = journal(home / "again").replace(b'"recipe"', f'"{SLUG}"'.encode()).splitlines()  # its name until now
    assert after[:seq] == before[:seq]
    assert b"CrashActor" in after[seq]


@pytest.mark.parametrize(("kind", "status"), [("template", 422), ("lab", 404), ("incident", 404), ("recipe", 422)])
def test_a_name_that_does_not_exist_is_refused(home: Path, kind: Kind, status: int) -> None:
    with pytest.raises(ActionRefused) as caught:
        Page(home).begin(kind, "nothing-of-that-name")
    assert caught.value.status == status


def test_the_next_visit_goes_on_where_the_last_record_ends(home: Path) -> None:
    page = Page(home / "first")
    page.begin("template", "orders")
    log, begins = page.lite.record() or (b"", False)
    assert begins
    page.loop.run_for(2)
    page.answer(page.lite.port.act(SLUG, CrashActor(actor="A"), OWNER))
    more, begins = page.lite.record() or (b"", True)
    assert not begins
    before = journal(home / "first")
    again = Page(home / "again", log + more)
    assert again.lite.restored_bytes == len(log + more)
    assert again.loop.run(again.lite.resume()) == SLUG
    again.lite.record()
    assert journal(home / "again").startswith(before)
    assert len(journal(home / "again")) > len(before)


def test_a_run_that_has_become_too_large_is_no_longer_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(home)
    page.begin("template", "orders")
    assert page.lite.record() is not None
    monkeypatch.setattr(entry, "MOST_KEPT_BYTES", 1_000)
    assert page.lite.record() is None


def journal(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((home / "sandboxes" / SLUG / "journal").glob("*.ndjson")))


@pytest.mark.parametrize(
    ("kind", "name", "log", "reads"),
    [
        ("template", "flights", b"", True),
        ("template", "orders", b"", False),
        ("template", "orders", b'{"action":"StartProducer","fields":{"feed":"flights"}}', True),
        ("lab", "lag-and-throughput", b"", False),
        ("incident", "one-queue-stuck", b"", False),
    ],
)
def test_the_whole_feed_is_fetched_where_departures_are_sent(kind: Kind, name: str, log: bytes, reads: bool) -> None:
    assert reads_flights(kind, name, log) == reads
