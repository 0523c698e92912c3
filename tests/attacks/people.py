"""Everyone who may come: owners, those they let in, and those they did not; with the role each has at each place."""

from datetime import timedelta
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from queueviz.access.digests import digest
from queueviz.courses import polling
from queueviz.models import Course, Grant, PipelineRun, Sandbox
from queueviz.sandboxes import ownership
from tests.web.clusters import account, browser_of, cluster
from tests.web.fake_port import FakePort

SANDBOXES = ("shared", "private", "expired")
SUBMISSION, COURSE = "submission", "course"
CLUSTER = "cluster"
CLUSTER_NAME = "prod"
LAB = "pinned-offset"

Roles = dict[str, str | None]
ELSEWHERE: Roles = {CLUSTER: None, COURSE: None, SUBMISSION: None}
OWNER: Roles = {**dict.fromkeys(SANDBOXES, "owner"), **ELSEWHERE}
EDITOR: Roles = {"shared": "editor", "private": "editor", "expired": None, **ELSEWHERE}
EVERYONE: Roles = {"shared": "viewer", "private": None, "expired": None, **ELSEWHERE}


class Person(NamedTuple):
    """`tokens`: sent at a place instead of the browser's cookies.  `links`: secrets of live links."""

    client: Client
    roles: Roles
    tokens: dict[str, str] = {}
    administers: bool = False
    links: dict[str, str] = {}

    def address_at(self, place: str, slug: str, path: str) -> str:
        """Behind a live link what is at the sandbox's own address is below the link's."""
        if place not in self.links:
            return path
        link = f"/v/{self.links[place]}/"
        return path.replace(f"/s/{slug}/", link).replace(f"/api/sandboxes/{slug}", f"{link}api")

    def headers_at(self, place: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[place]}"} if place in self.tokens else {}


class World(NamedTuple):
    slugs: dict[str, str]  # place → what the engine calls it
    runs: dict[str, str]  # place → a run of the pipeline
    people: dict[str, Person]


def world(port: FakePort) -> World:
    """Each place with all the people there are."""
    owner, taker, other = Client(), browser_of(account("taker")), Client()
    slugs = {place: _made(owner) for place in SANDBOXES}
    rows = {place: Sandbox.objects.get(slug=slug) for place, slug in slugs.items()}
    tokens: dict[str, dict[str, str]] = {kind: {} for kind in ("good", "revoked", "expired")}
    editor, former = account("editor"), account("former")
    links = {place: f"live-link-of-{place}" for place in SANDBOXES}
    runs = {}
    for place, sandbox in rows.items():
        link = owner.post(f"/s/{sandbox.slug}/keep/claim-link/").context["claim_url"]
        assert taker.post(link).status_code == 302
        for kind, held in tokens.items():
            held[place] = ownership.new_token(sandbox, label=kind)
        Grant.objects.create(sandbox=sandbox, kind="editor", role="editor", user=editor)
        Grant.objects.create(sandbox=sandbox, kind="editor", role="editor", user=former, revoked_at=timezone.now())
        Grant.objects.create(sandbox=sandbox, kind="live", role="viewer", digest=digest(links[place]))
        runs[place] = PipelineRun.objects.create(sandbox=sandbox, job="latency", who="x", visitor="x").run
    now = timezone.now()
    Grant.objects.filter(label="revoked").update(revoked_at=now)
    Grant.objects.filter(label="expired").update(expires_at=now - timedelta(seconds=1))
    Sandbox.objects.filter(pk=rows["private"].pk).update(visibility="private")
    Sandbox.objects.filter(pk=rows["expired"].pk).update(
        visited_at=now - timedelta(days=40), expires_at=now - timedelta(days=1)
    )
    _made(other)
    operator, viewer = account("operator"), account("viewer")
    slugs[CLUSTER] = cluster(CLUSTER_NAME, viewers=(viewer,), operators=(operator,)).slug
    port.attached[slugs[CLUSTER]] = None
    elsewhere = ownership.new_token(Sandbox.objects.get(slug=_made(Client())))
    made_up = Client()
    made_up.cookies["sessionid"] = "m" * 32
    root = browser_of(User.objects.create_user("root", is_staff=True, is_superuser=True))
    teacher, students = browser_of(account("teacher")), [Client() for _ in range(3)]
    course = Course.objects.get(slug=teacher.post("/c/new/", {"title": "101", "labs": LAB})["Location"].split("/")[2])
    for student in students:
        assert student.post("/join/", {"code": course.code}).status_code == 302
    polling.ask(course, "Whose is it?", [("A", "his"), ("B", "hers")])
    submission = students[0].post(f"/c/{course.slug}/labs/{LAB}/")["Location"].split("/")[2]
    removed = course.enrolments.order_by("pk").last()
    assert teacher.post(f"/c/{course.slug}/students/{removed.pk}/", {"do": "remove"}).status_code == 302
    slugs |= {COURSE: course.slug, SUBMISSION: submission}
    runs[SUBMISSION] = PipelineRun.objects.create(
        sandbox=Sandbox.objects.get(slug=submission), job="latency", who="x", visitor="x"
    ).run
    at_all = [*SANDBOXES, CLUSTER, COURSE, SUBMISSION]
    people = {
        "the owner's browser": Person(owner, OWNER),
        "an account that took a claim link": Person(taker, OWNER),
        "an editor's account": Person(browser_of(editor), EDITOR),
        "a former editor's account": Person(browser_of(former), EVERYONE),
        "a token of it": Person(Client(), OWNER, tokens["good"]),
        "a revoked token of it": Person(Client(), EVERYONE, tokens["revoked"]),
        "an expired token of it": Person(Client(), EVERYONE, tokens["expired"]),
        "a token of another sandbox": Person(Client(), EVERYONE, dict.fromkeys(at_all, elsewhere)),
        "a made-up token": Person(Client(), EVERYONE, dict.fromkeys(at_all, "qv_made_up")),
        "a made-up token in the owner's browser": Person(owner, EVERYONE, dict.fromkeys(at_all, "qv_made_up")),
        "a made-up cookie": Person(made_up, EVERYONE),
        "somebody with a sandbox of his own": Person(other, EVERYONE),
        "somebody else's account": Person(browser_of(account("else")), EVERYONE),
        "a reader with a live link": Person(Client(), EVERYONE, links=links),
        "the owner's browser behind a live link": Person(owner, EVERYONE, links=links),
        "nobody": Person(Client(), EVERYONE),
        "an operator of the cluster": Person(browser_of(operator), {**EVERYONE, CLUSTER: "operator"}),
        "a viewer of the cluster": Person(browser_of(viewer), {**EVERYONE, CLUSTER: "viewer"}),
        "the teacher of the course": Person(teacher, {**EVERYONE, COURSE: "instructor", SUBMISSION: "instructor"}),
        "the student whose lab it is": Person(students[0], {**EVERYONE, COURSE: "student", SUBMISSION: "student"}),
        "another student of the course": Person(students[1], {**EVERYONE, COURSE: "student"}),
        "a student who was removed": Person(students[2], EVERYONE),
        "an administrator": Person(root, {**EVERYONE, CLUSTER: "viewer"}, administers=True),
    }
    return World(slugs, runs, people)


def _made(client: Client) -> str:
    answer: Any = client.post("/new/", {"template": "empty"})
    return str(answer["Location"]).split("/")[2]
