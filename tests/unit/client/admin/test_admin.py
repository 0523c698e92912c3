"""An administrator asks our name server and broker, in virtual time."""

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.broker.acl_config import Account, AclConfig
from sandbox.client.admin import Admin
from sandbox.client.config import ProducerConfig
from sandbox.client.producer import Producer
from sandbox.kernel.errors import BrokerRefused, ClientError, ConnectFailed, NotKnownThere, SendTimeout
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import SubscriptionGroupConfig
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import RemotingCommand
from sandbox.transport.loopback import LoopbackNetwork
from tests.sim.client_world import BROKER, BROKER_ADDRESS, NAME_SERVER, START_MS, Work, World

QUEUE = MessageQueue("T", BROKER, 0)


class Stage:
    """A broker with one queue, and an administrator."""

    def __init__(self, **world: Any) -> None:
        self.world = World(1, **world)
        self.admin = self.reaching(NAME_SERVER)

    def reaching(self, *name_servers: str, **options: Any) -> Admin:
        return Admin(
            name_servers, clock=self.world.clock, connector=self.world.network.connector("10.0.8.8"), **options
        )

    def ask(self, question: Any) -> Any:
        return self.world.run(question)


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.world.loop.close()


def test_the_cluster_and_its_masters(stage: Stage) -> None:
    found = stage.ask(stage.admin.names.cluster())
    assert found.brokers[BROKER].addresses == {0: BROKER_ADDRESS}
    assert found.clusters == {found.brokers[BROKER].cluster: (BROKER,)}
    assert stage.ask(stage.admin.names.masters()) == {BROKER: BROKER_ADDRESS}


def test_topics_and_the_route_of_one(stage: Stage) -> None:
    admin = stage.admin
    assert "T" in stage.ask(admin.names.topics())
    [queues] = stage.ask(admin.names.route("T")).queues
    assert (queues.broker, queues.read_queues, queues.write_queues) == (BROKER, 1, 1)
    assert stage.ask(admin.names.masters_of("T")) == {BROKER: BROKER_ADDRESS}


def test_a_topic_no_one_has_is_refused_with_its_code(stage: Stage) -> None:
    with pytest.raises(BrokerRefused) as refused:
        stage.ask(stage.admin.names.route("nobody-has-this"))
    assert refused.value.code == 17


def test_tables_of_the_broker(stage: Stage) -> None:
    stage.ask(stage.admin.topics.create(BROKER_ADDRESS, "made", queues=3))
    stage.ask(stage.admin.groups.create(BROKER_ADDRESS, SubscriptionGroupConfig("G-made", retry_max_times=2)))
    topics = stage.ask(stage.admin.brokers.topic_configs(BROKER_ADDRESS)).topics
    groups = stage.ask(stage.admin.brokers.subscription_groups(BROKER_ADDRESS)).groups
    assert (topics["made"].write_queues, topics["T"].read_queues) == (3, 1)
    assert groups["G-made"] == SubscriptionGroupConfig("G-made", retry_max_times=2)
    assert stage.ask(stage.admin.topics.config(BROKER_ADDRESS, "made")) == topics["made"]
    assert stage.ask(stage.admin.groups.config(BROKER_ADDRESS, "G-made")) == groups["G-made"]


def test_a_deleted_topic_is_gone_at_both(stage: Stage) -> None:
    stage.ask(stage.admin.topics.delete(BROKER_ADDRESS, "T"))
    stage.ask(stage.admin.names.delete_topic("T"))
    assert "T" not in stage.ask(stage.admin.brokers.topic_configs(BROKER_ADDRESS)).topics
    assert "T" not in stage.ask(stage.admin.names.topics())


def test_what_the_broker_says_of_itself(stage: Stage) -> None:
    stage.world.send(3)
    runtime = stage.ask(stage.admin.brokers.runtime(BROKER_ADDRESS))
    assert (runtime.version, runtime.log_min_offset, runtime.behind_bytes) == ("V4_9_8", 0, 0)
    assert runtime.log_max_offset == stage.world.broker.store.max_physical_offset
    assert runtime.boot_ms == START_MS
    assert runtime.put_per_s is not None
    assert stage.ask(stage.admin.brokers.config(BROKER_ADDRESS))["brokerName"] == BROKER


