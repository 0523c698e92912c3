"""All floods over HTTP at once from one address, and an owner at that address who is served all the same."""

import asyncio
import contextlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from queueviz.access.creation_limits import NEWCOMERS
from tests.server.server import JSON, Driver, Server, until

FLOODERS = 2  # of each kind
SLOW_CONNECTIONS = 300
OFTEN_S = 0.1  # an honest request
HONEST_WITHIN_S = 120.0  # each is answered, however busy the machine is

Flood = Callable[[httpx.AsyncClient, int], Awaitable[httpx.Response]]
ATTACKER = httpx.Limits(max_connections=FLOODERS)


def tokens(client: httpx.AsyncClient, n: int) -> Awaitable[httpx.Response]:
    return client.post(
        "/api/sandboxes/landing/actions",
        json={"action": "CrashActor", "actor": "nobody"},
        headers={"Authorization": f"Bearer qv_{n}"},
    )


def cookies(client: httpx.AsyncClient, n: int) -> Awaitable[httpx.Response]:
    return client.get("/s/landing/ask/transactions/", headers={"Cookie": f"sessionid={n:032}"})


def creations(client: httpx.AsyncClient, n: int) -> Awaitable[httpx.Response]:
    return client.post("/api/sandboxes", json={"template": "empty"}, headers={"Authorization": f"Bearer qv_{n}"})


def sign_ins(client: httpx.AsyncClient, n: int) -> Awaitable[httpx.Response]:
    secret = "a" * 32
    return client.post(
        "/accounts/login/",
        data={"username": "root", "password": str(n), "csrfmiddlewaretoken": secret},
        headers={"Cookie": f"csrftoken={secret}"},
    )


def many_fields(client: httpx.AsyncClient, n: int) -> Awaitable[httpx.Response]:
    return client.get("/?" + "&".join(f"f{field}=1" for field in range(2_000)))


def large_bodies(client: httpx.AsyncClient, n: int) -> Awaitable[httpx.Response]:
    return client.post("/api/sandboxes", content=b"x" * 4_000_000, headers={"Content-Type": JSON})


USUAL: dict[Flood, set[int]] = {  # the answers there may be
    tokens: {404, 429},
    cookies: {200, 404, 429},
    creations: {201, 429},
    sign_ins: {200, 429},
    many_fields: {400},
    large_bodies: {413},
}


async def flood(url: str, kind: Flood, reported: Counter[tuple[str, int]]) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=ATTACKER) as client:
        for n in itertools.count():
            reported[kind.__name__, (await kind(client, n)).status_code] += 1


@contextlib.asynccontextmanager
async def slow_connections(port: int) -> AsyncIterator[None]:
    """Each sends a byte a second of a request that never ends."""
    held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(SLOW_CONNECTIONS)]

    async def dribble() -> None:
        while True:
            for _, writer in held:
                with contextlib.suppress(ConnectionError):
                    writer.write(b"x")
            await asyncio.sleep(1)

    task = asyncio.create_task(dribble())
    try:
        yield
    finally:
        task.cancel()
        for _, writer in held:
            writer.close()


async def honest(owner: Driver, answers: list[int], seconds: float) -> None:
    """Looks at the sandbox and acts in it, at least once; a token that was given out is a visitor of its own."""
    ends_s = time.monotonic() + seconds
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {owner.token}"}, timeout=HONEST_WITHIN_S) as client:
        for n in itertools.count():
            answers.append((await client.get(owner.address)).status_code)
            acted = {"action": "SendMessages", "topic": "orders", "count": 1, "key": f"honest-{n}"}
            answers.append((await client.post(f"{owner.address}/actions", json=acted)).status_code)
            if time.monotonic() >= ends_s:
                return
            await asyncio.sleep(OFTEN_S)


async def together(server: Server, owner: Driver, seconds: float) -> tuple[Counter[tuple[str, int]], list[int]]:
    reported: Counter[tuple[str, int]] = Counter()
    answers: list[int] = []
    async with slow_connections(server.port), asyncio.TaskGroup() as group:
        floods = [group.create_task(flood(server.url, kind, reported)) for kind in USUAL for _ in range(FLOODERS)]
        await honest(owner, answers, seconds)
        for task in floods:
            task.cancel()
    return reported, answers


def figures(server: Server) -> dict[str, Any]:
    links = []
    for link in Path(f"/proc/{server.pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            links.append(link.readlink())
    pages = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1])
    sockets = [link for link in links if str(link).startswith("socket:")]
    return {"sockets": len(sockets), "memory_mib": round(pages * 4096 / 2**20)}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "home").start()
    yield made
    made.end()


@pytest.mark.parametrize("seconds", [2, pytest.param(60, marks=pytest.mark.alone)])
def test_an_owner_is_served_beside_all_floods_at_once(
    server: Server, seconds: float, capsys: pytest.CaptureFixture[str]
) -> None:
    httpx.get(server.url, timeout=60)  # opens the demo
    owner = server.create("orders")
    before = figures(server)
    reported, answers = asyncio.run(together(server, owner, seconds))
    wrong = [
        (kind.__name__, status)
        for kind, usual in USUAL.items()
        for (name, status) in reported
        if name == kind.__name__ and status not in usual
    ]
    with capsys.disabled():
        print(
            f"\nfloods of {seconds} s: {sum(reported.values())} hostile requests, {len(answers)} honest ones, "
            f"{sorted(reported.items())}; before {before}, after {figures(server)}"
        )
    assert set(answers) == {200}
    assert wrong == []
    assert reported["creations", 201] <= NEWCOMERS.burst + NEWCOMERS.per_s * (seconds + 30)
    assert reported["sign_ins", 200] <= 10 + seconds / 10 + 2
    until(lambda: figures(server)["sockets"] <= before["sockets"], what="connections are given back")
    assert "Traceback" not in server.log
