"""Viewers and operators of an attached cluster: one policy for pages, actions, API and socket."""

from typing import Any

import orjson
import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, Permission, User
from django.test import Client

from queueviz.access import policy
from queueviz.access.visitor import Visitor
from queueviz.asgi import application
from queueviz.live.consumers import SUBPROTOCOL
from sandbox.control.actions import BY_NAME
from sandbox.control.rights import VERBS
from tests.patience import PATIENCE_S
from tests.web.clusters import SLUG, account, browser_of, cluster
from tests.web.fake_port import FakePort
from tests.web.tabs import hear

pytestmark = pytest.mark.django_db

ROLES = ("operator", "named", "signed in", "anonymous", "token", "administrator")
SEEN_BY = {
    "everyone": set(ROLES),
    "signed-in": {"operator", "named", "signed in", "administrator"},
    "named": {"operator", "named", "administrator"},
}
JSON = "application/json"
RESET = {"action": "ResetOffsets", "group": "order-svc", "topic": "orders", "target": "latest", "confirm": "order-svc"}


class People:
    """One of each role, and the cluster they are named in."""

    def __init__(self, audience: str) -> None:
        self.users: dict[str, User] = {name: account(name.replace(" ", "-")) for name in ROLES[:3]}
        self.users["administrator"] = account("root", is_staff=True)
        self.users["administrator"].user_permissions.add(Permission.objects.get(codename="view_cluster"))
        cluster(audience=audience, viewers=(self.users["named"],), operators=(self.users["operator"],))

    def visitor(self, role: str) -> Visitor:
        if role == "token":
            return Visitor(token="qv_whatever")
        return Visitor(user=self.users.get(role, AnonymousUser()))

    def browser(self, role: str) -> Client:
        return browser_of(self.users.get(role))


@pytest.fixture(params=SEEN_BY, ids=str)
def people(request: pytest.FixtureRequest, port: FakePort) -> tuple[People, set[str]]:
    return People(request.param), SEEN_BY[request.param]


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_its_verbs_and_no_others(people: tuple[People, set[str]], role: str) -> None:
    everyone, seen_by = people
    for verb in VERBS:
        may = role in seen_by and (verb == "see" or (verb == "reset" and role == "operator"))
        if may:
            assert policy.visit_at(everyone.visitor(role), SLUG, verb).is_attached
            continue
        with pytest.raises(policy.Forbidden if role in seen_by else policy.NotFound):
            policy.visit_at(everyone.visitor(role), SLUG, verb)


@pytest.mark.parametrize("role", ROLES)
def test_pages_questions_and_api_answer_by_the_same_rights(
    people: tuple[People, set[str]], port: FakePort, role: str
) -> None:
    everyone, seen_by = people
    port.answers = {"rows": []}
    client = everyone.browser(role)
    headers = {"Authorization": "Bearer qv_whatever"} if role == "token" else {}
    wanted = 200 if role in seen_by else 404
    addresses = [
        "/k/prod/",
        "/k/prod/reset/",
        "/k/prod/part/rail/",
        "/api/clusters/prod",
        "/api/clusters/prod/events",
        "/api/clusters/prod/ask/route?topic=orders",
    ]
    assert {address: client.get(address, headers=headers).status_code for address in addresses} == dict.fromkeys(
        addresses, wanted
    )
    reset = 200 if role == "operator" else 403 if role in seen_by else 404
    assert client.post("/api/clusters/prod/actions", RESET, content_type=JSON, headers=headers).status_code == reset
    by_form = client.post("/k/prod/actions/", RESET, headers={**headers, "HX-Request": "true"}).status_code
    assert by_form == (204 if reset == 200 else reset)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("action", [name for name in BY_NAME if name not in ("ResetOffsets", "UndoReset")])
def test_nothing_but_resets_is_anyone_s(port: FakePort, role: str, action: str) -> None:
    kind = BY_NAME[action]
    visit = policy.visit_at(People("everyone").visitor(role), SLUG, "see")
    assert not visit.may_carry_out(kind.__new__(kind)), "its fields do not matter"


def test_an_operator_s_fault_is_refused_in_words_and_reaches_no_engine(port: FakePort) -> None:
    everyone = People("everyone")
    fields = {"action": "CrashActor", "actor": "A"}
    answer = everyone.browser("operator").post("/k/prod/actions/", fields, headers={"HX-Request": "true"})
    assert answer.status_code == 403
    assert b"real cluster" in answer.content
    assert port.acted == []


