"""Two servers with one PostgreSQL and one Redis: what one revokes, the sockets of the other lose at once."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from queueviz.access.hidden_names import Mask
from tests import ports
from tests.databases.postgresql import Postgresql
from tests.databases.redis_server import NOT_HERE, RedisServer, is_here
from tests.patience import PATIENCE_S
from tests.server.server import Server, until

PORTS_APART = 250
TRIES = 2


class Pair(NamedTuple):
    """`here` a browser owns the sandbox `slug`; `there` others watch a copy of it."""

    here: Server
    there: Server
    owner: httpx.Client
    slug: str
    redis: RedisServer

    def post(self, path: str, **fields: str) -> httpx.Response:
        token = self.owner.cookies["csrftoken"]
        return self.owner.post(f"/s/{self.slug}/{path}", data={"csrfmiddlewaretoken": token, **fields})

    def live_link(self) -> tuple[str, str]:
        """Its secret, and the number it is revoked by."""
        answer = self.post("share/", kind="live", label="", days="1")
        assert answer.status_code == 302, answer.text
        page = self.owner.get(f"/s/{self.slug}/share/")
        address = page.text.split('readonly\n              value="')[1].split('"')[0]
        return urlsplit(address).path.split("/")[2], max(re.findall(r'name="link" value="(\d+)"', page.text), key=int)

    @contextmanager
    def watched(self, secret: str) -> Iterator[tuple[ClientConnection, str]]:
        """A socket on the other server that has its board, and the channel."""
        board = f"board/{Mask(self.slug, secret).alias}/order-svc/orders"
        address = f"ws://127.0.0.1:{self.there.port}/ws/v/{secret}/"
        with connect(
            address,
            subprotocols=["queueviz.live.1"],
            proxy=None,  # type: ignore[list-item]
            open_timeout=PATIENCE_S,
        ) as socket:
            socket.send(json.dumps({"k": "sub", "ch": board}))
            heard = hear(socket, "snap", "end")
            assert heard["k"] == "snap", heard
            yield socket, board

    def revoke(self) -> None:
        """Revoke a link here, and wait until its socket there is closed."""
        secret, number = self.live_link()
        with self.watched(secret) as (socket, board):
            answer = self.post("share/revoke/", link=number)
            ended = hear(socket, "end")
        assert answer.status_code == 302
        assert (ended["ch"], ended["reason"]) == (board, "forbidden")

    def notices(self, server: Server) -> dict[str, int]:
        return dict(httpx.get(f"{server.url}/healthz/live", timeout=PATIENCE_S).json()["notices"])

    def are_connected(self) -> bool:
        return all(self.notices(server)["connected"] for server in (self.here, self.there))


def hear(socket: ClientConnection, *kinds: str) -> dict[str, Any]:
    while True:
        heard = json.loads(socket.recv(timeout=PATIENCE_S))
        if heard["k"] in kinds:
            return dict(heard)


@pytest.fixture(scope="module", params=[0, 1], ids=["engine-thread", "engine-process"])
def pair(
    request: pytest.FixtureRequest, postgresql_server: Postgresql, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """The second server's home is a copy of the first's, so that it has the sandbox and the key of sessions, too."""
    if not is_here():
        pytest.skip(NOT_HERE)
    folder = tmp_path_factory.mktemp("pair")
    redis = RedisServer(folder).start()
    shared = {"QUEUEVIZ_DATABASE_URL": postgresql_server.fresh(), "QUEUEVIZ_REDIS_URL": redis.url}
    here = Server(folder / "here", engines=request.param, variables=shared).start()
    there = Server(
        folder / "there",
        engines=request.param,
        variables=shared | {"QUEUEVIZ_FIRST_PORT": str(ports.OF_SERVERS + PORTS_APART)},
    )
    try:
        with here.browser() as owner:
            owner.get("/")
            token = owner.cookies["csrftoken"]
            made = owner.post("/new/", data={"csrfmiddlewaretoken": token, "template": "orders"})
            assert made.status_code == 302, made.text
            here.stop()
            shutil.copytree(here.home, there.home)
            here.start()
            there.start()
            made_pair = Pair(here, there, owner, made.headers["Location"].split("/")[2], redis)
            for server in (here, there):  # an owner's visit wakes it
                assert owner.get(f"{server.url}/s/{made_pair.slug}/").status_code == 200
            until(made_pair.are_connected)
            yield made_pair
        for server in (here, there):
            assert "Traceback" not in server.log
    finally:
        for server in (here, there):
            server.end()
        redis.end()


def test_what_one_process_revokes_ends_on_the_other_which_is_notified(pair: Pair) -> None:
    before = pair.notices(pair.there)["heard"]
    for _ in range(TRIES):
        pair.revoke()
    assert pair.notices(pair.there)["heard"] == before + TRIES
    assert pair.notices(pair.here)["heard"] == 0, "it does not hear itself"


def test_without_redis_rights_end_all_the_same_and_with_it_again_at_once(pair: Pair) -> None:
    pair.redis.kill()
    until(lambda: not any(pair.notices(server)["connected"] for server in (pair.here, pair.there)))
    secret, _ = pair.live_link()
    with pair.watched(secret) as (socket, _):
        pair.revoke()
        assert hear(socket, "beat", "delta")["k"] in ("beat", "delta"), "another link's socket stays open"
    for server in (pair.here, pair.there):
        assert httpx.get(f"{server.url}/healthz", timeout=PATIENCE_S).status_code == 200
        assert server.log.count("no notices: Redis at") == 1
    pair.redis.start()
    until(pair.are_connected, what="both are connected again")
    before = pair.notices(pair.there)["heard"]
    pair.revoke()
    assert pair.notices(pair.there)["heard"] == before + 1, "the first one after it, too"
