"""The Connect page: addresses, lines of code, who is connected and how far they got, and who may open the ports."""

import re
from typing import Any

import pytest
from django.test import Client

from queueviz.boards.connect_snippets import snippets
from queueviz.boards.connect_texts import LIMITS, MEANINGS
from queueviz.models import AuditRecord
from sandbox.control.readings import Reading
from sandbox.kernel.errors import ActionRefused
from sandbox.transport.tcp_guard import PENDING, REASONS
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db

AT_MS = 1_795_142_537_350
CLIENT = "10.1.2.3@4711"
CONNECTION = {
    "no": 1,
    "node": "broker-a",
    "address": "127.0.0.1:40001",
    "client_id": CLIENT,
    "opened_ms": AT_MS,
    "heard_ms": AT_MS + 900,
    "first_code": 105,
    "first": "GET_ROUTEINFO_BY_TOPIC",
    "first_ms": AT_MS + 10,
    "route": AT_MS + 10,
    "heartbeat": AT_MS + 20,
    "send": None,
    "pull": None,
    "unserved": ["403 403"],
    "denied": 2,
    "denial": "signature",
    "ended_ms": None,
    "why": None,
}
LISTENER = {
    "open": True,
    "state": "open",
    "name_servers": ["127.0.0.1:20000"],
    "shared": True,
    "rate": 1,
    "connections": 1,
    "beyond": False,
    "access_key": None,
}


def data(**more: Any) -> dict[str, Any]:
    return {
        "listener": LISTENER,
        "ports": {"127.0.0.1:20000": {"node": "broker-a", "state": "open", "trouble": None}},
        "connections": {"1": CONNECTION},
        "clients": {
            CLIENT: {
                "language": "CPP",
                "version": 232,
                "release": "4.1.0-SNAPSHOT",
                "groups": ["readers"],
                "addresses": ["127.0.0.1:40001"],
                "since_ms": AT_MS,
                "heard_ms": AT_MS,
            }
        },
        "refused": {
            "0": {
                "at_ms": AT_MS,
                "address": "127.0.0.1:40002",
                "reason": "protocol",
                "request_code": None,
                "request": None,
                "remark": "frame of 1195725856 bytes",
            }
        },
        "counts": {"connections": {"now": 1, "allowed": 32, "refused": 3}},
        **more,
    }


@pytest.fixture
def connected(visitor: Client, mine: str, port: FakePort) -> str:
    """A sandbox whose port is open, with one client connected."""
    port.boards[f"connect/{mine}"] = Reading(5, AT_MS + 1_000, 1, "7f3a", data())
    return mine


def page(client: Client, slug: str, **query: str) -> str:
    return client.get(f"/s/{slug}/connect/", query).content.decode()


