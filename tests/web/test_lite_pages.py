"""The pages of Lite and those of the server: of one snapshot they are equal, but for what a server alone has."""

import json
import re
from difflib import unified_diff
from typing import Any, cast

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from queueviz import engine
from queueviz.boards import BOARDS, PARTS
from queueviz.lite.request import Answer
from queueviz.lite.site import Site, refusal
from sandbox.control.limits import HostLimits
from sandbox.control.recipe_text import unpack
from sandbox.control.rights import VERBS
from sandbox.hosting.port import EnginePort
from sandbox.kernel.errors import ActionRefused
from tests.web.fake_port import FakePort
from tests.web.test_incident_pages import write as write_incident
from tests.web.test_past_findings import event as finding_event
from tests.web.test_past_findings import opened as opened_finding

FORM = "application/x-www-form-urlencoded"
NAMED = {
    "script of Lite": r'<script src="/static/queueviz/js/lite/bridge.js" data-root="/s/[\w-]+/"></script>',
    "token": r"<body hx-headers=.*",
    "retention": r"The sandbox is kept until .*",
    "what if": r'<a href="/s/[\w-]+/what-if/">.*</a>',
    "watchers": r'<span class="watchers" id="watchers"></span>',  # a browser has one reader
    "theme": r"aria-pressed=.* data-url=.*theme/.*",
    "language": r'<form class="sheet end" method="post" action=.*language/">',
    "share": r'<button class="btn hide-s" type="button" id="share">.*',
    "real clients": r'<a class="(small|btn|btn sm)" href="/s/[\w-]+/connect/">.*</a>',
    "history and audit": r'<a href="/s/[\w-]+/(history|audit)/.*|</a>|History|Audit',
}
TOKEN = re.compile(r'<input type="hidden" name="csrfmiddlewaretoken" value="\w*">')
WITHOUT_CAN = {"settings"}  # its forms are the server's


@pytest.fixture
def site(port: FakePort, visitor: Client, mine: str) -> Site:
    visitor.post("/first-steps/dismiss/", {"template": "orders"})  # a suggestion of the server's
    can = {verb: verb != "grade" for verb in VERBS}  # as an owner on the server
    return site_of(port, mine, f"/s/{mine}/", can)


def site_of(port: FakePort, slug: str, root: str, can: dict[str, bool]) -> Site:
    """Return the site over a port that has only the methods that these pages call."""
    return Site(cast(EnginePort, port), slug, engine.directory_of(slug), root=root, static="/static/", can=can)


def answer(site: Site, method: str, path: str, body: str = "", **how: Any) -> Answer:
    return async_to_sync(site.answer)(method, path, body, **how)


def lines(html: str, slug: str) -> list[str]:
    """Return the lines of a page without tokens; addresses of the API and styles are as the server has them."""
    text = TOKEN.sub("", html.replace(f"/s/{slug}/api", f"/api/sandboxes/{slug}").replace(' data-css="', ' style="'))
    return [line.strip() for line in text.splitlines() if line.strip()]


def differences(one: list[str], other: list[str]) -> list[str]:
    changed = [line for line in unified_diff(one, other, n=0, lineterm="") if not line.startswith(("---", "+++", "@@"))]
    return [line for line in changed if not any(re.fullmatch(pattern, line[1:]) for pattern in NAMED.values())]


@pytest.mark.parametrize(
    "path",
    [board.path for board in BOARDS.values() if board.name not in {"client", "message", "connect", *WITHOUT_CAN}]
    + [f"part/{name}/" for name in PARTS]
    + [f"part/{board.name}/" for board in BOARDS.values() if board.twin]
    + ["rebalance/?group=billing", "part/ask/?form=burst", "clients/A/"],
)
def test_a_page_is_the_same_as_the_server_s(visitor: Client, mine: str, site: Site, path: str) -> None:
    of_server = visitor.get(f"/s/{mine}/{path}").content.decode()
    assert differences(lines(of_server, mine), lines(answer(site, "GET", path).body, mine)) == []


def test_a_refusal_is_the_same_as_the_server_s(visitor: Client, mine: str, site: Site, port: FakePort) -> None:
    for body in ("action=CrashActor", "action=Nothing", "queues=a&queues.b=c&action=CrashActor"):
        of_server = visitor.post(
            f"/s/{mine}/actions/",
            body,
            content_type="application/x-www-form-urlencoded",
            headers={"HX-Request": "true"},
        )
        refused = answer(site, "POST", "actions/", body)
        assert (refused.status, lines(refused.body, mine)) == (
            of_server.status_code,
            lines(of_server.content.decode(), mine),
        )


