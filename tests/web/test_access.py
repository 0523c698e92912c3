"""Access to sandboxes by sessions, accounts, tokens and links; there is only one policy."""

import ast
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client
from django.utils import timezone

from queueviz.access import policy
from queueviz.access.digests import digest
from queueviz.access.visitor import Visitor, bearer
from queueviz.models import Grant, Sandbox
from queueviz.sandboxes import creation, ownership, visitor_actions
from sandbox.control.actions import ChangeActor, CrashActor, RestartActor, SendMessages
from sandbox.control.rights import VERBS
from sandbox.kernel.errors import ActionRefused
from tests.web.fake_port import SNAPSHOT, FakePort

pytestmark = pytest.mark.django_db

MODEL_USERS = {
    "access/policy.py",
    "admin.py",
    "clusters/attached_clusters.py",  # hears what happened to rows, and fetches none
    "clusters/cluster_resets.py",  # what was done to an attached cluster
    "clusters/reset_undo.py",  # and how it is taken back
    "forms.py",  # rules of fields, no rows
    "links/share_links.py",  # found by their secret alone
    "models.py",
    "pages/metrics.py",  # names of attached clusters, for who has the token of metrics or administers the server
    "sandboxes/creation.py",
    "sandboxes/ownership.py",
}


def made_by(visitor: Visitor, port: FakePort) -> Sandbox:
    return creation.create(visitor, "orders").sandbox


def new_visitor() -> Visitor:
    return Visitor(session=SessionStore(), address="192.0.2.1")


def test_who_started_it_owns_it_and_others_may_watch(port: FakePort) -> None:
    owner, other = new_visitor(), new_visitor()
    slug = made_by(owner, port).slug
    assert policy.visit_at(owner, slug, "share").role == "owner"
    assert policy.visit_at(other, slug, "see").role == "viewer"
    with pytest.raises(policy.Forbidden):
        policy.sandbox_for(other, slug, "act")


def test_unknown_and_private_are_the_same_to_visitors_without_rights(port: FakePort) -> None:
    owner, other = new_visitor(), new_visitor()
    sandbox = made_by(owner, port)
    ownership.change(owner, sandbox, visibility="private")
    said = []
    for slug in (sandbox.slug, "no-such-place"):
        with pytest.raises(policy.NotFound) as refused:
            policy.sandbox_for(other, slug, "see")
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert policy.sandbox_for(owner, sandbox.slug, "share") == sandbox


def test_every_verb_is_answered_for_templates(port: FakePort) -> None:
    owner = new_visitor()
    slug = made_by(owner, port).slug
    assert policy.visit_at(owner, slug, "see").can == {verb: verb != "grade" for verb in VERBS}
    assert policy.visit_at(new_visitor(), slug, "see").can == {verb: verb == "see" for verb in VERBS}


def test_an_account_owns_across_browsers(port: FakePort) -> None:
    user = User.objects.create_user("ada")
    slug = made_by(Visitor(user=user, session=SessionStore()), port).slug
    assert policy.visit_at(Visitor(user=user, session=SessionStore()), slug, "share").role == "owner"


def test_signing_in_takes_the_session_s_sandboxes_along(visitor: Client, mine: str) -> None:
    user = User.objects.create_user("ada", password="lovelace")
    assert visitor.login(username="ada", password="lovelace")
    sandbox = Sandbox.objects.get(slug=mine)
    assert sandbox.owner == user
    assert sandbox.expires_at is not None
    assert sandbox.expires_at > timezone.now() + timedelta(days=29)


def test_an_editor_may_do_all_but_share(port: FakePort) -> None:
    sandbox = made_by(new_visitor(), port)
    user = User.objects.create_user("ada")
    Grant.objects.create(sandbox=sandbox, kind=Grant.Kind.EDITOR, role="editor", user=user)
    visit = policy.visit_at(Visitor(user=user), sandbox.slug, "shape")
    assert visit.role == "editor"
    assert not visit.may("share")


@pytest.mark.parametrize("ended", [{"revoked_at": timedelta(0)}, {"expires_at": timedelta(seconds=-1)}])
def test_an_ended_token_gives_nothing(port: FakePort, ended: dict[str, timedelta]) -> None:
    made = creation.create(new_visitor(), "orders")
    holder = Visitor(token=made.token)
    assert policy.visit_at(holder, made.sandbox.slug, "share").role == "owner"
    Grant.objects.update(**{name: timezone.now() + shift for name, shift in ended.items()})
    assert policy.visit_at(holder, made.sandbox.slug, "see").role == "viewer"