def test_where_a_topic_and_a_group_stand(stage: Stage) -> None:
    work = Work(stage.world)
    work.slow["k2"] = 10_000
    member = stage.world.consumer("c1", work)
    stage.world.send(5)
    stage.world.pass_s(15)
    [(queue, ends)] = stage.ask(stage.admin.topics.stats(BROKER_ADDRESS, "T")).items()
    place = stage.ask(stage.admin.groups.stats(BROKER_ADDRESS, "G", "T"))[QUEUE]
    assert (queue, ends.min_offset, ends.max_offset) == (QUEUE, 0, 5)
    assert (place.broker_offset, place.consumer_offset) == (5, 2)
    assert stage.ask(stage.admin.topics.groups(BROKER_ADDRESS, "T")) == ("G",)
    assert stage.ask(stage.admin.groups.topics(BROKER_ADDRESS, "G")) == ("%RETRY%G", "T")
    assert stage.ask(stage.admin.groups.member_ids(BROKER_ADDRESS, "G")) == (member.instance.client_id,)


def test_members_and_producers_are_listed(stage: Stage) -> None:
    member = stage.world.consumer("c1", Work(stage.world))
    stage.world.send()
    stage.world.pass_s(31)  # a producer is known with its next heartbeat
    members = stage.ask(stage.admin.groups.members(BROKER_ADDRESS, "G"))
    [row] = members.connections
    assert (row.client_id, members.message_model) == (member.instance.client_id, "CLUSTERING")
    assert {sub.topic: sub.sub_string for sub in members.subscriptions} == {"T": "*", "%RETRY%G": "*"}
    [producer] = stage.ask(stage.admin.groups.producers(BROKER_ADDRESS, "P"))
    assert producer.client_id.endswith("@sender")


def test_a_group_without_members_is_refused(stage: Stage) -> None:
    with pytest.raises(BrokerRefused) as members:
        stage.ask(stage.admin.groups.members(BROKER_ADDRESS, "nobody"))
    with pytest.raises(BrokerRefused) as producers:
        stage.ask(stage.admin.groups.producers(BROKER_ADDRESS, "nobody"))
    assert (members.value.code, producers.value.code) == (206, 1)


def test_a_member_shows_what_it_holds_in_memory(stage: Stage) -> None:
    work = Work(stage.world, orderly=True)
    work.slow["k2"] = 10_000
    member = stage.world.consumer("c1", work, listener="orderly")
    stage.world.send(5)
    stage.world.pass_s(15)
    client_id = member.instance.client_id
    info = stage.ask(stage.admin.groups.running_info(BROKER_ADDRESS, "G", client_id))
    held = stage.ask(stage.admin.groups.queues_in_memory(BROKER_ADDRESS, "G", client_id))[QUEUE]
    assert info.properties["PROP_CONSUMEORDERLY"] == "true"
    assert (held.locked, held.dropped, held.committed_offset) == (True, False, 2)
    assert (held.cached_count, held.cached_min_offset, held.cached_max_offset) == (2, 3, 4)
    assert (held.taken_count, held.taken_min_offset, held.taken_max_offset) == (1, 2, 2)
    assert held.last_lock_ms == member.process_queues[QUEUE].last_lock_ms > START_MS
    in_memory = stage.ask(stage.admin.groups.offsets_in_memory(BROKER_ADDRESS, "G", "T"))
    assert in_memory == {client_id: {QUEUE: 2}}


def test_a_member_that_hangs_is_207_within_the_patience_given(stage: Stage) -> None:
    member = stage.world.consumer("c1", Work(stage.world))
    member.instance.hang()
    with pytest.raises(SendTimeout):
        stage.ask(stage.admin.within(2_000).groups.running_info(BROKER_ADDRESS, "G", member.instance.client_id))
    with pytest.raises(BrokerRefused) as refused:
        stage.ask(stage.admin.within(15_000).groups.running_info(BROKER_ADDRESS, "G", member.instance.client_id))
    assert refused.value.code == 207


