"""The JSON API: exact shapes, and a sentence for every refusal."""

import zlib
from concurrent.futures import Future
from typing import Any

import orjson
import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from queueviz.access.digests import digest
from queueviz.models import AuditRecord, Grant, Sandbox
from queueviz.sandboxes import ownership, visitor_actions
from sandbox.control.actions import CrashActor, SendMessages
from sandbox.control.questions import PlanReset
from sandbox.kernel.errors import ActionRefused
from tests.web.fake_port import FakePort

JSON = "application/json"


def make(client: Client, **fields: Any) -> dict[str, Any]:
    answer = client.post("/api/sandboxes", fields or {"template": "flights"}, content_type=JSON)
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_program_starts_a_sandbox_with_one_request(visitor: Client, port: FakePort) -> None:
    made = make(visitor, template="flights")
    assert set(made) == {"slug", "url", "token"}
    assert made["url"] == f"http://testserver/s/{made['slug']}/"
    assert made["token"].startswith("qv_")
    assert port.sandboxes == {made["slug"]: "live"}
    assert Sandbox.objects.get(slug=made["slug"]).template == "flights"


def test_a_token_is_kept_as_its_digest_only(visitor: Client) -> None:
    made = make(visitor)
    grant = Grant.objects.get(kind=Grant.Kind.TOKEN)
    assert grant.digest == digest(made["token"])
    assert made["token"] not in orjson.dumps(list(Grant.objects.values()), default=str).decode()


def test_a_token_opens_one_sandbox_only(visitor: Client, anonymous: Client) -> None:
    first, second = make(visitor), make(visitor)
    Sandbox.objects.update(visibility=Sandbox.Visibility.PRIVATE)
    assert anonymous.get(f"/api/sandboxes/{first['slug']}", headers=bearer(first["token"])).status_code == 200
    assert anonymous.get(f"/api/sandboxes/{second['slug']}", headers=bearer(first["token"])).status_code == 404


def test_a_wrong_token_gets_no_more_than_the_address_gives(visitor: Client, anonymous: Client) -> None:
    slug = make(visitor)["slug"]
    fields = {"action": "CrashActor", "actor": "A"}
    answer = anonymous.post(f"/api/sandboxes/{slug}/actions", fields, content_type=JSON, headers=bearer("qv_wrong"))
    assert answer.status_code == 403
    assert "token" in answer.json()["error"]
    assert answer.json()["hint"]


def test_a_revoked_token_is_a_wrong_one(visitor: Client, anonymous: Client) -> None:
    made = make(visitor)
    Sandbox.objects.update(visibility=Sandbox.Visibility.PRIVATE)
    visitor.post(f"/s/{made['slug']}/keep/revoke/")
    assert anonymous.get(f"/api/sandboxes/{made['slug']}", headers=bearer(made["token"])).status_code == 404


def test_a_bearer_request_ignores_cookies(visitor: Client) -> None:
    slug = make(visitor)["slug"]
    Sandbox.objects.update(visibility=Sandbox.Visibility.PRIVATE)
    assert visitor.get(f"/api/sandboxes/{slug}").status_code == 200
    assert visitor.get(f"/api/sandboxes/{slug}", headers=bearer("qv_wrong")).status_code == 404


def test_the_snapshot_has_the_shape_of_the_catalogue(visitor: Client) -> None:
    slug = make(visitor)["slug"]
    snapshot = visitor.get(f"/api/sandboxes/{slug}").json()
    assert {
        "sandbox",
        "epoch",
        "seq",
        "at_ms",
        "wall_ms",
        "rate",
        "rate_pinned",
        "name_servers",
        "brokers",
        "topics",
        "producers",
        "groups",
    } <= set(snapshot)
    assert {"slug", "name", "template", "preset", "state", "expires_at"} <= set(snapshot["sandbox"])
    assert snapshot["seq"] == "18402"


def test_an_action_answers_with_the_number_of_its_event(visitor: Client, port: FakePort) -> None:
    slug = make(visitor)["slug"]
    fields = {"action": "CrashActor", "actor": "A"}
    answer = visitor.post(f"/api/sandboxes/{slug}/actions", fields, content_type=JSON)
    assert answer.status_code == 200
    assert answer.json() == {"seq": "18431"}
    (where, action, by) = port.acted[0]
    assert (where, action, by.role) == (slug, CrashActor(actor="A"), "owner")