def test_unknown_and_forbidden_are_the_same_to_visitors_without_rights(port: FakePort) -> None:
    cluster(audience="named")
    anonymous = Client()
    for address in (
        "/k/{}/",
        "/k/{}/reset/",
        "/k/{}/part/board/",
        "/k/{}/ask/route/?topic=t",
        "/api/clusters/{}",
        "/api/clusters/{}/events",
    ):
        hidden, none = (anonymous.get(address.format(name)) for name in ("prod", "nope"))
        assert (hidden.status_code, none.status_code) == (404, 404)
        plain = [answer.content.replace(b"prod", b"").replace(b"nope", b"") for answer in (hidden, none)]
        if "api" in address:
            assert plain[0] == plain[1]
    assert port.attached == {}, "nobody who may look has asked for it"


@pytest.mark.parametrize(
    "address", ["/s/k.prod/", "/s/k.prod/board/", "/api/sandboxes/k.prod", "/api/sandboxes/k.prod/events"]
)
def test_a_cluster_is_at_its_own_addresses_only(port: FakePort, address: str) -> None:
    cluster(audience="everyone")
    assert Client().get(address).status_code == 404


@pytest.mark.parametrize("what", ["wake", "sleep", "delete", "token", "listen", "change", "extend", "claim-link"])
def test_what_is_kept_of_sandboxes_is_not_of_clusters(port: FakePort, what: str) -> None:
    operator = account("ada")
    cluster(audience="everyone", operators=(operator,))
    client = browser_of(operator)
    assert client.post(f"/k/prod/keep/{what}/").status_code == 404
    assert client.post(f"/s/k.prod/keep/{what}/").status_code == 404
    assert client.post(f"/api/sandboxes/k.prod/{what}", {}, content_type=JSON).status_code == 404


def test_an_account_that_was_switched_off_sees_nothing(port: FakePort) -> None:
    user = account("ada")
    cluster(operators=(user,))
    client = browser_of(user)
    assert client.get("/k/prod/").status_code == 200
    user.is_active = False
    user.save()
    assert client.get("/k/prod/").status_code == 404


# --- The socket ------------------------------------------------------------------------------------------------------

BOARD = f"board/{SLUG}/order-svc/orders"


async def opened(client: Client | None) -> WebsocketCommunicator:
    headers = [(b"origin", b"http://testserver"), (b"host", b"testserver")]
    if client is not None:
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie}".encode()))
    made = WebsocketCommunicator(application, "/ws/live/", headers=headers, subprotocols=[SUBPROTOCOL])
    assert (await made.connect(timeout=PATIENCE_S))[0]
    return made


async def subscribed(made: WebsocketCommunicator) -> dict[str, Any]:
    await made.send_to(text_data=orjson.dumps({"k": "sub", "ch": BOARD}).decode())
    return await hear(made)


@pytest.fixture
def live(port: FakePort) -> FakePort:
    port.show(BOARD, {"queues": {"broker-a:0": {"max": "9"}}}, seq=1)
    return port


@pytest.mark.django_db(transaction=True)
async def test_a_socket_shows_a_cluster_to_whom_its_pages_do(live: FakePort) -> None:
    def people() -> Client:
        user = account("ada")
        cluster(viewers=(user,))
        return browser_of(user)

    friend = await opened(await sync_to_async(people)())
    assert (await subscribed(friend))["k"] == "snap"
    assert SLUG in live.attached, "a socket that comes back after a restart attaches too"
    anonymous = await opened(None)
    said = await subscribed(anonymous)
    assert (said["k"], said["reason"]) == ("end", "unknown")
    await friend.disconnect()
    await anonymous.disconnect()


@pytest.mark.django_db(transaction=True)
async def test_who_loses_the_right_sees_the_picture_end(live: FakePort) -> None:
    def people() -> tuple[Client, Any]:
        user = account("ada")
        return (browser_of(user), cluster(viewers=(user,)))

    client, row = await sync_to_async(people)()
    friend = await opened(client)
    assert (await subscribed(friend))["k"] == "snap"
    await sync_to_async(row.viewers.clear)()
    message = await hear(friend)
    assert (message["k"], message["reason"]) == ("end", "forbidden")
    await friend.disconnect()