def said(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_it_says_where_a_client_finds_the_sandbox(visitor: Client, connected: str) -> None:
    text = page(visitor, connected)
    assert '<code class="mono" id="servers">127.0.0.1:20000</code>' in text
    assert "Close the port" in text
    for language in ("Java", "Python", "Go", "Node"):
        assert f'id="code-{language}"' in text
    assert "setNamesrvAddr(&quot;127.0.0.1:20000&quot;)" in text
    assert "subscribe(&quot;orders&quot;, &quot;*&quot;)" in text
    assert "DefaultMQPushConsumer(&quot;order-svc&quot;)" in text


def test_the_code_names_the_topic_and_the_group_one_chooses(visitor: Client, connected: str) -> None:
    text = page(visitor, connected, topic="invoices", group="my-group")
    assert "subscribe(&quot;invoices&quot;, &quot;*&quot;)" in text
    assert "DefaultMQPushConsumer(&quot;my-group&quot;)" in text
    assert '<option value="my-group" selected>' in text


def test_several_name_servers_are_written_as_each_language_wants_them() -> None:
    by_language = {snippet.language: snippet.code for snippet in snippets(["1.1.1.1:1", "2.2.2.2:2"], "t", "g")}
    for language in ("Java", "Python", "Node"):
        assert '"1.1.1.1:1;2.2.2.2:2"' in by_language[language]
    assert '[]string{"1.1.1.1:1", "2.2.2.2:2"}' in by_language["Go"]


def test_stations_are_ticked_off_and_those_to_come_are_not(visitor: Client, connected: str) -> None:
    body = page(visitor, connected).split('data-list="connections"')[1].split("</tbody>")[0]
    assert re.findall(r'class="st( done)?"', body) == [" done"] * 4 + ["", ""]
    assert {"GET_ROUTEINFO_BY_TOPIC", "105", CLIENT, "broker-a", "02:42:17"} <= set(said(body).split())
    assert "403 403" in said(body)


def test_clients_and_refusals_are_reported_in_words(visitor: Client, connected: str) -> None:
    text = page(visitor, connected)
    clients = said(text.split('data-list="clients"')[1].split("</tbody>")[0])
    assert "CPP 4.1.0-SNAPSHOT readers 127.0.0.1:40001" in clients
    refused = said(text.split('data-list="refused"')[1].split("</ul>")[0])
    assert "127.0.0.1:40002 bytes that are not a frame frame of 1195725856 bytes" in refused
    assert "HTTP and RocketMQ 5" in refused
    assert "too many connections 1 32 3" in said(text.split('data-list="counts"')[1].split("</tbody>")[0])


def test_every_reason_of_a_refusal_has_words_and_says_what_to_do() -> None:
    assert set(LIMITS) == set(REASONS)
    assert set(MEANINGS) == set(REASONS) - {PENDING}, "the connection of such a request goes on"


def test_a_refusal_names_the_request_at_which_it_happened(visitor: Client, connected: str, port: FakePort) -> None:
    row = {
        "at_ms": AT_MS,
        "address": "127.0.0.1:40003",
        "reason": "idle",
        "request_code": 34,
        "request": "HEART_BEAT",
        "remark": "no traffic for too long",
    }
    port.boards[f"connect/{connected}"] = Reading(6, AT_MS + 1_000, 1, "7f3a", data(refused={"0": row}))
    refused = said(page(visitor, connected).split('data-list="refused"')[1].split("</ul>")[0])
    assert "no traffic for too long at the request HEART_BEAT" in refused
    assert "No traffic in either direction for 120 s." in refused


def test_of_a_sleeping_sandbox_there_is_the_address_and_a_closed_port(
    visitor: Client, port: FakePort, mine: str
) -> None:
    text = page(visitor, mine)
    assert '<code class="mono" id="servers">127.0.0.1:1</code>' in text
    assert "Open the port" in text
    assert "No client has connected yet" in text


@pytest.mark.parametrize(("operation", "verb"), [("listen", "open_listener"), ("unlisten", "close_listener")])
def test_the_owner_opens_and_closes_and_that_is_kept_on_record(
    visitor: Client, mine: str, operation: str, verb: str
) -> None:
    answer = visitor.post(f"/s/{mine}/keep/{operation}/")
    assert (answer.status_code, answer["Location"]) == (302, f"/s/{mine}/connect/")
    assert AuditRecord.objects.filter(slug=mine, what=operation).count() == 1


def test_a_port_that_is_taken_is_said_on_the_page(visitor: Client, mine: str, port: FakePort) -> None:
    port.refuse["open_listener"] = ActionRefused(
        409, "Port {port} of this machine is used by another program: {why}.", "End it.", port="20000", why="in use"
    )
    text = visitor.post(f"/s/{mine}/keep/listen/").content.decode()
    assert "Port 20000 of this machine is used by another program: in use." in text
    assert not AuditRecord.objects.filter(slug=mine, what="listen").exists()


def test_who_only_watches_opens_nothing(anonymous: Client, connected: str) -> None:
    text = page(anonymous, connected)
    button = text.split("Close the port")[0].rsplit("<button", 1)[1]
    assert "disabled" in button
    assert anonymous.post(f"/s/{connected}/keep/listen/").status_code == 403
    assert anonymous.post(f"/api/sandboxes/{connected}/listen", content_type="application/json").status_code == 403


def test_a_program_opens_it_with_its_token(visitor: Client, port: FakePort) -> None:
    made = visitor.post("/api/sandboxes", {"template": "empty"}, content_type="application/json").json()
    bearer = {"Authorization": f"Bearer {made['token']}"}
    address = f"/api/sandboxes/{made['slug']}"
    answer = Client().post(f"{address}/listen", content_type="application/json", headers=bearer)
    assert (answer.status_code, answer.json()) == (200, {"open": True, "name_servers": ["127.0.0.1:1"]})
    answer = Client().post(f"{address}/unlisten", content_type="application/json", headers=bearer)
    assert answer.json() == {"open": False, "name_servers": []}


def test_the_page_is_reached_from_the_cluster_the_topology_and_the_topics(visitor: Client, mine: str) -> None:
    for path in ("", "topology/", "topics/"):
        assert f'href="/s/{mine}/connect/"' in visitor.get(f"/s/{mine}/{path}").content.decode()


def test_keys_are_shown_once_and_the_secret_is_nowhere_else(visitor: Client, mine: str, port: FakePort) -> None:
    text = visitor.post(f"/s/{mine}/keep/keys/").content.decode()
    keys = port.keys[mine]
    assert f'<code id="secret-key">{keys.secret_key}</code>' in text
    assert keys.secret_key not in visitor.get(f"/s/{mine}/connect/").content.decode()
    [kept] = AuditRecord.objects.filter(slug=mine, what="keys")
    assert kept.details == {"access_key": keys.access_key}
    visitor.post(f"/s/{mine}/keep/keys/")
    assert port.keys[mine].secret_key != keys.secret_key
    assert visitor.post(f"/s/{mine}/keep/no-keys/").status_code == 302
    assert port.keys[mine] is None


def test_keys_that_must_stay_are_said_on_the_page(visitor: Client, mine: str, port: FakePort) -> None:
    port.refuse["set_keys"] = ActionRefused(
        409,
        "{address} is open to other machines without authentication.",
        "Create access keys first. Without them, only 127.0.0.1 can be open.",
        address="192.168.1.5:20000",
    )
    text = visitor.post(f"/s/{mine}/keep/no-keys/").content.decode()
    assert "192.168.1.5:20000 is open to other machines without authentication." in text


def test_who_only_watches_makes_no_keys(anonymous: Client, connected: str) -> None:
    assert "Create access keys" not in page(anonymous, connected)
    assert anonymous.post(f"/s/{connected}/keep/keys/").status_code == 403
    assert anonymous.post(f"/api/sandboxes/{connected}/keys", content_type="application/json").status_code == 403


@pytest.mark.parametrize(
    ("is_open", "repeatable", "said_it"), [(False, True, True), (False, False, False), (True, False, False)]
)
def test_before_a_port_opens_it_says_that_the_run_cannot_be_repeated_from_there(
    visitor: Client, mine: str, port: FakePort, is_open: bool, repeatable: bool, said_it: bool
) -> None:
    listener = {**LISTENER, "open": is_open, "repeatable": repeatable}
    port.boards[f"connect/{mine}"] = Reading(5, AT_MS, 1, "7f3a", data(listener=listener))
    assert (
        "it runs on machine time, and the run is not reproducible" in said(page(visitor, mine)).replace("&#x27;", "'")
    ) is said_it


def test_a_program_makes_keys_with_its_token(visitor: Client, port: FakePort) -> None:
    made = visitor.post("/api/sandboxes", {"template": "empty"}, content_type="application/json").json()
    bearer = {"Authorization": f"Bearer {made['token']}"}
    address = f"/api/sandboxes/{made['slug']}/keys"
    keys = Client().post(address, content_type="application/json", headers=bearer).json()
    assert keys == port.keys[made["slug"]]._asdict()
    assert Client().delete(address, headers=bearer).status_code == 204
    assert port.keys[made["slug"]] is None


def test_where_keys_are_wanted_the_lines_of_code_sign(visitor: Client, mine: str, port: FakePort) -> None:
    listener = {**LISTENER, "access_key": "qv-0123456789abcdef"}
    port.boards[f"connect/{mine}"] = Reading(5, AT_MS, 1, "7f3a", data(listener=listener))
    text = page(visitor, mine)
    assert "Create new keys" in text
    for signs in ("AclClientRPCHook", "set_session_credentials", "primitive.Credentials{", "accessKey:"):
        assert signs in text
    assert not any("qv-" in snippet.code for snippet in snippets(["127.0.0.1:20000"], "orders", "readers"))


def test_a_request_that_was_not_allowed_says_why_in_plain_words(visitor: Client, connected: str) -> None:
    text = said(page(visitor, connected))
    assert "2 the client&#x27;s secret key does not match the access key" in text
