"""Share links: made by those who may, opened by anyone who has one, framed by other sites, revoked at once."""

import base64
import json
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from queueviz.links import recordings, share_links, share_recordings
from queueviz.models import Grant, Sandbox
from queueviz.sandboxes import ownership
from sandbox.kernel.errors import ActionRefused
from tests.web.fake_port import FakePort

FORM = {"first": "10", "last": "400", "at": "300", "days": "30", "label": "Slow message", "notes": "#350 Who takes q6?"}
PACKED = bytes(range(256)) * 8


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings: Any, port: FakePort, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data home of its own; recordings are there at once."""
    settings.QUEUEVIZ_HOME = tmp_path
    port.rows = [{"seq": "500", "at_ms": 1, "type": "SandboxOpened", "cause": None}]

    def make(share: share_links.Share) -> None:
        share_links.directory().mkdir(exist_ok=True)
        share.file.write_bytes(PACKED)

    monkeypatch.setattr(share_recordings, "begin", make)
    return tmp_path


def made(visitor: Client, slug: str, **fields: str) -> str:
    """The path of a new link; `kind`: live or fork, else to a range."""
    page = visitor.post(f"/s/{slug}/share/", FORM | fields, follow=True)
    assert page.status_code == 200, page.content.decode()
    return urlsplit(page.content.decode().split('readonly\n              value="')[1].split('"')[0]).path


def test_a_link_shows_its_range_and_its_notes_to_a_browser_without_rights(visitor: Client, mine: str) -> None:
    page = Client().get(made(visitor, mine)).content.decode()
    assert "Recording of events #10 to #400" in page
    shared = json.loads(page.split('<script id="shared" type="application/json">')[1].split("</script>")[0])
    assert (shared["from"], shared["to"], shared["at"]) == (10, 400, 300)
    assert shared["notes"] == [{"seq": 350, "text": "Who takes q6?"}]


def test_a_new_link_is_shown_once_after_a_redirect_and_a_reload_makes_no_second(visitor: Client, mine: str) -> None:
    answer = visitor.post(f"/s/{mine}/share/", FORM)
    assert (answer.status_code, answer["Location"]) == (302, f"/s/{mine}/share/")
    assert answer.cookies["made_link"]["httponly"]
    pages = [visitor.get(f"/s/{mine}/share/").content for _ in range(2)]
    assert [b'id="made"' in page for page in pages] == [True, False]
    assert [b'name="first"' in page and b'value="10"' in page for page in pages] == [True, False], "what was shared"
    assert len(share_links.listed(Sandbox.objects.get(slug=mine))) == 1


def test_live_and_range_are_in_front_and_the_rest_under_more(visitor: Client, mine: str) -> None:
    page = visitor.get(f"/s/{mine}/share/").content.decode()
    front, more = page.split('<details class="more">')
    assert [kind for kind in ("live", "range", "fork", "recipe") if f'value="{kind}"' in front] == ["live", "range"]
    assert [kind for kind in ("fork", "recipe") if f'value="{kind}"' in more] == ["fork", "recipe"]


def test_the_last_action_is_in_the_middle_of_the_offered_range(visitor: Client, mine: str, port: FakePort) -> None:
    crash = {"type": "ActionTaken", "cause": None, "action": "CrashActor", "fields": {"actor": "A"}, "by": "owner"}
    port.rows = [
        {"seq": "1", "at_ms": 1, "type": "SandboxOpened", "cause": None},
        {**crash, "seq": "2000", "at_ms": 2},
        {**crash, "seq": "2400", "at_ms": 2, "action": "SetRate", "fields": {"rate": 0}},  # a pause
        {"seq": "9000", "at_ms": 3, "type": "SandboxSlept", "cause": None},
    ]
    fields = visitor.get(f"/s/{mine}/share/").context["given"]
    assert (fields["first"], fields["at"], fields["last"]) == (1500, 2000, 2500)


@pytest.mark.parametrize(
    ("at", "newest", "offered"),
    [(2000, 2300, (1700, 2300)), (300, 9000, (0, 600)), (2000, 2000, (1800, 2000)), (50, 9000, (0, 250))],
)
def test_both_sides_of_the_offered_range_are_equal_where_the_run_has_as_many_events(
    visitor: Client, mine: str, port: FakePort, at: int, newest: int, offered: tuple[int, int]
) -> None:
    port.rows = [{"seq": str(newest), "at_ms": 3, "type": "SandboxSlept", "cause": None}]
    fields = visitor.get(f"/s/{mine}/share/", {"at": str(at)}).context["given"]
    assert (fields["first"], fields["at"], fields["last"]) == (offered[0], at, offered[1])


def test_a_range_is_downloaded_as_one_file_once_its_recording_is_made(
    visitor: Client, mine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "made.qvr"
    file.write_bytes(b'{"seed": "of this sandbox"}\n' + PACKED)
    results: list[Path | recordings.Making] = [recordings.Making(file, 0.0), file]
    asked: list[tuple[int, int, bool]] = []

    def find(slug: str, first: int, last: int, admit: Any, *, scores: bool) -> Path | recordings.Making:
        admit()
        asked.append((first, last, scores))
        return results.pop(0)

    monkeypatch.setattr(recordings, "of_server", lambda: SimpleNamespace(find=find))
    waits = visitor.post(f"/s/{mine}/share/offline/", FORM)
    assert (waits.status_code, waits.json()) == (202, {"progress": 0.0})
    ready = visitor.post(f"/s/{mine}/share/offline/", FORM)
    assert (ready.status_code, asked) == (200, [(10, 400, True)] * 2)
    assert ready["Content-Disposition"] == 'attachment; filename="queueviz-10-400.html"'
    page = ready.content.decode()
    packed = page.split('id="recording">')[1].split("<")[0].strip()
    assert base64.b64decode(packed) == b'{"seed":null}\n' + PACKED
    assert "<title>Slow message" in page
    assert "Who takes q6?" in page
    assert mine not in page
    assert len(share_links.listed(Sandbox.objects.get(slug=mine))) == 0
    for fields in ({"first": "400", "last": "10"}, {"last": "9000"}, {"first": "x"}):
        assert visitor.post(f"/s/{mine}/share/offline/", FORM | fields).status_code == 422
    assert Client().post(f"/s/{mine}/share/offline/", FORM).status_code in (403, 404)


def test_the_recording_is_read_by_ranges(visitor: Client, mine: str) -> None:
    url = made(visitor, mine) + "recording.qvr"
    whole = Client().get(url)
    assert (whole.status_code, whole.content) == (200, PACKED)
    part = Client().get(url, headers={"Range": "bytes=256-511"})
    assert (part.status_code, part.content, part["Content-Range"]) == (206, PACKED[256:512], "bytes 256-511/2048")
    assert Client().get(url, headers={"Range": "bytes=-3"}).content == PACKED[-3:]
    assert Client().get(url, headers={"Range": "bytes=9000-9001"})["Content-Range"] == "bytes */2048"
    assert Client().get(url, headers={"If-None-Match": whole["ETag"]}).status_code == 304


def test_a_link_works_while_the_sandbox_is_private_and_says_nothing_of_it(visitor: Client, mine: str) -> None:
    url = made(visitor, mine)
    Sandbox.objects.filter(slug=mine).update(visibility="private")
    page = Client().get(url).content.decode()
    assert mine not in page


def test_a_revoked_link_is_unknown_at_once_and_its_recording_is_gone(visitor: Client, mine: str, home: Path) -> None:
    url = made(visitor, mine)
    key = Grant.objects.get(kind="share").pk
    visitor.post(f"/s/{mine}/share/revoke/", {"link": key})
    assert [Client().get(url + rest).status_code for rest in ("", "recording.qvr")] == [404, 404]
    assert list((home / "shares").iterdir()) == []
    assert "revoked" in visitor.get(f"/s/{mine}/share/").content.decode()


def test_a_link_ends_with_its_time(visitor: Client, mine: str) -> None:
    url = made(visitor, mine)
    Grant.objects.filter(kind="share").update(expires_at=timezone.now() - timedelta(seconds=1))
    assert Client().get(url).status_code == 404


def test_the_list_shows_the_last_use(visitor: Client, mine: str) -> None:
    Client().get(made(visitor, mine))
    used = Grant.objects.get(kind="share").used_at
    assert used is not None
    assert used.strftime("%Y-%m-%d %H:%M") in visitor.get(f"/s/{mine}/share/").content.decode()


def test_only_who_may_share_sees_the_page(visitor: Client, mine: str) -> None:
    made(visitor, mine)
    for path in ("share/", "share/links/"):
        assert Client().get(f"/s/{mine}/{path}").status_code == 403
    assert Client().post(f"/s/{mine}/share/", FORM).status_code == 403
    assert Client().post(f"/s/{mine}/share/revoke/", {"link": Grant.objects.get(kind="share").pk}).status_code == 403


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("first", "400", "A range must begin before it ends."),
        ("last", "501", "Event 501 has not happened yet."),
        ("at", "9", "A share link must open at an event of its range."),
        ("days", "8", "A share link is valid for 1, 7, 30, 90 days."),
        ("first", "x", "first must be a number."),
        ("notes", "no number", "A note is a line with an event number"),
        (
            "notes",
            "\n".join(f"#{n} more" for n in range(21)),
            "A share link has at most 20 notes of at most 400 characters.",
        ),
        ("notes", f"#11 {'x' * 401}", "A share link has at most 20 notes of at most 400 characters."),
    ],
)
def test_what_cannot_be_shared_is_a_sentence(visitor: Client, mine: str, field: str, value: str, sentence: str) -> None:
    answer = visitor.post(f"/s/{mine}/share/", FORM | {field: value})
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not Grant.objects.filter(kind="share").exists()


def test_a_run_that_cannot_be_executed_again_is_no_lab_and_says_why(visitor: Client, mine: str, port: FakePort) -> None:
    assert visitor.get(f"/s/{mine}/share/lab/").status_code == 200
    port.refuse["recipe"] = ActionRefused(
        409, "At event {seq} this run cannot be replayed.", "Choose an event before that section.", seq=500
    )
    answer = visitor.get(f"/s/{mine}/share/lab/")
    assert answer.status_code == 409
    assert "At event 500 this run cannot be replayed." in answer.content.decode()


def test_a_sandbox_has_only_so_many_links(visitor: Client, mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_links, "LIMITS", share_links.HostLimits(share_links_per_sandbox=1))
    made(visitor, mine)
    assert visitor.post(f"/s/{mine}/share/", FORM).status_code == 429


def test_an_embed_may_be_framed_by_any_site_and_knows_no_cookie(visitor: Client, mine: str) -> None:
    path = made(visitor, mine).replace("/v/", "/e/") + "board/"
    reader = Client()
    answer = reader.get(path)
    assert answer.status_code == 200
    assert "frame-ancestors *" in answer["Content-Security-Policy"]
    assert "script-src 'self'" in answer["Content-Security-Policy"]
    assert "X-Frame-Options" not in answer
    assert not reader.cookies
    assert "Cookie" not in answer.get("Vary", "")
    assert b"csrf" not in answer.content


def test_every_other_page_may_not_be_framed(visitor: Client, mine: str) -> None:
    for path in (made(visitor, mine), "/", f"/s/{mine}/"):
        answer = visitor.get(path)
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
        assert answer["X-Frame-Options"] == "DENY"


def test_a_part_there_is_not_is_refused(visitor: Client, mine: str) -> None:
    path = made(visitor, mine).replace("/v/", "/e/")
    answers = {part: Client().get(f"{path}{part}/").status_code for part in ("board", "lanes", "tape", "admin")}
    assert answers == {"board": 200, "lanes": 200, "tape": 404, "admin": 404}


def test_an_embed_speaks_the_language_of_its_author(visitor: Client, mine: str) -> None:
    visitor.cookies["django_language"] = "zh-hans"
    path = made(visitor, mine).replace("/v/", "/e/") + "board/"
    assert '<html lang="zh-hans"' in Client().get(path).content.decode()


def test_oembed_gives_a_frame_of_the_real_size(visitor: Client, mine: str) -> None:
    url = f"http://testserver{made(visitor, mine)}"
    said = Client().get(f"/oembed?url={quote(url)}&maxwidth=500").json()
    assert (said["type"], said["width"], said["title"]) == ("rich", 500, "Slow message")
    assert 'width="500" height="640"' in said["html"]
    assert url.replace("/v/", "/e/") + "board/" in said["html"]
    page = Client().get(urlsplit(url).path).content.decode()
    assert 'type="application/json+oembed"' in page


@pytest.mark.parametrize(
    "url",
    ["", "http://elsewhere.example/v/x/", "http://testserver/s/x/", "nonsense", "http://testserver/v/unknown-link/"],
)
def test_oembed_knows_only_our_own_links(url: str, db: None) -> None:
    assert Client().get(f"/oembed?url={quote(url)}").status_code == 404


@pytest.mark.parametrize(
    ("scheme", "status"),
    [("http", 200), ("https", 200), ("HTTP", 200), ("ftp", 404), ("javascript", 404), ("", 404), ("file", 404)],
)
def test_oembed_takes_addresses_of_http_and_https_alone(visitor: Client, mine: str, scheme: str, status: int) -> None:
    url = f"{scheme}://testserver{made(visitor, mine)}" if scheme else f"//testserver{made(visitor, mine)}"
    assert Client().get(f"/oembed?url={quote(url)}").status_code == status


@pytest.mark.parametrize("url", ["http://[", "http://testserver:x/v/a/", "http://testserver@elsewhere.example/v/a/"])
def test_oembed_of_no_address_is_not_found(url: str, db: None) -> None:
    assert Client().get(f"/oembed?url={quote(url)}").status_code == 404


def test_recordings_of_links_that_ended_are_swept(visitor: Client, mine: str, home: Path) -> None:
    made(visitor, mine)
    (home / "shares" / "left.qvr").write_bytes(b"")
    Grant.objects.filter(kind="share").update(expires_at=timezone.now() - timedelta(seconds=1))
    share_links.sweep()
    assert list((home / "shares").iterdir()) == []


def test_a_live_link_shows_the_pages_and_names_the_sandbox_nowhere(visitor: Client, mine: str, port: FakePort) -> None:
    port.show(f"board/{mine}/order-svc/orders", {"queues": {}, "members": {}}, seq=1)
    path = made(visitor, mine, kind="live")
    for tab in ("", "groups/", "journal/", "store/", "topology/", "settings/", "connect/", "messages/", "part/rail/"):
        page = Client().get(path + tab)
        assert page.status_code == 200, tab
        assert mine not in page.content.decode(), tab
    assert f'"root": "{path}"' in Client().get(path).content.decode()


def test_a_live_link_offers_nothing_that_changes(visitor: Client, mine: str) -> None:
    page = visitor.get(made(visitor, mine, kind="live")).content.decode()
    assert 'data-can="see "' in page


def test_a_live_link_is_listed_and_revoked_as_others(visitor: Client, mine: str) -> None:
    path = made(visitor, mine, kind="live")
    assert "live, read only" in visitor.get(f"/s/{mine}/share/").content.decode()
    visitor.post(f"/s/{mine}/share/revoke/", {"link": Grant.objects.get(kind="live").pk})
    assert [Client().get(path + rest).status_code for rest in ("", "groups/", "part/rail/")] == [404, 404, 404]


def test_a_live_link_wakes_nothing(visitor: Client, mine: str, port: FakePort) -> None:
    path = made(visitor, mine, kind="live")
    port.sandboxes[mine] = "asleep"
    assert visitor.get(path).status_code == 200
    assert port.sandboxes[mine] == "asleep"


@pytest.mark.parametrize("kind", ["live", "fork"])
def test_a_link_to_the_sandbox_ends_for_good_when_it_is_made_private(visitor: Client, mine: str, kind: str) -> None:
    path = made(visitor, mine, kind=kind)
    assert Client().get(path).status_code == 200
    for visibility in ("private", "link"):
        visitor.post(f"/s/{mine}/keep/change/", {"name": "x", "visibility": visibility})
        assert Client().get(path).status_code == 404


@pytest.mark.parametrize("kind", ["live", "fork"])
def test_of_a_private_sandbox_only_ranges_are_shared(visitor: Client, mine: str, kind: str) -> None:
    Sandbox.objects.filter(slug=mine).update(visibility="private")
    answer = visitor.post(f"/s/{mine}/share/", FORM | {"kind": kind})
    assert answer.status_code == 409
    assert "only a range of it can be shared" in answer.content.decode()
    assert not Grant.objects.filter(kind=kind).exists()


def test_a_fork_link_gives_a_branch_of_ones_own(visitor: Client, mine: str, port: FakePort) -> None:
    path, reader = made(visitor, mine, kind="fork"), Client()
    assert "up to event #300" in reader.get(path).content.decode()
    there = reader.post(path + "fork/")["Location"]
    assert (port.branched[-1].parent, port.branched[-1].at) == (mine, 300)
    branch = Sandbox.objects.get(branch_of=mine)
    assert there == f"/s/{branch.slug}/branching/"
    assert reader.post(f"/s/{branch.slug}/keep/extend/").status_code == 302
    assert reader.post(f"/s/{mine}/keep/extend/").status_code == 403


def test_a_fork_counts_as_a_new_sandbox(visitor: Client, mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "LIMITS", ownership.HostLimits(sandboxes_per_visitor=1))
    path, reader = made(visitor, mine, kind="fork"), Client()
    assert [reader.post(path + "fork/").status_code for _ in range(2)] == [302, 429]


def test_a_fork_begins_at_an_event_that_has_happened(visitor: Client, mine: str) -> None:
    answer = visitor.post(f"/s/{mine}/share/", FORM | {"kind": "fork", "at": "501"})
    assert answer.status_code == 422
    assert "Event 501 has not happened yet." in answer.content.decode()