def test_an_action_has_the_header_of_the_server_s(visitor: Client, mine: str, site: Site, port: FakePort) -> None:
    of_server = visitor.post(f"/s/{mine}/actions/", {"action": "CrashActor", "actor": "A"})
    done = answer(site, "POST", "actions/", "action=CrashActor&actor=A")
    assert (done.status, done.headers["HX-Trigger"].replace("2", "1")) == (
        of_server.status_code,
        of_server["HX-Trigger"].replace("2", "1"),
    )


def test_lite_offers_nothing_that_needs_a_server(site: Site) -> None:
    for path in ("", "topology/", "topics/", "settings/"):
        text = answer(site, "GET", path).body
        for address in ("connect/", "what-if/", "history/", "audit/", "keep/extend/"):
            assert address not in text, path


def test_an_error_of_our_own_is_a_sentence_and_no_traceback(
    site: Site, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port, "read", lambda *channels, **how: 1 / 0)
    broken = answer(site, "GET", "part/board/")
    assert broken.status == 503
    assert "ZeroDivisionError" in broken.body
    assert "Traceback" not in broken.body


def test_a_sandbox_without_a_snapshot_is_refused_without_the_frame(
    site: Site, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(slug: str) -> None:
        raise ActionRefused(503, "The sandbox is asleep.", "Wake it.")

    monkeypatch.setattr(port, "snapshot", refuse)
    refused = answer(site, "GET", "")
    assert refused.status == 503
    assert 'class="refusal"' in refused.body


def test_too_many_fields_are_refused(site: Site) -> None:
    many = "&".join(f"f{number}=1" for number in range(10_000))
    assert answer(site, "POST", "actions/", many).status == 400
    assert answer(site, "GET", f"?{many}").status == 400


def test_an_action_beyond_the_reader_s_rights_is_refused(port: FakePort, mine: str) -> None:
    watching = site_of(port, mine, "/w/", dict.fromkeys(VERBS, False))
    assert answer(watching, "POST", "actions/", "action=CrashActor&actor=A").status == 403
    assert port.acted == []


def test_a_recording_of_events_that_do_not_exist_is_refused_in_a_sentence(site: Site) -> None:
    refused = answer(site, "GET", "api/recording?from=1&to=99999")
    assert refused.status == 422
    assert "Events 1 to 99999 cannot be recorded." in refused.body


def test_a_refusal_to_begin_has_its_sentence_before_there_is_a_site() -> None:
    refused = ActionRefused(404, "There is no {name}.", "Choose one of the list.", name="x")
    assert refusal(refused, language="en", static="/static/") == (404, "There is no x.", "Choose one of the list.")
    assert refusal(refused, language="zh-hans", static="/static/")[1] != "There is no x."


def test_the_run_up_to_an_event_or_up_to_now_is_the_text_of_a_link(site: Site, port: FakePort) -> None:
    port.rows = [{"seq": "500", "at_ms": 1, "type": "SandboxOpened", "cause": None}]
    for query, at in (("", 500), ("?at=450", 450)):
        text = json.loads(answer(site, "GET", f"api/recipe{query}").body)["text"]
        assert unpack(text, HostLimits()).until == at
    port.refuse["recipe"] = ActionRefused(422, "The run up to this event has too many actions for one link.")
    refused = answer(site, "GET", "api/recipe", language="zh-hans")
    assert (refused.status, "actions" in json.loads(refused.body)["error"]) == (422, False)


def test_an_incident_begins_at_its_first_marker_and_its_past_has_them_all(site: Site, mine: str) -> None:
    write_incident(mine, (70, "StopActor", {"actor": "A"}), (90, "RestartActor", {"actor": "B"}))
    first = answer(site, "GET", "incident/")
    assert (first.status, first.headers["Location"]) == (303, f"/s/{mine}/?group=billing&topic=orders&at=70")
    page = answer(site, "GET", "?at=80").body
    assert f'href="/s/{mine}/?group=billing&amp;topic=orders&amp;at=90"' in page
    assert '<p data-note="70">' in page
    assert '<p data-note="90" hidden>' in page


def test_without_an_incident_there_is_only_the_board(site: Site, mine: str) -> None:
    assert answer(site, "GET", "incident/").headers["Location"] == f"/s/{mine}/"
    assert 'id="incident"' not in answer(site, "GET", "?at=80").body


def test_the_past_in_a_browser_has_the_findings_of_its_event(site: Site, port: FakePort, mine: str) -> None:
    port.rows = [opened_finding(18_100), finding_event(18_200)]
    for path in ("?at=18200", "findings/?at=18200", "part/finding/?group=order-svc&topic=orders&at=18200"):
        assert "Over 30 s, 19.0 messages arrived per second" in answer(site, "GET", path).body, path
    assert "No finding is open at this event." in answer(site, "GET", "part/finding/?at=18099").body
    assert "findings/?at=18200#" in answer(site, "GET", "?at=18200").body