def test_a_claim_link_works_once(port: FakePort) -> None:
    owner, friend, third = new_visitor(), new_visitor(), new_visitor()
    sandbox = made_by(owner, port)
    token = ownership.claim_link(owner, sandbox)
    assert ownership.claimable(token) == sandbox
    ownership.claim(friend, token)
    assert policy.visit_at(friend, sandbox.slug, "share").role == "owner"
    with pytest.raises(policy.NotFound):
        ownership.claim(third, token)
    assert not Grant.objects.filter(digest=token).exists(), "only the digest is kept"
    assert Grant.objects.filter(digest=digest(token)).exists()


def test_a_visit_of_an_owner_puts_off_the_end_and_a_viewer_s_does_not(port: FakePort) -> None:
    owner = new_visitor()
    sandbox = made_by(owner, port)
    long_ago = timezone.now() - timedelta(hours=20)
    Sandbox.objects.update(visited_at=long_ago, expires_at=long_ago + policy.ANONYMOUS_LIFE)
    policy.note_visit(policy.visit_at(new_visitor(), sandbox.slug, "see"))
    sandbox.refresh_from_db()
    assert sandbox.visited_at == long_ago
    policy.note_visit(policy.visit_at(owner, sandbox.slug, "see"))
    sandbox.refresh_from_db()
    assert sandbox.expires_at is not None
    assert sandbox.expires_at > timezone.now() + timedelta(hours=23)


def test_an_expired_sandbox_is_its_owner_s_alone_until_he_comes_back(port: FakePort) -> None:
    owner, other = new_visitor(), new_visitor()
    slug = made_by(owner, port).slug
    long_ago = timezone.now() - timedelta(days=2)
    Sandbox.objects.update(visited_at=long_ago, expires_at=long_ago + policy.ANONYMOUS_LIFE)
    with pytest.raises(policy.NotFound):
        policy.sandbox_for(other, slug, "see")
    policy.note_visit(policy.visit_at(owner, slug, "see"))
    assert policy.sandbox_for(other, slug, "see").slug == slug


def test_a_program_s_action_counts_as_a_visit(port: FakePort) -> None:
    made = creation.create(new_visitor(), "orders")
    long_ago = timezone.now() - timedelta(hours=20)
    Sandbox.objects.update(visited_at=long_ago, expires_at=long_ago + policy.ANONYMOUS_LIFE)
    visitor_actions.act(Visitor(token=made.token), made.sandbox.slug, {"action": "CrashActor", "actor": "A"})
    assert Sandbox.objects.get().visited_at > long_ago


def test_what_expired_a_week_ago_goes_when_room_is_asked_for(port: FakePort) -> None:
    old, kept = made_by(new_visitor(), port), made_by(new_visitor(), port)
    Sandbox.objects.filter(pk=old.pk).update(expires_at=timezone.now() - timedelta(days=8))
    Sandbox.objects.filter(pk=kept.pk).update(expires_at=timezone.now() - timedelta(days=6))
    made_by(new_visitor(), port)
    assert old.slug not in port.sandboxes
    assert kept.slug in port.sandboxes
    assert not Sandbox.objects.filter(pk=old.pk).exists()


def test_the_host_s_sandbox_is_everyone_s_and_no_one_s(port: FakePort) -> None:
    sandbox = ownership.demo_sandbox()
    assert port.sandboxes == {"landing": "live"}
    assert ownership.demo_sandbox() == sandbox, "a second visit finds it"
    visit = policy.visit_at(new_visitor(), sandbox.slug, "see")
    assert visit.can == {verb: verb == "see" for verb in VERBS}


def test_three_buttons_of_the_landing_have_fixed_sizes(port: FakePort, monkeypatch: pytest.MonkeyPatch) -> None:
    mended: list[object] = []
    monkeypatch.setattr("queueviz.sandboxes.demo._later", lambda after_s, action: mended.append(action))
    ownership.demo_sandbox()
    burst = {"action": "SendMessages", "topic": "flights", "count": 5_000, "body_bytes": 200_000}
    visitor_actions.act(new_visitor()._replace(address="192.0.2.1"), "landing", burst)
    visitor_actions.act(new_visitor()._replace(address="192.0.2.2"), "landing", {"action": "CrashActor", "actor": "A"})
    visitor_actions.act(
        new_visitor()._replace(address="192.0.2.3"),
        "landing",
        {"action": "ChangeActor", "actor": "B", "work_ms": "86400000"},
    )
    done = [action for _, action, _ in port.acted]
    assert done[0] == SendMessages(topic="flights", count=50)
    assert done[1] == CrashActor(actor="A")
    assert isinstance(done[2], ChangeActor)
    assert done[2].work_ms == (2_000, 4_000)
    assert len(mended) == 2, "what was crashed or slowed comes back by itself"


