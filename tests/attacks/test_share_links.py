"""Share links and embeds: guesses, other ranges, other sites, and what a link must not lead to."""

import json
import re
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from queueviz.boards import BOARDS, PARTS
from queueviz.links import share_links, share_recordings
from queueviz.models import Grant, Sandbox
from queueviz.sandboxes import ownership
from sandbox.control.questions import BY_NAME as QUESTIONS
from sandbox.kernel.errors import ActionRefused
from tests.web.fake_port import CRASH_TAKEN, FakePort
from tests.web.test_share_page import FORM, home, made

__all__ = ["home"]

BEGIN = share_recordings.begin

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def link(visitor: Client, mine: str, home: Path) -> str:
    return made(visitor, mine)


def test_a_guess_answers_as_a_link_that_was_revoked(visitor: Client, mine: str, link: str) -> None:
    visitor.post(f"/s/{mine}/share/revoke/", {"link": Grant.objects.get(kind="share").pk})
    answers = [Client().get(path) for path in (link, f"/v/{secrets.token_urlsafe(24)}/")]
    assert [answer.status_code for answer in answers] == [404, 404]
    pages = [answer.content.decode() for answer in answers]
    assert len({page.partition("<main")[2].partition("</main>")[0] for page in pages}) == 1


def test_guesses_are_counted_and_a_good_link_opens_all_the_same(link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_links, "GUESSES", share_links.Rate(0.001, 3, what="links"))
    guesses = [Client().get(f"/v/{secrets.token_urlsafe(24)}/").status_code for _ in range(5)]
    assert guesses == [404, 404, 404, 429, 429]
    assert Client().get(link).status_code == 200


def test_the_secret_is_stored_nowhere(link: str, home: Path) -> None:
    secret = link.split("/")[2]
    row = Grant.objects.filter(kind="share").values().get()
    assert secret not in str(row)
    assert [secret in file.name for file in (home / "shares").iterdir()] == [False]


@pytest.mark.parametrize("query", ["?from=0&to=99999", "?at=450", "?first=0", "?range=all"])
def test_no_field_of_an_address_widens_the_range(link: str, query: str) -> None:
    page, whole = Client().get(link + query), Client().get(link + "recording.qvr" + query)
    assert '"from": 10, "to": 400, "at": 300' in page.content.decode()
    assert whole.content == Client().get(link + "recording.qvr").content


def test_a_link_is_no_right_at_the_sandbox(visitor: Client, mine: str, link: str) -> None:
    visitor.post(f"/s/{mine}/keep/change/", {"name": "x", "visibility": "private"})
    secret = link.split("/")[2]
    reader = Client(headers={"Authorization": f"Bearer {secret}"})
    reader.get(link)
    for path in ("", "journal", "state?at=450", "events"):
        assert reader.get(f"/api/sandboxes/{mine}/{path}".rstrip("/")).status_code == 404
    assert reader.get(f"/s/{mine}/").status_code == 404


@pytest.mark.parametrize("part", ["..", "../../admin", "board/../../..", "%2e%2e", "board%00", "recording.qvr/x"])
def test_no_part_leads_elsewhere(link: str, part: str) -> None:
    assert Client().get(f"{link.replace('/v/', '/e/')}{part}/").status_code in (400, 404)


@pytest.mark.parametrize("ranges", ["bytes=0-0,5-9", "bytes=9-3", "bytes=-", "bytes=x-y", "lines=1-2", "bytes=0-9e99"])
def test_odd_ranges_give_the_file_or_a_refusal(link: str, ranges: str) -> None:
    answer = Client().get(link + "recording.qvr", headers={"Range": ranges})
    assert answer.status_code in (200, 416)


def test_what_an_author_writes_is_text(visitor: Client, mine: str, home: Path) -> None:
    path = made(visitor, mine, label=SCRIPT, notes=f"#20 {SCRIPT}")
    for address in (path, path.replace("/v/", "/e/") + "board/"):
        page = Client().get(address).content.decode()
        assert SCRIPT not in page
        assert "&lt;script&gt;alert(1)" in page


def test_an_embed_neither_reads_nor_sets_a_cookie(visitor: Client, link: str) -> None:
    """Signed in or not, dark or light: the same bytes."""
    path = link.replace("/v/", "/e/") + "board/"
    visitor.cookies["theme"] = "dark"
    visitor.cookies["django_language"] = "zh-hans"
    known, unknown = visitor.get(path), Client().get(path)
    assert known.content == unknown.content
    assert not unknown.cookies


def test_no_method_but_reading_is_known(link: str) -> None:
    for path in (link, link + "recording.qvr", link.replace("/v/", "/e/") + "board/", "/oembed"):
        assert {Client().post(path).status_code, Client().delete(path).status_code} == {405}


