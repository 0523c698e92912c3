"""Members with one client id: each has a lane to the queues they share, and events name them together."""

from typing import Any

from tests.drawings.modules import Modules

ID = "10.0.0.11@4001#1"


def member(letter: str, state: str = "running", queues: int = 2) -> dict[str, Any]:
    return {"letter": letter, "state": state, "queues": queues}


def lanes(modules: Modules, owner: str | None, *others: dict[str, Any]) -> Any:
    members = {ID: member("A"), **{f"{ID} {other['letter']}": other for other in others}, f"{ID}1": member("X")}
    data = {"queues": {"broker-a:0": {"owner": owner, "assigned": owner}}, "members": members}
    return [one["to"] for one in modules("lanes", "({ endsOf }, data) => endsOf('broker-a:0', data)", data)]


def test_a_queue_has_a_lane_to_each_of_them_that_reads(modules: Modules) -> None:
    assert lanes(modules, ID, member("B"), member("C", state="crashed"), member("D", queues=0)) == [ID, f"{ID} B"]
    assert lanes(modules, None, member("B")) == [None], "no member owns it"


def test_the_rest_have_one_lane(modules: Modules) -> None:
    assert lanes(modules, ID) == [ID]


def test_an_event_names_all_of_them(modules: Modules) -> None:
    members = {ID: member("A"), f"{ID} B": member("B"), "10.0.0.12@1#1": member("C")}
    named = "({ lettersOf }, members, id) => lettersOf(members, id)"
    assert [modules("names", named, members, key) for key in (ID, f"{ID} B", "10.0.0.12@1#1", "app@1")] == [
        "A/B",
        "B",
        "C",
        "",
    ]