def test_offsets_are_asked_and_written(stage: Stage) -> None:
    offsets = stage.admin.offsets
    assert stage.ask(offsets.earliest_store_ms(BROKER_ADDRESS, QUEUE)) is None
    stage.world.send(4)
    at_ms = stage.world.clock.now_ms()
    stage.world.pass_s(10)
    stage.world.send(3)
    assert stage.ask(offsets.smallest(BROKER_ADDRESS, QUEUE)) == 0
    assert stage.ask(offsets.largest(BROKER_ADDRESS, QUEUE)) == 7
    assert stage.ask(offsets.at_time(BROKER_ADDRESS, QUEUE, at_ms + 9_000)) == 4
    assert START_MS < stage.ask(offsets.earliest_store_ms(BROKER_ADDRESS, QUEUE)) <= at_ms
    stage.ask(offsets.commit(BROKER_ADDRESS, "G", QUEUE, 6))
    assert stage.ask(offsets.committed(BROKER_ADDRESS, "G", QUEUE)) == 6
    assert stage.ask(stage.admin.brokers.consumer_offsets(BROKER_ADDRESS)).offsets == {"T@G": {0: 6}}
    stage.ask(offsets.clone(BROKER_ADDRESS, "G", "H", "T"))
    assert stage.ask(offsets.committed(BROKER_ADDRESS, "H", QUEUE)) == 6


def test_a_group_is_sent_elsewhere(stage: Stage) -> None:
    with pytest.raises(BrokerRefused) as refused:
        stage.ask(stage.admin.offsets.reset_by_time(BROKER_ADDRESS, "G", "T", 0))
    assert refused.value.code == 1  # no group of that name has committed yet
    work = Work(stage.world)
    stage.world.consumer("c1", work)
    stage.world.send(5)
    stage.world.pass_s(15)
    reset = stage.ask(stage.admin.offsets.reset_by_time(BROKER_ADDRESS, "G", "T", 0))
    assert reset == {QUEUE: 0}
    stage.world.pass_s(40)
    assert work.keys == [f"k{n}" for n in (0, 1, 2, 3, 4)] * 2


def test_messages_are_found_by_id_key_and_place(stage: Stage) -> None:
    [first, *_] = stage.world.send(1, key="one two")
    stage.world.send(1, key="three")
    stage.world.pass_s(1)
    messages = stage.admin.messages
    found = stage.ask(messages.view(first.msg_id))
    assert (found.properties["KEYS"], found.queue_offset) == ("one two", 0)
    assert stage.ask(messages.at_place(BROKER_ADDRESS, found.physical_offset)) == found
    assert stage.ask(messages.by_key(BROKER_ADDRESS, "T", "two")) == (found,)
    assert stage.ask(messages.by_key(BROKER_ADDRESS, "T", "four")) == ()
    assert stage.ask(messages.by_unique_key(BROKER_ADDRESS, "T", found.properties["UNIQ_KEY"])) == (found,)
    pulled = stage.ask(messages.pull(BROKER_ADDRESS, QUEUE, 0, count=10))
    assert (pulled.code, pulled.next_offset, pulled.max_offset) == (0, 2, 2)
    assert [record.queue_offset for record in pulled.records] == [0, 1]
    entries = stage.ask(messages.queue_entries(BROKER_ADDRESS, QUEUE, 0))
    assert [entry.physical_offset for entry in entries.entries] == [r.physical_offset for r in pulled.records]


def test_a_pull_outside_the_queue_says_where_it_is(stage: Stage) -> None:
    stage.world.send(2)
    at_the_end = stage.ask(stage.admin.messages.pull(BROKER_ADDRESS, QUEUE, 2))
    beyond = stage.ask(stage.admin.messages.pull(BROKER_ADDRESS, QUEUE, 9))
    assert (at_the_end.code, at_the_end.records) == (19, ())
    assert (beyond.code, beyond.next_offset) == (21, 2)


