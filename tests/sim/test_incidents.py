"""Each incident of the gallery, played from its recipe: the journal shows what its text says."""

from statistics import median

import pytest

from sandbox.control.actions import name_of
from sandbox.control.rights import allows
from sandbox.journal.events import (
    FlowControlChanged,
    MemberStateChanged,
    MessagesConsumed,
    MessagesStored,
    OffsetCommitted,
    OffsetMoved,
    OffsetsReset,
    QueuesAssigned,
)
from sandbox.labs.catalogue import LABS
from sandbox.labs.evidence import queue_of
from sandbox.labs.evidence_measures import finished_twice, out_of_order
from sandbox.labs.incidents import (
    INCIDENTS,
    lost_subscription,
    lost_with_the_master,
    more_members_than_queues,
    one_client_id_twice,
    overtaken_by_retention,
    rebalance_storm,
    retries_pile_up,
    with_seed,
)
from sandbox.labs.incidents.hot_queue import hottest_percent
from sandbox.labs.incidents.incident import SEED
from sandbox.labs.incidents.moments import given_again, lag_at
from tests.sim.incident_stage import LIMITS, Played, play, played

SLOW = {"rebalance-storm", "member-holds-back", "more-members-than-queues"}  # marked wide


def lag(run: Played, slug: str, seq: int) -> int:
    incident = INCIDENTS[slug]
    return lag_at(run.evidence, incident.group, incident.topic, seq)


def test_there_are_thirteen_each_with_a_lab_and_what_an_owner_may_do() -> None:
    assert len(INCIDENTS) == 13
    for slug, incident in INCIDENTS.items():
        assert incident.lab in LABS
        assert incident.slug == slug
        assert with_seed(incident.seed) is incident
        assert 3 <= len(incident.markers) <= LIMITS.share_notes
        assert any(marker.question for marker in incident.markers)
        assert not any("{" in marker.question for marker in incident.markers), "a question is shown as it is written"
        assert [one.at_ms for one in incident.done] == sorted(one.at_ms for one in incident.done)
        assert all(allows("owner", one.action) for one in incident.done), [name_of(one.action) for one in incident.done]
    assert with_seed(f"{SEED}none") is None


@pytest.mark.parametrize(
    "slug", [pytest.param(slug, marks=pytest.mark.wide) if slug in SLOW else slug for slug in INCIDENTS]
)
def test_every_marker_is_found_in_its_order_and_nothing_is_refused(slug: str) -> None:
    run = played(slug)
    assert [note.title for note in run.noted.notes] == [marker.title for marker in INCIDENTS[slug].markers]
    assert all(note.text.format(**note.values) for note in run.noted.notes)
    assert run.refused == []


def test_played_again_the_journal_is_the_same() -> None:
    slug = "duplicates-after-a-restart"
    assert play(slug).rows == played(slug).rows


def test_lag_after_a_deploy_is_of_a_slower_handler() -> None:
    slug = "lag-after-a-deploy"
    run = played(slug)
    before, after = lag(run, slug, run.seq("The deploy")), lag(run, slug, run.seq("Roll back"))
    assert after > 10 * max(1, before)
    assert run.note("Caught up").values["lag"] < after / 5
    took_ms = {
        handler: [row.at_ms - row.started_ms for row in run.evidence.deliveries_of("billing") if row.handler == handler]
        for handler in ("work", "v2")
    }
    assert median(took_ms["v2"]) > 5 * median(took_ms["work"])


def test_a_killed_member_repeats_what_it_had_not_committed_and_a_stopped_one_nothing() -> None:
    run = played("duplicates-after-a-restart")
    again = finished_twice(run.evidence.deliveries_of("mailer"))
    killed, stopped = run.seq("The kill"), run.seq("A clean stop")
    assert 10 <= len(again) <= run.note("The total").values["count"]
    assert all(killed < row.seq < stopped for row in again)
    assert not [row for row in given_again(run.evidence, "mailer", "receipts") if row.seq > stopped]