def test_only_so_many_recordings_are_made_at_once(visitor: Client, mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_recordings, "LIMITS", share_recordings.HostLimits(share_links_waiting=2))
    monkeypatch.setattr(share_recordings, "begin", BEGIN)
    monkeypatch.setattr(share_recordings, "_waiting", set())
    monkeypatch.setattr(share_recordings, "_follow", lambda share, scores: None)
    assert [visitor.post(f"/s/{mine}/share/", FORM).status_code for _ in range(3)] == [302, 302, 429]
    assert Grant.objects.filter(kind="share").count() == 2
    assert visitor.get(f"/s/{mine}/share/links/").content.decode().count("generating") == 2


WHO = 'planted "q\\ <Zoë'  # an account
ACTED = {**CRASH_TAKEN, "by": f"owner {WHO}"}


def test_no_answer_behind_a_live_link_names_who_acted(visitor: Client, mine: str, live: str, port: FakePort) -> None:
    Sandbox.objects.filter(slug=mine).update(owner=User.objects.create(username=WHO, email="planted@example.org"))
    port.rows = [ACTED, {**ACTED, "seq": "8", "by": f"editor {WHO}"}]
    owner = visitor.get(f"/api/sandboxes/{mine}/events").content.decode()
    assert owner.count("planted") == 2
    roles = 0
    for rest in crawled():
        text = shown(Client().get(live + rest))
        assert "planted" not in text, rest
        roles += text.count('"by":"owner"')
    assert roles >= 3


def test_behind_a_live_link_a_search_does_not_find_who_acted(mine: str, live: str, port: FakePort) -> None:
    port.rows = [ACTED]
    found = [
        len(Client().get(f"{live}api/journal", {"show": "all", "search": text}).json()["rows"])
        for text in ("planted", "plant", "owner", "CrashActor")
    ]
    assert found == [0, 0, 1, 1]


OTHER_SLUG = "calm-otter-hqnzrp"


def test_no_answer_behind_a_live_link_names_the_sandbox_or_another(
    visitor: Client, mine: str, live: str, port: FakePort
) -> None:
    Sandbox.objects.filter(slug=mine).update(name=f"{OTHER_SLUG} · #5 of {mine}", branch_of=OTHER_SLUG, branch_at=5)
    port.notices[mine] = [{"pattern": "{what} of {slug}", "values": {"what": "x", "slug": mine}, "dismissible": True}]
    whole = {"sandbox": {"slug": mine, "name": mine, "template": "orders"}, "topics": []}
    port.rows = [
        {"seq": "6", "at_ms": 6, "type": "SandboxOpened", "cause": None, "seed": f"{mine} 1"},
        {"seq": "7", "at_ms": 7, "type": "Keyframe", "cause": None, "snapshot": whole},
        {**ACTED, "seq": "8"},
    ]
    for rest in crawled():
        answer = Client().get(live + rest)
        text = shown(answer) + str(dict(answer.headers))
        assert mine not in text, rest
        assert OTHER_SLUG not in text, rest
    for text in (mine, mine[:6], OTHER_SLUG):
        found = Client().get(f"{live}api/journal", {"show": "all", "search": text}).json()["rows"]
        assert found == [], "a search finds what is not shown"
    assert "another-sandbox · #5 of link-" in Client().get(live).content.decode()


def test_what_was_stored_is_shown_behind_a_live_link_as_it_is(mine: str, live: str, port: FakePort) -> None:
    """Whatever it looks like: the sandbox's name, its address, another sandbox, who acted."""
    stored = f'{mine} /s/{mine}/ {OTHER_SLUG} "by": "owner ada"'
    record = {"body": stored, "keys": stored, "properties": {"of": stored}}
    port.answers = {"rows": [record], "record": record, "by": "id"}
    for name in ("read-record", "find-messages"):
        query = {"broker": "broker-a", "physical_offset": 0} if name == "read-record" else {"id": "0" * 32}
        assert Client().get(f"{live}api/ask/{name}", query).json() == port.answers
    port.rows = [{"seq": "7", "at_ms": 7, "type": "MessagePinned", "cause": None, "key": stored}]
    for path in ("events", "journal?show=all"):
        assert orjson.dumps(stored) in shown(Client().get(f"{live}api/{path}")).encode()
    assert len(Client().get(f"{live}api/journal", {"search": mine}).json()["rows"]) == 1
    port.show(f"messages/{mine}", {"rows": {"1": {"key": stored, "topic": stored}}}, seq=1)
    [config] = re.findall(
        r'id="live" type="application/json">(.*?)</script>',
        Client().get(f"{live}messages/").content.decode(),
        re.DOTALL,
    )
    first = json.loads(config)["first"]
    assert [reading["data"]["rows"]["1"] for reading in first.values()] == [{"key": stored, "topic": stored}]
    assert all(name.startswith("messages/link-") for name in first)


