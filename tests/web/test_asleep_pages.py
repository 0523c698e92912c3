"""The pages of a sleeping sandbox: its last state, or that it is unknown; for those who may only look, too."""

from typing import Any

import pytest
from django.test import Client

from queueviz import engine
from tests.web.engine_calls import JSON, act, start
from tests.web.fake_port import FakePort
from tests.web.markup import compact

KILLED = "This sandbox is asleep because its server was killed. Its last state is unknown."


def text(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return compact(answer.content.decode())


@pytest.mark.django_db(transaction=True)
def test_a_viewer_sees_the_last_state_on_every_page(real_engine: Any) -> None:
    owner, viewer = Client(), Client()
    slug = start(owner, "flights")
    act(owner, slug, action="HangActor", actor="B")
    owner.post(f"/api/sandboxes/{slug}/sleep", content_type=JSON)
    board = viewer.get(f"/s/{slug}/")
    page = compact(board.content.decode())
    assert len(board.context["queues"]) == 8
    assert [member.member["letter"] for member in board.context["members"]] == ["A", "B", "C"]
    assert "You see its last state." in page
    assert "It wakes when a person who may change it opens it." in page
    assert "No consumer yet" not in page
    assert "so no client is running" not in text(viewer, f"/s/{slug}/clients/B/")
    for tab in ("groups", "rebalance", "locks", "store", "index", "topology", "topics", "findings"):
        assert "last state of this sandbox is unknown" not in text(viewer, f"/s/{slug}/{tab}/"), tab
    lag = viewer.get(f"/api/sandboxes/{slug}/ask/recent-lag?group=gate-display&topic=flights").json()
    assert len(lag["queues"]) == 8
    assert engine.answer(engine.port().status())["sandboxes"][slug]["state"] == "asleep", "looking does not wake it"


@pytest.mark.django_db
def test_after_a_kill_nothing_is_said_of_queues_and_members(visitor: Client, port: FakePort, mine: str) -> None:
    port.sandboxes[mine] = "asleep"
    port.killed.add(mine)
    for tab in ("", "groups/", "findings/", "locks/"):
        page = text(Client(), f"/s/{mine}/{tab}")
        assert KILLED in page, tab
        assert "The last state of this sandbox is unknown. The Journal has its events." in page, tab
        assert "No consumer yet" not in page
    assert Client().get(f"/s/{mine}/part/board/").status_code == 204, "a panel stays as it is"
