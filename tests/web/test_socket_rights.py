"""A socket's right ends when its session, its grant or its sandbox's time does."""

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from queueviz.access.digests import digest
from queueviz.access.hidden_names import Mask
from queueviz.access.visitor import Visitor
from queueviz.live.rights import still_see
from queueviz.models import Cluster, Grant, Sandbox
from queueviz.sandboxes import ownership
from sandbox.live import hub
from sandbox.live.visible_parts import Sight
from tests.web.fake_port import FakePort
from tests.web.tabs import BOARD, OWN, SLUG, hear, kept, opened, say, session_of_the_owner

pytestmark = pytest.mark.django_db(transaction=True)

ENDED = {"k": "end", "ch": BOARD, "reason": "forbidden"}
SECRET = "secret-of-a-link"
LINKED = BOARD.replace(SLUG, Mask(SLUG, SECRET).alias)
PRIVATE, LINK = Sandbox.Visibility.PRIVATE, Sandbox.Visibility.LINK


@pytest.fixture
def board(port: FakePort, monkeypatch: pytest.MonkeyPatch) -> FakePort:
    monkeypatch.setattr(hub, "BEAT_S", 0.02)
    port.sandboxes[SLUG] = "live"
    port.show(BOARD, {"queues": {}}, seq=1)
    return port


def session_of(user: User) -> SessionStore:
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return session


async def watching(*headers: tuple[bytes, bytes]) -> WebsocketCommunicator:
    tab = await opened(*headers)
    await say(tab, k="sub", ch=BOARD)
    assert (await hear(tab))["k"] == "snap"
    return tab


async def signed_in(user: User) -> WebsocketCommunicator:
    session = await sync_to_async(session_of)(user)
    return await watching(OWN, cookie(session))


def cookie(session: SessionStore) -> tuple[bytes, bytes]:
    return (b"cookie", f"sessionid={session.session_key}".encode())


async def test_after_logout(board: FakePort) -> None:
    await kept(PRIVATE)
    session, another = await session_of_the_owner(), await session_of_the_owner()
    tab, stays = await watching(OWN, cookie(session)), await watching(OWN, cookie(another))
    await session.aflush()
    assert await hear(tab) == ENDED
    board.show(BOARD, {"queues": {"broker-a:0": {}}}, seq=2)
    assert (await hear(stays))["k"] == "delta"
    for each in (tab, stays):
        await each.disconnect()


async def test_after_a_grant_is_deleted(board: FakePort) -> None:
    sandbox = await kept(PRIVATE)
    grant = await Grant.objects.acreate(sandbox=sandbox, kind=Grant.Kind.TOKEN, role="owner", digest=digest("qv_t"))
    tab = await watching((b"authorization", b"Bearer qv_t"))
    await grant.adelete()
    assert await hear(tab) == ENDED
    await tab.disconnect()


@pytest.mark.parametrize("field", ["expires_at", "revoked_at"])
async def test_after_a_share_expires_or_is_revoked(board: FakePort, field: str) -> None:
    sandbox = await kept(PRIVATE)
    user = await User.objects.acreate(username="ada")
    grant = await Grant.objects.acreate(sandbox=sandbox, kind=Grant.Kind.EDITOR, role="editor", user=user)
    tab = await signed_in(user)
    await Grant.objects.filter(pk=grant.pk).aupdate(**{field: timezone.now() - timedelta(seconds=1)})
    assert await hear(tab) == ENDED
    await tab.disconnect()


@pytest.mark.parametrize("change", [{"is_active": False}, {"password": "another"}])
async def test_after_an_account_is_closed_or_has_another_password(board: FakePort, change: dict[str, Any]) -> None:
    user = await User.objects.acreate(username="ada")
    sandbox = await kept(PRIVATE)
    await Sandbox.objects.filter(pk=sandbox.pk).aupdate(owner=user)
    tab = await signed_in(user)
    await User.objects.filter(pk=user.pk).aupdate(**change)
    assert await hear(tab) == ENDED
    await tab.disconnect()


async def test_after_the_sandbox_expires_its_owner_alone_goes_on(board: FakePort) -> None:
    user = await User.objects.acreate(username="ada")
    sandbox = await kept(LINK)
    await Sandbox.objects.filter(pk=sandbox.pk).aupdate(owner=user)
    owner, viewer = await signed_in(user), await watching()
    await Sandbox.objects.filter(pk=sandbox.pk).aupdate(expires_at=timezone.now() - timedelta(seconds=1))
    assert await hear(viewer) == ENDED
    board.show(BOARD, {"queues": {"broker-a:0": {}}}, seq=2)
    assert (await hear(owner))["k"] == "delta"
    for each in (owner, viewer):
        await each.disconnect()


async def test_after_the_sandbox_is_deleted_in_the_admin(board: FakePort) -> None:
    sandbox = await kept(LINK)
    tab = await watching()
    await sandbox.adelete()
    assert await hear(tab) == ENDED
    await tab.disconnect()


async def behind_a_link(sandbox: Sandbox) -> WebsocketCommunicator:
    await Grant.objects.acreate(sandbox=sandbox, kind=Grant.Kind.LIVE, role="viewer", digest=digest(SECRET))
    return await opened(OWN, path=f"/ws/v/{SECRET}/")


