"""The web on the engine itself: what a visitor does happens, and what happened is seen."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.test import Client

from queueviz import engine
from queueviz.asgi import application
from queueviz.live.consumers import SUBPROTOCOL
from queueviz.pages import page_snapshot
from tests.patience import PATIENCE_S
from tests.web.engine_calls import HTMX, JSON, act, events, start

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "template", ["empty", "flights", "orders", "payments", "cluster", "shrink", "index", "retries"]
)
def test_every_template_opens_and_shows_its_board(real_engine: Any, template: str) -> None:
    client = Client()
    slug = start(client, template)
    snapshot = client.get(f"/api/sandboxes/{slug}").json()
    assert snapshot["sandbox"]["template"] == template
    assert snapshot["sandbox"]["state"] == "live"
    page = client.get(f"/s/{slug}/")
    assert page.status_code == 200
    boards = [name for name in page.context["live"]["first"] if name.startswith(f"board/{slug}/")]
    assert len(boards) == bool(snapshot["topics"])
    drawn = page.context["queues"]
    assert len(drawn) == sum(
        len(topic["queues"]) for topic in snapshot["topics"] if topic["topic"] == page.context["topic"]
    )
    if not snapshot["groups"]:
        assert {(queue.row["committed"], queue.lag) for queue in drawn} <= {(None, None)}


def test_an_action_s_event_carries_its_number_and_its_effects_name_it(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "orders")
    seq = act(client, slug, action="CrashActor", actor="A")
    after = events(client, slug, seq - 1)
    assert (after[0]["type"], after[0]["seq"], after[0]["action"]) == ("ActionTaken", str(seq), "CrashActor")
    assert after[0]["by"].startswith("owner")
    effects = [row["type"] for row in after if row["cause"] == str(seq)]
    assert "MemberStateChanged" in effects


def test_event_numbers_rise_and_are_never_reused_over_a_sleep(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "orders")
    url = f"/api/sandboxes/{slug}"
    assert client.post(f"{url}/sleep", content_type=JSON).status_code == 200
    refused = client.post(f"{url}/actions", {"action": "CrashActor", "actor": "A"}, content_type=JSON)
    assert refused.status_code == 503
    assert refused.json()["hint"]
    asleep = events(client, slug)
    assert client.get(f"/s/{slug}/part/board/").status_code == 200, "a sleeping board is still shown"
    assert client.post(f"{url}/wake", content_type=JSON).status_code == 200
    woken = events(client, slug)
    numbers = [int(row["seq"]) for row in woken]
    assert numbers == sorted(set(numbers))
    assert woken[: len(asleep)] == asleep
    assert {"SandboxSlept", "SandboxWoken"} <= {row["type"] for row in woken}


def test_a_form_and_the_api_do_the_same(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "empty")
    form = {"action": "CreateTopic", "topic": "by-form", "write_queues": "4", "read_queues": "4"}
    assert client.post(f"/s/{slug}/actions/", form, headers=HTMX).status_code == 204
    act(client, slug, action="CreateTopic", topic="by-api", write_queues=4, read_queues=4)
    topics = {row["topic"]: row for row in client.get(f"/api/sandboxes/{slug}").json()["topics"]}
    by_form, by_api = topics["by-form"], topics["by-api"]
    assert {k: v for k, v in by_form.items() if k != "topic"} == {k: v for k, v in by_api.items() if k != "topic"}


def test_a_refusal_of_the_engine_names_field_and_way_out(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "orders")
    answer = client.post(
        f"/api/sandboxes/{slug}/actions", {"action": "CrashActor", "actor": "nobody"}, content_type=JSON
    )
    assert answer.status_code in (404, 422)
    assert "nobody" in answer.json()["error"]


def test_health_reports_what_the_engine_carries(real_engine: Any) -> None:
    client = Client()
    start(client, "empty")
    said = client.get("/healthz")
    assert said.status_code == 200
    assert (said.json()["awake"], said.json()["known"]) == (1, 1)
    assert said.json()["fds"] < said.json()["fd_limit"]
    assert "sandboxes" not in said.json()


def test_the_landing_opens_with_the_first_visit(real_engine: Any) -> None:
    page = Client().get("/")
    assert page.status_code == 200
    assert engine.answer(real_engine.status())["sandboxes"]["landing"]["state"] == "live"


def test_a_sandbox_that_cannot_be_made_leaves_nothing_behind(real_engine: Any) -> None:
    client = Client()
    assert client.post("/api/sandboxes", {"template": "castle"}, content_type=JSON).status_code == 422
    assert engine.answer(real_engine.status())["sandboxes"] == {}


def test_a_deleted_sandbox_is_gone_from_the_disk(real_engine: Any, settings: Any) -> None:
    client = Client()
    slug = start(client, "empty")
    assert (settings.QUEUEVIZ_HOME / "sandboxes" / slug).is_dir()
    client.post(f"/s/{slug}/keep/delete/")
    assert not (settings.QUEUEVIZ_HOME / "sandboxes" / slug).exists()
    assert page_snapshot.HOST_CAN["see"] is True


async def _until(tab: WebsocketCommunicator, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            message = orjson.loads(await tab.receive_from(timeout=PATIENCE_S))
            if wanted(message):
                return dict(message)


async def test_a_crash_is_seen_by_a_watching_tab(real_engine: Any) -> None:
    client = Client()
    slug = await sync_to_async(start)(client, "orders")
    headers = [(b"origin", b"http://testserver"), (b"host", b"testserver")]
    tab = WebsocketCommunicator(application, "/ws/live/", headers=headers, subprotocols=[SUBPROTOCOL])
    await tab.connect(timeout=PATIENCE_S)
    for ch, after in ((f"board/{slug}/order-svc/orders", None), (f"facts/{slug}", "0")):
        await tab.send_to(text_data=orjson.dumps({"k": "sub", "ch": ch, "after": after}).decode())
    first = await _until(tab, lambda frame: frame["k"] == "snap")
    victim = next(name for name, row in first["data"]["members"].items() if row["actor"] == "A")
    seq = await sync_to_async(act)(client, slug, action="CrashActor", actor="A")
    seen: set[str] = set()  # board and facts are two channels: either may be first

    def reported(frame: dict[str, Any]) -> bool:
        if frame["k"] == "delta" and (frame["set"].get("members", {}).get(victim) or {}).get("state") == "crashed":
            seen.add("board")
        if any((row["seq"], row["type"]) == (str(seq), "ActionTaken") for row in frame.get("rows", ())):
            seen.add("facts")
        return seen == {"board", "facts"}

    await _until(tab, reported)
    await tab.disconnect()


@pytest.mark.seed("0.9")
def test_the_index_page_reckons_where_a_position_lies(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "index")
    page = client.get(f"/s/{slug}/index/").content.decode()
    assert 'hx-get="/s/' + slug + '/ask/locate/"' in page
    fields = {"broker": "broker-a", "physical_offset": "1073742827", "file_bytes": str(1 << 30)}
    answer = client.get(f"/s/{slug}/ask/locate/", fields)
    text = answer.content.decode().replace("\u2009", "")
    assert "00000000001073741824" in text
    assert "1073742827 − 1073741824 = 1003" in text
    chinese = client.get(f"/s/{slug}/ask/locate/", fields, headers={"accept-language": "zh-Hans"})
    assert "第 2 个文件" in chinese.content.decode()
    refused = client.get(f"/s/{slug}/ask/locate/", {**fields, "physical_offset": "here"})
    assert refused.status_code == 422


def test_a_sandbox_is_shown_as_it_was_at_an_event(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "orders")
    before = client.get(f"/api/sandboxes/{slug}/state").json()
    act(client, slug, action="CrashActor", actor="A")
    seq = act(client, slug, action="CreateTopic", topic="later")
    found = client.get(f"/api/sandboxes/{slug}/state?at={before['seq']}").json()
    assert found == before
    assert found["snapshot"]["seq"] == before["seq"]
    assert {"topic": "later"} not in [{"topic": topic["topic"]} for topic in found["snapshot"]["topics"]]
    engine.answer(engine.port().sleep(slug, "test"))
    assert client.get(f"/api/sandboxes/{slug}/state?at={seq}").json()["seq"] == str(seq)
    engine.answer(engine.port().wake(slug), 10)
    changed = client.get(f"/api/sandboxes/{slug}/changes?from={before['seq']}").json()
    assert changed["from"] == before["seq"]
    assert changed["keyframes"][0] == before["keyframe"]
    assert ("topics/later", None, None, "later", False) in [tuple(row.values()) for row in changed["rows"]]
    refused = client.get(f"/api/sandboxes/{slug}/state?at=999999")
    assert refused.status_code == 422
    assert refused.json()["error"].startswith("Event 999999 does not exist: the newest is ")
    assert client.get(f"/api/sandboxes/{slug}/state?at=x").status_code == 422


def test_what_followed_a_crash_is_said_in_words(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "orders")
    answer = client.post(f"/s/{slug}/actions/", {"action": "CrashActor", "actor": "A"}, headers=HTMX)
    acted = orjson.loads(answer["HX-Trigger"])["queueviz:acted"]
    assert acted["follow"] is True
    page = client.get(f"/s/{slug}/ask/what-followed/?seq={acted['seq']}").content.decode()
    assert "A crashed." in page
    sent = client.post(f"/s/{slug}/actions/", {"action": "SendMessages", "topic": "orders", "count": 1}, headers=HTMX)
    assert orjson.loads(sent["HX-Trigger"])["queueviz:acted"]["follow"] is False
