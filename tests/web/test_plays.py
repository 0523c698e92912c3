"""Places of runs that are played beside the server: no visitor has more than a part, and watchers give way."""

from collections.abc import Iterator

import pytest
from django.test import Client

from queueviz.links import reruns
from queueviz.links.reruns import MOST_EACH, SERVER, Holder, Play
from sandbox.kernel.errors import ActionRefused

PLACES = reruns.LIMITS.plays_at_once + reruns.LIMITS.plays_waiting


@pytest.fixture(autouse=True)
def _places(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """None is taken, and none is ever free to run."""
    monkeypatch.setattr(reruns, "_plays", type(reruns._plays)())
    monkeypatch.setattr(reruns, "_in_turn", lambda play: None)
    yield
    reruns._stop()


def begun(holder: Holder) -> Play:
    return reruns.begin(Play("s", "claim", [], {}, holder=holder))


def refused(holder: Holder) -> int:
    with pytest.raises(ActionRefused) as why:
        begun(holder)
    return why.value.status


def test_a_visitor_has_two_places_and_a_third_once_one_is_free() -> None:
    first, *_ = [begun(Holder("one")) for _ in range(MOST_EACH)]
    assert refused(Holder("one")) == 429
    first.cancel()
    begun(Holder("one"))


def test_all_who_may_only_watch_together_have_two_places() -> None:
    for number in range(MOST_EACH):
        begun(Holder(f"guest {number}", is_guest=True))
    assert refused(Holder("another guest", is_guest=True)) == 503


def test_where_all_places_are_taken_the_oldest_watcher_gives_way_to_who_may_act() -> None:
    oldest, newer = (begun(Holder(f"guest {number}", is_guest=True)) for number in range(2))
    for number in range(PLACES - 2):
        begun(Holder(f"owner {number}"))
    begun(Holder("one more"))
    assert (oldest.state, newer.state) == ("cancelled", "waiting")
    begun(Holder("and one more"))
    assert refused(Holder("too many")) == 503
    assert refused(SERVER) == 503


def test_who_only_watches_cannot_cancel_another_s_play(visitor: Client, anonymous: Client, mine: str) -> None:
    visitor.post(f"/s/{mine}/what-if/", {"mode": "seeds", "claim": "order-per-key"})
    [play] = reruns._plays.values()
    address = f"/s/{mine}/what-if/{play.id}/"
    assert (anonymous.post(address).status_code, play.state) == (403, "waiting")
    assert (visitor.post(address).status_code, play.state) == (302, "cancelled")


def test_who_only_watches_cancels_the_play_that_is_his_own(visitor: Client, anonymous: Client, mine: str) -> None:
    anonymous.post(f"/s/{mine}/what-if/", {"mode": "seeds", "claim": "order-per-key"})
    [play] = reruns._plays.values()
    assert play.holder.is_guest
    assert (anonymous.post(f"/s/{mine}/what-if/{play.id}/").status_code, play.state) == (302, "cancelled")