def test_a_crashed_member_of_the_landing_may_be_restarted_before_it_comes_back_by_itself(port: FakePort) -> None:
    ownership.demo_sandbox()
    visitor_actions.act(new_visitor(), "landing", {"action": "RestartActor", "actor": "A"})
    assert [action for _, action, _ in port.acted] == [RestartActor(actor="A")]


@pytest.mark.parametrize(("listener", "usual_ms"), [("concurrent", (100, 800)), ("orderly", (50, 400))])
def test_a_slowed_member_of_the_landing_gets_the_work_time_of_its_own_group_back(
    port: FakePort, monkeypatch: pytest.MonkeyPatch, listener: str, usual_ms: tuple[int, int]
) -> None:
    mended: list[ChangeActor] = []
    monkeypatch.setattr("queueviz.sandboxes.demo._later", lambda after_s, action: mended.append(action))
    group = {**SNAPSHOT["groups"][0], "listener": listener, "members": [{"actor": "D"}]}
    monkeypatch.setitem(SNAPSHOT, "groups", [group])
    ownership.demo_sandbox()
    visitor_actions.act(new_visitor(), "landing", {"action": "ChangeActor", "actor": "D", "work_ms": "9000"})
    assert [action.work_ms for action in mended] == [usual_ms]


@pytest.mark.parametrize("action", [{"action": "DeleteTopic", "topic": "flights"}, {"action": "SetRate", "rate": 0}])
def test_anything_else_on_the_host_s_sandbox_is_forbidden(port: FakePort, action: dict[str, object]) -> None:
    ownership.demo_sandbox()
    with pytest.raises(policy.Forbidden):
        visitor_actions.act(new_visitor(), "landing", action)
    assert port.acted == []


def test_each_of_the_three_buttons_may_be_pressed_at_once_and_a_fourth_press_is_too_many(
    port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queueviz.sandboxes.demo._later", lambda after_s, action: None)
    ownership.demo_sandbox()
    who = new_visitor()
    for action in (
        {"action": "SendMessages", "topic": "flights"},
        {"action": "CrashActor", "actor": "A"},
        {"action": "ChangeActor", "actor": "B", "work_ms": "9000"},
    ):
        visitor_actions.act(who, "landing", action)
    with pytest.raises(ActionRefused) as refused:
        visitor_actions.act(who, "landing", {"action": "CrashActor", "actor": "B"})
    assert refused.value.status == 429


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer qv_x", "qv_x"), ("bearer  qv_x ", "qv_x"), ("Basic abc", None), ("", None), ("Bearer", None)],
)
def test_a_bearer_header_gives_its_token(header: str, token: str | None) -> None:
    assert bearer(header) == token


OF_COURSES = {
    "courses/submissions.py": {"Grant", "Sandbox"},
    "courses/teaching.py": {"Grant"},
    "courses/student_records.py": {"AuditRecord", "Sandbox"},
    "courses/deletion.py": {"AuditRecord", "Sandbox"},
}


def test_nothing_but_access_touches_the_rows() -> None:
    """Models are imported by the listed modules only; runs by the pipeline's modules, and no other model there."""
    folder = Path(policy.__file__).parents[1]
    found = {
        str(path.relative_to(folder)): _models(path)
        for path in folder.rglob("*.py")
        if str(path.relative_to(folder)) not in MODEL_USERS and "migrations" not in path.parts
    }
    keepers = [name for name in found if name.startswith("runs/") or name == "pages/pipeline.py"]
    own = {
        **{name: {"PipelineRun"} for name in keepers},
        **OF_COURSES,
        "engines/lease_rows.py": {"EngineLease", "SandboxPlace"},
        "access/creation_limits.py": {"AuditRecord"},
    }
    guilty = {name: models for name, models in found.items() if models - own.get(name, set())}
    assert guilty == {}


def _models(path: Path) -> set[str]:
    """Return the names of `queueviz.models` that are used for more than a type; `*` if all of it."""
    tree = ast.parse(path.read_text())
    imports = {
        name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "queueviz.models"
        for name in node.names
    }
    whole = {
        "*"
        for node in ast.walk(tree)
        if isinstance(node, ast.Import) and any(name.name == "queueviz.models" for name in node.names)
    }
    types = {id(name) for node in ast.walk(tree) for part in _type_parts(node) for name in ast.walk(part)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in types}
    return imports & used | whole


def _type_parts(node: ast.AST) -> list[ast.expr]:
    """Annotations, and the classes of an `isinstance`."""
    match node:
        case ast.arg(annotation=ast.expr() as part) | ast.AnnAssign(annotation=part):
            return [part]
        case ast.FunctionDef(returns=ast.expr() as part):
            return [part]
        case ast.Call(func=ast.Name("isinstance"), args=[_, part]):
            return [part]
    return []