def test_rows_travel_typed_through_an_action(visitor: Client, port: FakePort) -> None:
    slug = make(visitor)["slug"]
    rows = [{"key": "k1", "tag": "t", "body": "b", "born_ms": 2**60}]
    visitor.post(
        f"/api/sandboxes/{slug}/actions", {"action": "SendMessages", "topic": "orders", "rows": rows}, content_type=JSON
    )
    sent = port.acted[0][1]
    assert isinstance(sent, SendMessages)
    assert sent.rows[0].born_ms == 2**60


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"action": "FlyAway"}, "action"),
        ({"action": "CrashActor"}, "actor"),
        ({"action": "CrashActor", "actor": "A", "colour": 1}, "colour"),
        ({}, "action"),
    ],
)
def test_a_bad_field_is_named(visitor: Client, fields: dict[str, Any], field: str) -> None:
    slug = make(visitor)["slug"]
    answer = visitor.post(f"/api/sandboxes/{slug}/actions", fields, content_type=JSON)
    assert answer.status_code == 422
    assert {"error", "hint", "field"} <= set(answer.json())
    assert answer.json()["field"] == field


def test_the_engine_s_refusal_keeps_its_status_and_details(visitor: Client, port: FakePort) -> None:
    slug = make(visitor)["slug"]
    port.refuse["act"] = ActionRefused(
        409, "{group} has members online.", "Stop them first.", details={"rows": []}, group="order-svc"
    )
    answer = visitor.post(f"/api/sandboxes/{slug}/actions", {"action": "CrashActor", "actor": "A"}, content_type=JSON)
    assert answer.status_code == 409
    said = answer.json()
    assert said == {"error": "order-svc has members online.", "hint": "Stop them first.", "details": {"rows": []}}


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"x"', b"\xff\xfe", b""])
def test_malformed_json_is_answered_with_a_sentence(visitor: Client, body: bytes) -> None:
    slug = make(visitor)["slug"]
    for url in ("/api/sandboxes", f"/api/sandboxes/{slug}/actions"):
        answer = visitor.post(url, body, content_type=JSON)
        assert answer.status_code in (400, 422)
        assert {"error", "hint"} <= set(answer.json())


def test_a_form_of_another_site_cannot_post_to_the_api(visitor: Client) -> None:
    answer = visitor.post("/api/sandboxes", b'{"template": "flights"}', content_type="text/plain")
    assert answer.status_code == 415
    assert not Sandbox.objects.exists()


def test_a_request_with_cookies_needs_the_csrf_token(port: FakePort, db: None) -> None:
    strict = Client(enforce_csrf_checks=True)
    made = make(strict)
    url, fields = f"/api/sandboxes/{made['slug']}/actions", {"action": "CrashActor", "actor": "A"}
    strict.cookies["sessionid"] = "anything"
    assert strict.post(url, fields, content_type=JSON).status_code == 403
    assert strict.post(url, fields, content_type=JSON, headers=bearer(made["token"])).status_code == 200


def test_events_are_one_json_object_a_line(visitor: Client, port: FakePort) -> None:
    slug = make(visitor)["slug"]
    port.rows = [{"seq": str(n), "at_ms": n, "type": "ClockChanged", "cause": None} for n in range(2_500)]
    answer = visitor.get(f"/api/sandboxes/{slug}/events?after=9")
    assert answer["Content-Type"] == "application/x-ndjson"
    rows = [orjson.loads(line) for line in answer.content.splitlines()]
    assert [int(row["seq"]) for row in rows] == list(range(10, 2_500))


def test_events_end_after_ten_thousand_lines(visitor: Client, port: FakePort) -> None:
    slug = make(visitor)["slug"]
    port.rows = [{"seq": str(n), "type": "ClockChanged"} for n in range(12_000)]
    assert len(visitor.get(f"/api/sandboxes/{slug}/events").content.splitlines()) == 10_000


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("asked", "given"), [(11_500, 11_500), (10_001, 10_001), (1_000_000, 12_000)])
async def test_a_download_is_as_long_as_the_journal(port: FakePort, asked: int, given: int) -> None:
    slug = await sync_to_async(lambda: make(Client())["slug"])()
    port.rows = [{"seq": str(n), "type": "ClockChanged"} for n in range(12_000)]
    answer = await AsyncClient().get(f"/api/sandboxes/{slug}/events?most={asked}")
    lines = b"".join([page async for page in answer.streaming_content]).splitlines()
    assert [int(orjson.loads(line)["seq"]) for line in lines] == list(range(given))


@pytest.mark.django_db(transaction=True)
async def test_long_events_are_whole_for_a_client_that_unpacks_one_stream(port: FakePort) -> None:
    """Each page packed by itself is a stream of its own, and browsers leave all after the first out."""
    slug = (await sync_to_async(make)(Client()))["slug"]
    port.rows = [{"seq": str(n), "type": "ClockChanged"} for n in range(12_000)]
    answer = await AsyncClient().get(f"/api/sandboxes/{slug}/events?most=20000", headers={"Accept-Encoding": "gzip"})
    text = b"".join([page async for page in answer.streaming_content])
    if answer["Content-Encoding"] == "gzip":
        text = zlib.decompressobj(wbits=31).decompress(text)
    assert len(text.splitlines()) == 12_000