def test_one_queue_of_an_orderly_group_stands_while_the_others_move() -> None:
    run = played("one-queue-stuck")
    failed, mended = run.seq("First failure"), run.seq("Handler fixed")
    assert run.at_ms("Handler fixed") - run.at_ms("First failure") > 60_000
    moved = {
        queue_of(seen.event)
        for seen in run.evidence.of(OffsetCommitted)
        if seen.event.topic == "bookings" and run.seq("Offset blocked") < seen.seq < mended
    }
    stuck = f"bookings/broker-a/{run.note('First failure').values['queue'].removeprefix('q')}"
    assert moved == set(run.evidence.queues_of("bookings")) - {stuck}
    assert failed < run.seq("Lag grows") < mended
    assert out_of_order(run.evidence.deliveries_of("ledger")) == []


def test_with_two_subscriptions_messages_reach_no_member_and_are_committed() -> None:
    run = played("lost-subscription")
    numbers = lost_subscription.missing_gifts(run.evidence)
    assert len(numbers) > 100
    assert run.evidence.lag("fulfilment", "orders") < 20
    assert run.note("Gift orders again").values["count"] == len(numbers)


def test_retention_deletes_what_a_slow_group_has_not_read() -> None:
    run = played("retention-overtakes-a-slow-group")
    [moved, *_] = [seen.event for seen in run.evidence.of(OffsetMoved) if seen.event.group == "archiver"]
    assert moved.given - moved.asked > 100
    done = {row.offset for row in run.evidence.deliveries_of("archiver") if row.outcome == "SUCCESS"}
    assert not done & set(range(moved.asked, moved.given))
    leap = overtaken_by_retention.leap(run.evidence)
    assert leap is not None
    assert leap.values["lost"] > moved.given - moved.asked


def test_a_reset_to_the_wrong_time_repeats_everything() -> None:
    run = played("reset-gone-wrong")
    first, second = [seen.event for seen in run.evidence.of(OffsetsReset)]
    assert {after for _queue, _before, after in first.rows} == {0}
    assert first.replayed > 5 * 100  # of ten seconds at ten a second
    assert second.skipped > second.replayed
    twice = finished_twice(run.evidence.deliveries_of("loyalty"))
    assert len(twice) > 100
    assert min(row.seq for row in twice) > run.seq("The reset")


def test_two_members_with_one_client_id_read_the_same_half() -> None:
    run = played("one-client-id-twice")
    copied, stopped = run.seq("Scale-out"), run.seq("Copy stopped")
    idle = one_client_id_twice.unread(run.evidence)
    assert len(idle) == 2
    again = [row for row in given_again(run.evidence, "invoicing", "invoices") if row.seq > copied]
    assert len(again) > 100
    assert {int(row.queue.rpartition("/")[2]) for row in again if row.seq < stopped} == set(range(4)) - idle
    commits = [
        seen.event
        for seen in run.evidence.of(OffsetCommitted)
        if seen.event.topic == "invoices" and run.seq("Half of the queues wait") < seen.seq < stopped
    ]
    assert {event.queue_id for event in commits} == set(range(4)) - idle
    assert lag(run, "one-client-id-twice", stopped) > 80
    last = {
        seen.event.client_id: seen.event for seen in run.evidence.of(QueuesAssigned) if seen.event.topic == "invoices"
    }
    assert [len(event.queues) for event in last.values()] == [2, 2]
    assert len({queue for event in last.values() for queue in event.queues}) == 4


