"""Brokers of each topic as registrations come and go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.namesrv.route_info import RouteInfoManager
from sandbox.remoting.bodies import ClusterInfo, DataVersion, TopicConfig, TopicConfigTable
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.headers import RegisterBrokerHeader
from sandbox.sim.loop import SimLoop

A, SLAVE, B = "10.0.0.1:10911", "10.0.0.2:10911", "10.0.0.3:10911"


class Wire:
    """A connection of which only identity matters."""

    remote = "10.0.0.9:40000"
    is_open = True

    def send(self, command: RemotingCommand) -> None:
        raise AssertionError(f"nothing is said to a broker here, but {command}")

    def close(self, why: str = "closed") -> None:
        self.is_open = False


class Registrar:
    """Registers brokers in one call each."""

    def __init__(self) -> None:
        self.loop = SimLoop()
        self.routes = RouteInfoManager(ScaledClock(self.loop, start_ms=0))

    def register(
        self,
        broker: str,
        address: str,
        *topics: TopicConfig,
        broker_id: int = 0,
        version: int = 1,
        wire: Wire | None = None,
        cluster: str = "C",
    ) -> tuple[str, ...]:
        header = RegisterBrokerHeader(broker, address, cluster, f"ha-{address}", broker_id)
        table = TopicConfigTable(DataVersion(version, 0), {topic.topic: topic for topic in topics})
        self.last = self.routes.register(header, table, wire or Wire())
        return self.last.topics

    def brokers_of(self, topic: str) -> list[str]:
        route = self.routes.route(topic)
        return [row.broker for row in route.queues] if route else []


@pytest.fixture
def at() -> Registrar:
    return Registrar()


def test_a_route_has_a_row_per_broker_and_every_address(at: Registrar) -> None:
    at.register("a", A, TopicConfig("T", 4, 8))
    at.register("a", SLAVE, TopicConfig("T", 4, 8), broker_id=1)
    at.register("b", B, TopicConfig("T", 2, 2))
    route = at.routes.route("T")
    assert route is not None
    assert [(q.broker, q.read_queues, q.write_queues) for q in route.queues] == [("a", 4, 8), ("b", 2, 2)]
    assert [broker.addresses for broker in route.brokers] == [{0: A, 1: SLAVE}, {0: B}]


def test_no_one_has_an_unknown_topic(at: Registrar) -> None:
    assert at.routes.route("T") is None


def test_a_registration_merges_and_never_removes(at: Registrar) -> None:
    at.register("a", A, TopicConfig("T"), TopicConfig("U"))
    assert at.register("a", A, TopicConfig("V"), version=2) == ("V",)
    assert at.brokers_of("T") == ["a"]


def test_the_same_version_again_changes_nothing(at: Registrar) -> None:
    at.register("a", A, TopicConfig("T", 4, 4))
    assert at.register("a", A, TopicConfig("T", 8, 8)) == ()
    assert at.register("a", A, TopicConfig("T", 8, 8), version=2) == ("T",)


def test_only_the_masters_topics_count(at: Registrar) -> None:
    at.register("a", SLAVE, TopicConfig("T"), broker_id=1)
    assert at.routes.route("T") is None


def test_a_slave_learns_of_its_master(at: Registrar) -> None:
    at.register("a", A)
    at.register("a", SLAVE, broker_id=1)
    assert (at.last.master_address, at.last.master_ha_address) == (A, f"ha-{A}")


def test_an_address_that_comes_back_under_another_id_has_only_that(at: Registrar) -> None:
    at.register("a", A, broker_id=1)
    at.register("a", A, broker_id=0)
    assert at.routes.brokers["a"].addresses == {0: A}


def test_without_its_master_a_topic_stays_readable_at_the_slave(at: Registrar) -> None:
    at.register("a", A, TopicConfig("T"))
    at.register("a", SLAVE, TopicConfig("T"), broker_id=1)
    gone = at.routes.unregister("a", A, 0)
    assert gone is not None
    assert gone.topics == ("T",)
    route = at.routes.route("T")
    assert route is not None
    assert route.brokers[0].addresses == {1: SLAVE}


def test_with_the_last_address_queues_topic_and_cluster_go(at: Registrar) -> None:
    at.register("a", A, TopicConfig("T"))
    at.routes.unregister("a", A, 0)
    assert at.routes.route("T") is None
    assert (at.routes.topic_queues, at.routes.brokers, at.routes.clusters, at.routes.live) == ({}, {}, {}, {})


def test_a_goodbye_of_an_address_that_is_not_registered_is_ignored(at: Registrar) -> None:
    at.register("a", A, TopicConfig("T"))
    assert at.routes.unregister("a", B, 0) is None
    assert at.brokers_of("T") == ["a"]


def test_a_closed_connection_takes_its_broker_along(at: Registrar) -> None:
    wire = Wire()
    at.register("a", A, TopicConfig("T"), wire=wire)
    at.register("b", B, TopicConfig("T"))
    assert [(gone.broker, gone.topics) for gone in at.routes.channel_closed(wire)] == [("a", ("T",))]
    assert at.brokers_of("T") == ["b"]


def test_two_minutes_of_silence_are_allowed_and_no_more(at: Registrar) -> None:
    at.register("a", A, TopicConfig("T"))
    at.loop.run_for(120)
    assert at.routes.scan(120_000) == []
    at.loop.run_for(0.01)
    assert [gone.broker for gone, _ in at.routes.scan(120_000)] == ["a"]


def test_write_permission_is_wiped_until_the_next_changed_registration(at: Registrar) -> None:
    at.register("a", A, TopicConfig("T"), TopicConfig("U"))
    assert at.routes.set_write_permission("a", allowed=False) == ["T", "U"]
    assert at.routes.topic_queues["T"]["a"].permission == 4
    at.register("a", A, TopicConfig("T"))
    assert at.routes.topic_queues["T"]["a"].permission == 4
    at.register("a", A, TopicConfig("T"), version=2)
    assert at.routes.topic_queues["T"]["a"].permission == 6
    at.routes.set_write_permission("a", allowed=True)
    assert at.routes.topic_queues["U"]["a"].permission == 6


def test_a_topic_is_deleted_from_one_cluster_or_from_all(at: Registrar) -> None:
    at.register("a", A, TopicConfig("T"))
    assert at.routes.delete_topic("T", "other") == []
    assert at.routes.delete_topic("T", "C") == ["a"]
    assert at.routes.route("T") is None


def test_nothing_of_a_broker_stays_in_whatever_order_its_topics_came_and_went(at: Registrar) -> None:
    chance = Chance("routes")
    for turn in range(400):
        name = f"broker-{chance.below(5)}"
        address, topic = f"10.0.1.{name[-1]}:1", f"topic-{chance.below(7)}"
        match chance.below(4):
            case 0 | 1:
                at.register(name, address, TopicConfig(topic, 4, 4, 6), version=turn)
            case 2:
                at.routes.delete_topic(topic, None)
            case 3:
                with_it = {topic for topic, rows in at.routes.topic_queues.items() if name in rows}
                removal = at.routes.unregister(name, address, 0)
                assert removal is None or set(removal.topics) == with_it
                assert not any(name in rows for rows in at.routes.topic_queues.values())
                assert not any(name in names for names in at.routes.clusters.values())
        assert all(at.routes.topic_queues.values()), "a topic nobody has is none"


@given(
    st.lists(
        st.tuples(
            st.booleans(), st.sampled_from("ab"), st.sampled_from([A, SLAVE]), st.integers(0, 1), st.sampled_from("CD")
        ),
        max_size=12,
    )
)
def test_what_is_shown_of_the_cluster_is_always_what_is_known(steps: list[tuple[bool, str, str, int, str]]) -> None:
    at = Registrar()
    for comes, broker, address, broker_id, cluster in steps:
        if comes:
            at.register(broker, address, broker_id=broker_id, cluster=cluster)
        else:
            at.routes.unregister(broker, address, broker_id)
        reported = ClusterInfo.decode(at.routes.cluster_info())
        assert reported.brokers == at.routes.brokers
        assert {name: list(brokers) for name, brokers in reported.clusters.items()} == at.routes.clusters