def test_trimmed_events_are_gone_and_say_where_the_journal_begins(visitor: Client, port: FakePort) -> None:
    slug = make(visitor)["slug"]
    port.first_seq = 500
    port.rows = [{"seq": str(n), "type": "ClockChanged"} for n in range(500, 510)]
    answer = visitor.get(f"/api/sandboxes/{slug}/events?after=100")
    assert answer.status_code == 410
    assert answer.json()["first_seq"] == "500"
    assert visitor.get(f"/api/sandboxes/{slug}/events?after=499").status_code == 200


def test_the_journal_is_read_backwards_page_by_page(visitor: Client, port: FakePort) -> None:
    slug = make(visitor)["slug"]
    port.rows = [{"seq": str(n), "type": "ActionTaken" if n % 10 == 0 else "PullAnswered", "n": n} for n in range(100)]
    page = visitor.get(f"/api/sandboxes/{slug}/journal?most=6").json()
    assert [row["seq"] for row in page["rows"]] == ["90", "80", "70", "60", "50", "40"]
    rest = visitor.get(f"/api/sandboxes/{slug}/journal?before={page['before']}").json()
    assert [row["seq"] for row in rest["rows"]] == ["30", "20", "10", "0"]
    assert rest["before"] is None


def test_the_journal_is_searched_in_the_reader_s_language(visitor: Client, port: FakePort) -> None:
    slug = make(visitor)["slug"]
    port.rows = [
        {"seq": "1", "type": "ActionTaken", "action": "CrashActor", "fields": {"actor": "A"}},
        {"seq": "2", "type": "MemberStateChanged", "state": "crashed"},
        {"seq": "3", "type": "MemberStateChanged", "state": "running"},
    ]

    def found(search: str, language: str = "en") -> list[str]:
        url, headers = f"/api/sandboxes/{slug}/journal", {"Accept-Language": language}
        answer = visitor.get(url, {"search": search}, headers=headers)
        return [row["seq"] for row in answer.json()["rows"]]

    assert found("crash") == ["2", "1"]
    assert found("崩溃") == []
    assert found("崩溃", "zh-hans") == ["2", "1"]
    assert found("member running") == ["3"]


@pytest.mark.parametrize("query", ["show=nothing", "before=x", "search=" + "x" * 201])
def test_what_is_no_question_to_the_journal_is_422(visitor: Client, query: str) -> None:
    slug = make(visitor)["slug"]
    assert visitor.get(f"/api/sandboxes/{slug}/journal?{query}").status_code == 422


def test_a_question_takes_its_fields_from_the_query(visitor: Client, port: FakePort) -> None:
    slug = make(visitor)["slug"]
    port.answers = {"rows": []}
    url = f"/api/sandboxes/{slug}/ask/plan-reset?group=g&topic=t&target=earliest&queues=broker-a:0,broker-a:1"
    assert visitor.get(url).json() == {"rows": []}
    assert port.asked == [PlanReset(group="g", topic="t", target="earliest", queues=("broker-a:0", "broker-a:1"))]


def test_an_unknown_question_is_404_and_names_the_known_ones(visitor: Client) -> None:
    slug = make(visitor)["slug"]
    answer = visitor.get(f"/api/sandboxes/{slug}/ask/meaning-of-life")
    assert answer.status_code == 404
    assert "plan-reset" in answer.json()["hint"]