def test_a_text_that_is_no_message_id_is_the_askers_mistake(stage: Stage) -> None:
    with pytest.raises(ClientError, match="not an offset message id"):
        stage.ask(stage.admin.messages.view("7F00"))


def test_looking_moves_nobodys_offset(stage: Stage) -> None:
    stage.world.send(3)
    before = stage.ask(stage.admin.brokers.consumer_offsets(BROKER_ADDRESS))
    stage.ask(stage.admin.messages.pull(BROKER_ADDRESS, QUEUE, 0, count=3))
    stage.world.pass_s(10)
    assert stage.ask(stage.admin.brokers.consumer_offsets(BROKER_ADDRESS)) == before


def test_no_one_there_is_another_error_than_a_refusal(stage: Stage) -> None:
    with pytest.raises(ConnectFailed):
        stage.ask(stage.admin.brokers.runtime("10.0.0.99:10911"))


def test_a_request_a_release_does_not_know_is_an_error_of_its_own(stage: Stage) -> None:
    requests = stage.admin.names.requests
    with pytest.raises(NotKnownThere) as refused:
        stage.ask(requests.ask(BROKER_ADDRESS, RequestCode.POP_MESSAGE))
    assert refused.value.code == 3


def test_the_next_name_server_is_asked_when_one_is_gone(stage: Stage) -> None:
    admin = stage.reaching("10.0.0.98:9876", NAME_SERVER)
    assert BROKER in stage.ask(admin.names.masters())
    gone = stage.reaching("10.0.0.98:9876", "10.0.0.99:9876")
    with pytest.raises(ConnectFailed, match=r"10\.0\.0\.98.*10\.0\.0\.99"):
        stage.ask(gone.names.cluster())


def test_a_closed_administrator_asks_no_one(stage: Stage) -> None:
    stage.ask(stage.admin.names.cluster())
    stage.admin.close()
    with pytest.raises(ConnectFailed):
        stage.ask(stage.admin.names.cluster())
    assert stage.admin.connections.addresses == []


def test_a_compressed_message_is_shown_as_it_is_stored(stage: Stage) -> None:
    producer = Producer(ProducerConfig(group="P2"), stage.world.instance("big"))
    stage.ask(producer.start())
    stage.ask(producer.send(Message.make("T", b"x" * 10_000)))
    [record] = stage.ask(stage.admin.messages.pull(BROKER_ADDRESS, QUEUE, 0)).records
    assert len(record.body) < 1_000


def test_an_administrator_with_the_keys_may_and_one_without_may_not() -> None:
    secret = "12345678"
    stage = Stage(acl=AclConfig((Account("the-boss", secret, admin=True),)))
    signed = stage.reaching(NAME_SERVER, access_key="the-boss", secret_key=secret)
    stage.ask(signed.topics.create(BROKER_ADDRESS, "made"))
    with pytest.raises(BrokerRefused, match="No accessKey is configured"):
        stage.ask(stage.admin.topics.create(BROKER_ADDRESS, "made-too"))
    assert "made" in stage.ask(signed.names.topics())
    stage.world.loop.close()


def test_a_signed_query_carries_nothing_that_releases_sign_differently() -> None:
    secret = "12345678"
    stage = Stage(acl=AclConfig((Account("the-boss", secret, admin=True),)))
    signed = stage.reaching(NAME_SERVER, access_key="the-boss", secret_key=secret)
    asked: list[dict[str, str]] = []

    def tap(sender: str, receiver: str, command: RemotingCommand) -> None:
        if command.code == RequestCode.QUERY_MESSAGE:
            asked.append(dict(command.ext or {}))

    network = stage.world.network
    assert isinstance(network, LoopbackNetwork)
    network.tap = tap
    assert stage.ask(signed.messages.by_key(BROKER_ADDRESS, "T", "k")) == ()
    assert stage.ask(signed.messages.by_unique_key(BROKER_ADDRESS, "T", "k")) == ()
    assert [("Signature" in ext, "_UNIQUE_KEY_QUERY" in ext) for ext in asked] == [(True, False)] * 2
    stage.world.loop.close()