@pytest.mark.wide
def test_members_beyond_the_queues_get_none_until_there_are_more_queues() -> None:
    slug = "more-members-than-queues"
    run = played(slug)
    counts: dict[str, int] = {}
    for seen in more_members_than_queues.divisions(run.evidence):
        if seen.seq < run.seq("More queues"):
            counts[seen.event.client_id] = len(seen.event.queues)
    assert sorted(counts.values()) == [0, 0, 0, 0, 1, 1, 1, 1]
    assert lag(run, slug, run.seq("More queues")) > 2 * lag(run, slug, run.seq("Idle"))
    last = {seen.event.client_id: len(seen.event.queues) for seen in more_members_than_queues.divisions(run.evidence)}
    assert list(last.values()) == [1] * 8
    assert any(seen.event.queues for seen in run.evidence.of(QueuesAssigned, since=run.seq("More queues")))


def test_a_hot_queue_gets_most_and_an_even_key_ends_that() -> None:
    slug = "hot-queue"
    run = played(slug)
    hot = hottest_percent(run.evidence, run.seq("A big customer"), run.seq("Another key"))
    even = hottest_percent(run.evidence, run.seq("Another key") + 100, run.rows[-1]["seq"])
    assert hot > 60
    assert even < 35
    assert lag(run, slug, run.seq("Another key")) > 2 * lag(run, slug, run.seq("Scale-out"))


@pytest.mark.wide
def test_a_full_member_stops_pulling_and_goes_on_by_itself() -> None:
    run = played("member-holds-back")
    held, let_go = [seen for seen in run.evidence.of(FlowControlChanged) if seen.event.group == "indexer"][:2]
    assert (held.event.limit, let_go.event.limit) == ("count", None)
    assert held.event.value > held.event.allowed
    pulled = sum(
        row["count"]
        for row in run.rows
        if row["type"] == "PullAnswered"
        and row["topic"] == "documents"
        and run.seq("Lag") < row["seq"] < run.seq("Fast again")
    )
    finished = [
        row for row in run.evidence.deliveries_of("indexer") if run.seq("Lag") < row.seq < run.seq("Fast again")
    ]
    assert pulled <= len(finished) + 64
    ended = {"crashed", "stopped"}
    assert not [seen for seen in run.evidence.of(MemberStateChanged) if seen.event.state in ended]


def test_a_dead_master_takes_answered_messages_that_were_not_read() -> None:
    run = played("lost-with-the-master")
    lost = run.note("Offsets assigned twice").values["lost"]
    assert lost > 40
    stored = sum(
        seen.event.count
        for seen in run.evidence.of(MessagesStored, since=run.seq("Link cut"))
        if seen.seq < run.seq("Power cut")
    )
    assert stored == pytest.approx(lost, abs=2)
    failed = [row for row in run.rows if row["type"] == "SendFailed"]
    assert run.seq("Power cut") < min(row["seq"] for row in failed)
    assert len(lost_with_the_master.missing(run.evidence)) > lost - 10


@pytest.mark.wide
def test_a_rolling_restart_moves_fewer_queues_by_consistent_hashing() -> None:
    run = played("rebalance-storm")
    storm, calm = run.note("The storm").values, run.note("Fewer moves").values
    least = 2 * rebalance_storm.QUEUES  # each queue leaves its member and comes to one that is back
    assert storm["moves"] > 1.5 * least
    assert calm["moves"] < 0.75 * storm["moves"]
    assert calm["again"] < storm["again"]
    assert storm["first"] > rebalance_storm.QUEUES / len(rebalance_storm.MEMBERS)


def test_refused_messages_wait_for_their_retries_while_the_lag_is_nothing() -> None:
    slug = "retries-after-a-release"
    run = played(slug)
    mended = run.seq("Roll back")
    assert lag(run, slug, mended) < 5
    assert len(retries_pile_up.waiting(run.evidence, mended)) > 100
    between = [
        row
        for row in run.rows
        if row["type"] == MessagesConsumed.__name__ and run.seq("The release") + 1 < row["seq"] < mended
    ]
    assert {row["outcome"] for row in between} == {"LATER"}
    assert run.note("The last order").values["late_s"] >= 30
    assert retries_pile_up.waiting(run.evidence, run.seq("The last order")) == set()