def crawled() -> list[str]:
    return [
        "",
        *(f"{name}/" for name in BOARDS),
        *(f"part/{name}/" for name in [*PARTS, *BOARDS]),
        *(f"ask/{name}/" for name in QUESTIONS),
        *(f"api/ask/{name}" for name in QUESTIONS),
        "audit/",
        "history/",
        "part/freshness/delivery_audit/",
        "clients/a/",
        "messages/a/",
        "?at=7",
        "journal/?at=7",
        "api/events",
        "api/events?most=1000000",
        "api/journal?show=all",
        "api/state",
        "api/state?at=7",
        "api/changes?from=7&to=8",
    ]


def shown(answer: Any) -> str:
    return b"".join(drained(answer)).decode() if answer.streaming else str(answer.content.decode())


def drained(answer: Any) -> list[bytes]:
    async def pages() -> list[bytes]:
        return [page async for page in answer.streaming_content]

    return async_to_sync(pages)()


PLACES = (
    "share/",
    "share/links/",
    "keep/change/",
    "branch/",
    "branching/",
    "claims/",
    "compare/",
    "actions/",
    "api/recording",
    "api/actions",
    "api/branch",
    "api/wake",
    "api/listen",
    "api/keys",
    "api/runs",
    "api/",
    "../",
    "..%2f..%2f",
    "journal/../../",
    "/",
    "nonsense/",
    "fork/",
    "recording.qvr",
)


@pytest.fixture
def live(visitor: Client, mine: str, home: Path) -> str:
    return made(visitor, mine, kind="live")


@pytest.mark.parametrize("rest", PLACES)
def test_a_live_link_leads_to_no_more_than_looking(visitor: Client, mine: str, live: str, rest: str) -> None:
    """Not even the owner's browser."""
    before = sorted(Sandbox.objects.values_list())
    for browser in (visitor, Client()):
        assert browser.get(live + rest).status_code in (404, 405)
        assert browser.post(live + rest, {"name": "x", "action": "SetRate", "rate": "9"}).status_code in (404, 405)
    assert sorted(Sandbox.objects.values_list()) == before


def test_a_live_link_is_no_token(visitor: Client, mine: str, live: str) -> None:
    Sandbox.objects.filter(slug=mine).update(visibility="private")
    reader = Client(headers={"Authorization": f"Bearer {live.split('/')[2]}"})
    assert [reader.get(path).status_code for path in (f"/s/{mine}/", f"/api/sandboxes/{mine}", live)] == [404] * 3


def test_behind_a_live_link_a_token_and_a_session_count_for_nothing(visitor: Client, mine: str, live: str) -> None:
    token = ownership.new_token(Sandbox.objects.get(slug=mine))
    page = visitor.get(live, headers={"Authorization": f"Bearer {token}"}).content.decode()
    assert 'data-can="see "' in page
    assert visitor.post(f"{live}api/actions", headers={"Authorization": f"Bearer {token}"}).status_code == 405


def test_a_live_link_reaches_no_other_sandbox(visitor: Client, mine: str, live: str, port: FakePort) -> None:
    other = str(visitor.post("/new/", {"template": "orders"})["Location"]).split("/")[2]
    for rest in (f"s/{other}/", f"../../s/{other}/", f"api/../{other}/journal", f"part/rail/?slug={other}"):
        answer = Client().get(live + rest)
        assert f'"/s/{other}/' not in answer.content.decode()
        assert answer.status_code == 404 or other not in answer.content.decode()


def test_refusals_behind_a_live_link_do_not_name_the_sandbox(mine: str, live: str, port: FakePort) -> None:
    port.refuse["snapshot"] = ActionRefused(404, "Sandbox {slug} does not exist.", slug=mine)
    refused = Client().get(live)
    assert refused.status_code == 404
    assert mine not in refused.content.decode()


def test_a_live_link_does_not_name_where_its_sandbox_comes_from(mine: str, live: str) -> None:
    Sandbox.objects.filter(slug=mine).update(branch_of="calm-otter-hqnzrp", branch_at=5)
    assert "calm-otter-hqnzrp" not in Client().get(live).content.decode()


def test_an_expired_sandbox_has_no_live_link(mine: str, live: str) -> None:
    Sandbox.objects.filter(slug=mine).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert Client().get(live).status_code == 404


@pytest.mark.parametrize("kind", ["live", "fork"])
def test_only_a_range_is_framed(visitor: Client, mine: str, home: Path, kind: str) -> None:
    path = made(visitor, mine, kind=kind)
    assert Client().get(path.replace("/v/", "/e/") + "board/").status_code == 404
    assert Client().get(f"/oembed?url=http://testserver{path}").status_code == 404
    assert "frame-ancestors 'none'" in Client().get(path)["Content-Security-Policy"]


def test_a_range_leads_to_no_page_of_the_sandbox(link: str) -> None:
    for rest in ("", "journal/", "part/rail/", "api/state"):
        page = Client().get(link + rest)
        assert page.status_code == (404 if rest else 200)
    assert Client().post(link + "fork/").status_code == 404
