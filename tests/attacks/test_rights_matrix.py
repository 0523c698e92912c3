"""Every route and every live channel × everyone who may come: who has the right gets in, and no one else.

The routes come from the URLconf, the channels from the list of their names, the verdicts from `control.rights`.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import orjson
import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.db import connection, transaction

from queueviz.access.hidden_names import Mask
from queueviz.asgi import application
from queueviz.links import recordings, replay_state, share_links
from queueviz.live.consumers import SUBPROTOCOL
from queueviz.models import Cluster, Course, Enrolment, Grant, PipelineRun, Poll, Sandbox, Submission, Vote
from queueviz.sandboxes import visitor_actions
from sandbox.control.channel_names import KINDS
from sandbox.control.rights import can
from sandbox.live.channel import slug_of
from tests.attacks import routes
from tests.attacks.people import CLUSTER, COURSE, SANDBOXES, SUBMISSION, Person, World, world
from tests.attacks.routes import Ask
from tests.patience import PATIENCE_S
from tests.web.conftest import jobs
from tests.web.fake_port import FakePort

__all__ = ["jobs"]

JSON = "application/json"
IN_VAIN = {401, 403, 404, 405}
SECRET = re.compile(rb"\b\w{64}\b")  # against forged forms: another one each time
OWNERS = {CLUSTER: "an operator of the cluster", COURSE: "the teacher of the course"}
OFFSETS = ("ResetOffsets", "UndoReset")  # all that is ever done to a cluster


@pytest.fixture
def everyone(db: None, port: FakePort, jobs: None, monkeypatch: pytest.MonkeyPatch) -> World:
    for rate in (
        visitor_actions.ACTIONS,
        visitor_actions.QUESTIONS,
        replay_state.STATES,
        recordings.RATE,
        share_links.GUESSES,
    ):
        monkeypatch.setattr(rate, "burst", 1_000_000)
    port.answers = {"rows": []}
    return world(port)


def places_of(route: str) -> tuple[str, ...]:
    if route.startswith("c/"):
        return (COURSE,)
    return (CLUSTER,) if route.startswith(("k/", "api/clusters/")) else (*SANDBOXES, SUBMISSION)


def expected(person: Person, place: str, route: str, ask: Ask) -> int:
    """200 stands for whatever is no refusal."""
    if place in person.links and ask.method != "GET":
        return 405
    if place in person.links and route not in routes.BEHIND_LINKS:
        return 404
    role: Any = person.roles[place]
    if role is None:
        return 404
    may = can(role, ask.verb) and ask.only in (None, role)  # type: ignore[arg-type]
    if place == CLUSTER and ask.verb != "see":
        may = may and (ask.body or {}).get("action") in OFFSETS
    return 200 if may else 403


def name_of(world: World, place: str) -> str:
    """As an address has it."""
    return world.slugs[place].removeprefix("k.")


def sent(who: Person, world: World, route: str, place: str, ask: Ask) -> Any:
    name = name_of(world, place)
    values = {"slug": name, "name": name, "run": world.runs.get(place, "")} | ask.path
    path, body = who.address_at(place, name, routes.address(route, **values)), routes.body_of(ask)
    headers = who.headers_at(place)
    if ask.method in ("GET", "HEAD"):
        return who.client.generic(ask.method, path, QUERY_STRING="topic=orders" if body else "", headers=headers)
    if path.startswith("/api/"):
        return who.client.generic(ask.method, path, orjson.dumps(body) if body else b"", JSON, headers=headers)
    return who.client.generic(
        ask.method,
        path,
        "&".join(f"{k}={v}" for k, v in body.items()),
        "application/x-www-form-urlencoded",
        headers=headers,
    )


def state(port: FakePort) -> Any:
    """All that a request could change."""
    return (
        len(port.acted),
        dict(port.sandboxes),
        dict(port.keys),
        *(sorted(model.objects.values_list(), key=str) for model in (Sandbox, Cluster, Course, Submission, Poll, Vote)),
        sorted(Enrolment.objects.values_list("pk", "pseudonym", "name", "time_factor", "removed_at"), key=str),
        *(
            sorted(model.objects.values_list("pk", "state" if model is PipelineRun else "revoked_at"), key=str)
            for model in (Grant, PipelineRun)
        ),
    )


class Written:
    """An `execute_wrapper` that records whether anything was written.  Reads change nothing and are not compared."""

    def __init__(self, port: FakePort) -> None:
        self.any = False
        self._port, self._before = port, self._kept(port)

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        self.any = self.any or not sql.startswith(("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK"))
        return execute(sql, *rest)

    @property
    def at_all(self) -> bool:
        return self.any or self._kept(self._port) != self._before

    @staticmethod
    def _kept(port: FakePort) -> Any:
        return len(port.acted), dict(port.sandboxes), dict(port.keys)


@contextmanager
def undone(port: FakePort) -> Iterator[Written]:
    """Whatever is done inside."""
    before = [copy(each) for each in (port.acted, port.sandboxes, port.keys, port.attached)]
    written = Written(port)
    with transaction.atomic(), connection.execute_wrapper(written):
        yield written
        transaction.set_rollback(True)
    port.acted, port.sandboxes, port.keys, port.attached = before  # type: ignore[assignment]


def test_every_route_is_in_the_matrix() -> None:
    found = {route for route in routes.every() if not routes.is_of_admin(route)}
    listed = set(routes.NEEDS) | {route for route in routes.OPEN if not routes.is_of_admin(route)}
    assert found - listed == set(), "say in tests/attacks/routes.py what these need"
    assert listed - found == set(), "these are gone"


def test_every_request_gets_what_the_right_gives_and_no_more(
    everyone: World, port: FakePort, capsys: pytest.CaptureFixture[str]
) -> None:
    crossings, shut_out, tried = [], [], 0
    for route, asks in routes.NEEDS.items():
        for place in places_of(route):
            before = state(port)
            for name, who in everyone.people.items():
                for ask in asks:
                    wanted = expected(who, place, route, ask)
                    with undone(port) as written:
                        got = sent(who, everyone, route, place, ask).status_code
                        changed = wanted != 200 and written.at_all and state(port) != before
                    cell = (ask.method, route, ask.path or ask.body, place, name, wanted, got)
                    tried += 1
                    if wanted != 200 and (got != wanted or changed):
                        crossings.append(cell)
                    elif wanted == 200 and (got in IN_VAIN if ask.finds else got in IN_VAIN - {404}):
                        shut_out.append(cell)
    with capsys.disabled():
        print(
            f"\nrights: {len(routes.NEEDS)} routes, {sum(map(len, routes.NEEDS.values()))} requests × "
            f"{len(everyone.people)} visitors × places = {tried} tries; crossings {len(crossings)}, "
            f"shut out {len(shut_out)}"
        )
    assert crossings == []
    assert shut_out == []


def test_no_route_takes_a_method_it_does_not_list(everyone: World, port: FakePort) -> None:
    """Not even of the owner; HEAD may be a GET without its body."""
    taken = []
    for route, asks in routes.NEEDS.items():
        known = {ask.method for ask in asks}
        known |= {"HEAD"} if "GET" in known else set()
        for method in [method for method in routes.METHODS if method not in known]:
            place = places_of(route)[0]
            who = everyone.people[OWNERS.get(place, "the owner's browser")]
            before = state(port)
            with undone(port):
                got = sent(who, everyone, route, place, asks[0]._replace(method=method)).status_code
                if got != 405 or state(port) != before:
                    taken.append((method, route, got))
    assert taken == []


def test_the_admin_is_administrators_alone(everyone: World, port: FakePort) -> None:
    found = [route for route in routes.every() if routes.is_of_admin(route) and route not in routes.OPEN]
    assert len(found) > 30
    let_in = []
    for route in found:
        for name, who in everyone.people.items():
            for method in ("GET", "POST"):
                with undone(port):
                    answer = who.client.generic(method, routes.address(route), headers=who.headers_at("shared"))
                there = answer.headers.get("Location", "")
                if not who.administers and not (answer.status_code in IN_VAIN or there.startswith("/admin/login/")):
                    let_in.append((method, route, name, answer.status_code, there))
    assert let_in == []
    assert everyone.people["an administrator"].client.get("/admin/").status_code == 200


def test_unknown_and_forbidden_places_answer_alike(everyone: World) -> None:
    no_one = everyone.people["nobody"]
    unknown = everyone._replace(slugs=dict.fromkeys(everyone.slugs, "no-such-place") | {CLUSTER: "k.no-such-place"})
    reported = []
    for route, asks in routes.NEEDS.items():
        [place, *_] = [place for place in places_of(route) if place != "shared"]
        for ask in asks:
            said = [
                SECRET.sub(b"", sent(no_one, where, route, place, ask).content).replace(
                    name_of(where, place).encode(), b""
                )
                for where in (everyone, unknown)
            ]
            if said[0] != said[1]:
                reported.append((ask.method, route))
    assert reported == []


def channel(kind: str, slug: str) -> str:
    return "/".join((kind, slug, *("x" for _ in range(KINDS[kind].parts[-1]))))


CHANNELS = [kind for kind in KINDS if slug_of(channel(kind, "s"))]  # of the others programs and the engine know


@pytest.mark.django_db(transaction=True)
async def test_every_channel_shows_itself_to_those_who_may_see(
    port: FakePort, jobs: None, capsys: pytest.CaptureFixture[str]
) -> None:
    everyone = await sync_to_async(world)(port)
    del everyone.slugs[COURSE]  # has no sandbox: its grid is the teacher's (tests/web/test_grid_socket.py)
    for slug in everyone.slugs.values():
        for kind in CHANNELS:
            port.show(channel(kind, slug), {"queues": {}}, seq=1)
    crossings, shut_out, tried = [], [], 0
    for place, slug in everyone.slugs.items():
        for name, who in everyone.people.items():
            known_as = Mask(slug, who.links[place]).alias if place in who.links else slug
            named = {channel(kind, known_as): channel(kind, slug) for kind in CHANNELS}
            seen = {named[shown] for shown in await _seen(who, place, list(named))}
            tried += len(CHANNELS)
            may = who.roles[place] is not None and can(who.roles[place], "see")  # type: ignore[arg-type]
            crossings += [(shown, place, name) for shown in seen if not may]
            shut_out += [(kind, place, name) for kind in CHANNELS if may and channel(kind, slug) not in seen]
    with capsys.disabled():
        print(
            f"\nrights: {len(CHANNELS)} channels × {len(everyone.people)} visitors × {len(everyone.slugs)} places "
            f"= {tried} tries; crossings {len(crossings)}, shut out {len(shut_out)}"
        )
    assert crossings == []
    assert shut_out == []


async def _seen(who: Person, place: str, channels: list[str]) -> set[str]:
    """The channels that showed something before all had answered."""
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in who.client.cookies.items())
    headers = [(b"host", b"testserver"), (b"origin", b"http://testserver"), (b"cookie", cookies.encode())]
    headers += [(name.lower().encode(), value.encode()) for name, value in who.headers_at(place).items()]
    address = f"/ws/v/{who.links[place]}/" if place in who.links else "/ws/live/"
    socket = WebsocketCommunicator(application, address, headers=headers, subprotocols=[SUBPROTOCOL])
    assert (await socket.connect())[0]
    for name in channels:
        await socket.send_to(text_data=orjson.dumps({"k": "sub", "ch": name, "after": "-1"}).decode())
    seen, ended = set(), set()
    while len(seen | ended) < len(channels):
        message = orjson.loads(await socket.receive_from(timeout=PATIENCE_S))
        if message["k"] == "end":
            assert message["reason"] == "unknown", message
            ended.add(message["ch"])
        elif "ch" in message:
            seen.add(message["ch"])
    await socket.disconnect()
    return seen