@pytest.fixture
def one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the questions take."""
    for rate in (visitor_actions.ACTIONS, visitor_actions.QUESTIONS):
        monkeypatch.setattr(rate, "_now", lambda: 1.0)


def test_the_eleventh_action_in_a_second_is_too_many(visitor: Client, one_moment: None) -> None:
    slug = make(visitor)["slug"]
    url, fields = f"/api/sandboxes/{slug}/actions", {"action": "CrashActor", "actor": "A"}
    codes = [visitor.post(url, fields, content_type=JSON).status_code for _ in range(14)]
    assert codes == [200] * 10 + [429] * 4


def test_questions_have_a_rate_of_their_own(visitor: Client, one_moment: None) -> None:
    slug = make(visitor)["slug"]
    url = f"/api/sandboxes/{slug}/ask/route?topic=t"
    codes = [visitor.get(url).status_code for _ in range(14)]
    assert codes == [200] * 10 + [429] * 4


def test_the_sixth_sandbox_of_a_visitor_is_refused(visitor: Client) -> None:
    for _ in range(5):
        make(visitor)
    answer = visitor.post("/api/sandboxes", {"template": "flights"}, content_type=JSON)
    assert answer.status_code == 429
    assert answer.json()["hint"]


def test_an_unknown_template_is_refused_before_anything_is_made(visitor: Client) -> None:
    answer = visitor.post("/api/sandboxes", {"template": "castle"}, content_type=JSON)
    assert answer.status_code == 422
    assert answer.json()["field"] == "template"
    assert not Sandbox.objects.exists()


def test_unknown_and_private_answer_alike(visitor: Client, anonymous: Client) -> None:
    slug = make(visitor)["slug"]
    Sandbox.objects.update(visibility=Sandbox.Visibility.PRIVATE)
    private, unknown = (anonymous.get(f"/api/sandboxes/{name}") for name in (slug, "no-such-place"))
    assert private.status_code == unknown.status_code == 404
    assert private.content == unknown.content


def test_a_silent_engine_is_503_with_a_sentence(visitor: Client, port: FakePort) -> None:
    slug = make(visitor)["slug"]
    port.silent.add("snapshot")
    answer = visitor.get(f"/api/sandboxes/{slug}")
    assert answer.status_code == 503
    assert {"error", "hint"} == set(answer.json())


def test_our_own_mistake_shows_no_traceback(visitor: Client, port: FakePort, caplog: pytest.LogCaptureFixture) -> None:
    slug = make(visitor)["slug"]
    broken: Future[Any] = Future()
    broken.set_exception(RuntimeError("secret detail"))
    port.snapshot = lambda slug: broken  # type: ignore[method-assign]
    visitor.raise_request_exception = False
    answer = visitor.get(f"/api/sandboxes/{slug}")
    assert answer.status_code == 500
    assert b"secret detail" not in answer.content
    assert b"Traceback" not in answer.content
    assert "secret detail" in caplog.text


def test_sandboxes_sleep_and_wake_by_the_api(visitor: Client, anonymous: Client, port: FakePort) -> None:
    made = make(visitor)
    url = f"/api/sandboxes/{made['slug']}"
    assert anonymous.post(f"{url}/sleep", content_type=JSON).status_code == 403
    slept = anonymous.post(f"{url}/sleep", content_type=JSON, headers=bearer(made["token"]))
    assert slept.json() == {"state": "asleep"}
    assert port.sandboxes[made["slug"]] == "asleep"
    assert anonymous.post(f"{url}/wake", content_type=JSON, headers=bearer(made["token"])).json() == {"state": "live"}


def test_the_api_page_needs_no_other_host(visitor: Client) -> None:
    page = visitor.get("/api/docs")
    assert page.status_code == 200
    assert b"://" not in page.content.replace(b"http://testserver", b"")
    assert "script-src 'self'" in page["Content-Security-Policy"]
    paths = visitor.get("/api/openapi.json").json()["paths"]
    assert {
        "/api/sandboxes",
        "/api/sandboxes/{slug}",
        "/api/sandboxes/{slug}/actions",
        "/api/sandboxes/{slug}/events",
        "/api/sandboxes/{slug}/journal",
        "/api/sandboxes/{slug}/ask/{name}",
    } <= set(paths)


def test_limits_are_those_of_the_catalogue() -> None:
    assert ownership.LIMITS.sandboxes_per_visitor == 5
    assert ownership.LIMITS.creations_per_hour_per_visitor == 20
    assert ownership.LIMITS.creations_per_hour_per_address == 320


def test_the_place_is_taken_before_the_sandbox_is_made(
    visitor: Client, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    make_it = port.create

    def create(*args: Any, **more: Any) -> Future[Any]:
        taken.append(AuditRecord.objects.filter(what="create").count())
        return make_it(*args, **more)

    monkeypatch.setattr(port, "create", create)
    make(visitor)
    assert taken == [1], "many at once cannot all be the last that fits"


def test_a_start_that_failed_gives_its_place_back(
    visitor: Client, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: Future[Any] = Future()
    failed.set_exception(ActionRefused(503, "There is no room now.", "Try again later."))
    monkeypatch.setattr(port, "create", lambda *args, **more: failed)
    assert visitor.post("/api/sandboxes", {"template": "flights"}, content_type=JSON).status_code == 503
    assert not AuditRecord.objects.filter(what="create").exists()


def test_another_method_is_refused_with_a_sentence(visitor: Client) -> None:
    answer = visitor.get("/api/sandboxes")
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"
    assert answer.json() == {"error": "GET is not allowed here.", "hint": "Allowed: POST."}
