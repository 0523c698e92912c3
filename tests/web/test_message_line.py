"""Whom the life of a message names: an actor by its label, a client that is none of ours by its id."""

from typing import Any

import pytest

from queueviz.boards.message_life import groups_of, line_of

MESSAGE = {"born_ms": 10, "store_ms": 12, "born_host": "1.1.1.1:5"}
STEP = {"what": "stored", "store_ms": 12, "group": None}


def life(**group: Any) -> dict[str, Any]:
    return {"chain": [STEP], "groups": [{"group": "g", "state": "waits", **group}]}


@pytest.mark.parametrize(("actor", "who"), [("A", "A"), (None, "id-1")])
def test_a_pull_and_a_delivery_name_the_actor_or_else_the_client(actor: str | None, who: str) -> None:
    member = {"actor": actor, "client_id": "id-1", "step": 0, "seq": 1}
    pull = {**member, "at_ms": 20, "what": "pulled"}
    given = {**member, "started_ms": 21, "ended_ms": 25, "once": False, "outcome": None, "thread": 1, "batch": 1}
    found = line_of(MESSAGE, life(pulls=[pull], deliveries=[given]), 30)
    assert [(row["what"], row["who"]) for row in found if row["group"] == "g"] == [("pulled", who), ("given", who)]


@pytest.mark.parametrize(
    ("place", "reader"),
    [
        ({"member": "A@1", "owner": None}, "A"),
        ({"member": None, "owner": "B@1"}, "B@1"),
        ({"member": "A@1", "owner": "B@1"}, "A"),
        ({"member": None, "owner": None}, None),
    ],
)
def test_a_place_names_the_member_that_reads_it_or_else_its_owner(place: dict[str, Any], reader: str | None) -> None:
    found = groups_of(life(places=[{**place, "state": "unread", "step": 0}]), {"A@1": "A"})
    assert found is not None
    assert found[0]["places"][0]["reader"] == reader