async def watching_behind_a_link(sandbox: Sandbox) -> WebsocketCommunicator:
    tab = await behind_a_link(sandbox)
    await say(tab, k="sub", ch=LINKED)
    shown = await hear(tab)
    assert (shown["k"], shown["ch"]) == ("snap", LINKED)
    return tab


async def test_behind_a_live_link_frames_do_not_name_the_sandbox_and_show_what_was_stored(board: FakePort) -> None:
    tab = await watching_behind_a_link(await kept(LINK))
    board.show(BOARD, {"queues": {"broker-a:0": {"key": f"of {SLUG}"}}}, seq=2)
    frame = await hear(tab)
    assert (frame["ch"], frame["set"]) == (LINKED, {"queues": {"broker-a:0": {"key": f"of {SLUG}"}}})
    assert SLUG not in str(frame | {"set": None})
    await tab.disconnect()


async def test_behind_a_live_link_frames_do_not_name_who_acted(board: FakePort) -> None:
    tab = await behind_a_link(await kept(LINK))
    board.rows = [
        {
            "seq": str(seq),
            "at_ms": seq,
            "type": "ActionTaken",
            "cause": None,
            "action": "CrashActor",
            "fields": {"actor": "A"},
            "by": "owner planted",
        }
        for seq in (1, 2)
    ]
    name = f"facts/{Mask(SLUG, SECRET).alias}"
    await say(tab, k="sub", ch=name, after="0")
    heard = str(await hear(tab))
    assert heard.count("'by': 'owner'") == 2
    assert "planted" not in heard
    await tab.disconnect()


@pytest.mark.parametrize("field", ["expires_at", "revoked_at"])
async def test_after_a_live_link_expires_or_is_revoked(board: FakePort, field: str) -> None:
    tab = await watching_behind_a_link(await kept(LINK))
    await Grant.objects.aupdate(**{field: timezone.now() - timedelta(seconds=1)})
    assert await hear(tab) == ENDED | {"ch": LINKED}
    await tab.disconnect()


async def test_a_live_link_ends_when_the_sandbox_is_made_private_and_the_owner_goes_on(board: FakePort) -> None:
    sandbox = await kept(LINK)
    owner, tab = await watching(OWN, cookie(await session_of_the_owner())), await watching_behind_a_link(sandbox)
    await sync_to_async(ownership.change)(Visitor(), sandbox, visibility=PRIVATE)
    assert await hear(tab) == ENDED | {"ch": LINKED}
    board.show(BOARD, {"queues": {"broker-a:0": {}}}, seq=2)
    assert (await hear(owner))["k"] == "delta"
    for each in (owner, tab):
        await each.disconnect()


async def test_a_live_link_s_socket_sees_nothing_else_and_wakes_nothing(board: FakePort) -> None:
    """Not even what the address alone shows to all."""
    other = "calm-owl-bbbbbb"
    await Sandbox.objects.acreate(slug=other, name="s", template="orders", visited_at=timezone.now())
    board.sandboxes |= {other: "live", SLUG: "asleep"}
    board.show(f"board/{other}/g/t", {"queues": {}}, seq=1)
    tab = await behind_a_link(await kept(LINK))
    for name, reason in ((f"board/{other}/g/t", "unknown"), (LINKED, "asleep")):
        await say(tab, k="sub", ch=name)
        assert await hear(tab) == {"k": "end", "ch": name, "reason": reason}
    assert board.sandboxes[SLUG] == "asleep"
    await tab.disconnect()


@pytest.mark.parametrize("kind", [Grant.Kind.SHARE, Grant.Kind.FORK, Grant.Kind.TOKEN])
async def test_no_other_grant_opens_the_socket_of_a_link(board: FakePort, kind: str) -> None:
    sandbox = await kept(LINK)
    await Grant.objects.acreate(sandbox=sandbox, kind=kind, role="viewer", digest=digest(SECRET))
    tab = await opened(OWN, path=f"/ws/v/{SECRET}/")
    for name in (LINKED, BOARD):
        await say(tab, k="sub", ch=name)
        assert await hear(tab) == {"k": "end", "ch": name, "reason": "unknown"}
    await tab.disconnect()


def test_many_sockets_cost_as_many_queries_as_one(django_assert_num_queries: Any) -> None:
    users = [User.objects.create(username=f"user-{n}") for n in range(20)]
    asked = []
    for n, user in enumerate(users):
        sandbox = Sandbox.objects.create(
            slug=f"s-{n}", name="s", template="orders", visibility=PRIVATE, visited_at=timezone.now()
        )
        Grant.objects.create(sandbox=sandbox, kind=Grant.Kind.EDITOR, role="editor", user=user)
        cluster = Cluster.objects.create(name=f"c-{n}", name_servers="10.0.0.9:9876")
        cluster.viewers.add(user)
        who = Visitor(user=user, session=session_of(user))
        asked += [(who, sandbox.slug), (who, cluster.slug), (Visitor(AnonymousUser()), sandbox.slug)]
    with django_assert_num_queries(7):
        assert still_see(asked) == [Sight.ALL, Sight.ALL, Sight.NOTHING] * 20
    with django_assert_num_queries(7):
        assert still_see(asked[:3]) == [Sight.ALL, Sight.ALL, Sight.NOTHING]
