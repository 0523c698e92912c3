"""The plan of a headless broker from options and Apache's keys, and its refusals."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.remoting.bodies import BrokerData, ClusterInfo
from sandbox.store.config import SLAVE, SYNC_FLUSH, SYNC_MASTER
from sandbox.tools.broker_plan import CannotStart, Master, Options, Plan, make_plan, master_at
from sandbox.tools.properties_file import read_properties

GIB = 1024**3


def plan(tmp_path: Path, *, masters: tuple[Master, ...] = (), properties: str = "", **given: Any) -> Plan:
    return make_plan(
        Options(store=tmp_path / "store", properties=read_properties(properties), **given), masters, resolve=known
    )


def known(name: str) -> str:
    """As a network of containers has it."""
    if name != "rocketmq-broker":
        raise CannotStart(f"This machine does not know {name}.")
    return "172.18.0.4"


def test_one_broker_answers_for_the_name_server_at_its_own_port_with_apaches_sizes(tmp_path: Path) -> None:
    made = plan(tmp_path)
    [broker] = made.brokers
    assert made.own_name_server == broker.config.address == "127.0.0.1:9876"
    assert made.name_servers == ("127.0.0.1:9876",)
    assert (broker.config.name, broker.config.broker_id, broker.directory) == ("broker-a", 0, tmp_path / "store")
    assert broker.store.commit_log_file_bytes == GIB
    assert broker.store.index_entries == 20_000_000


def test_several_brokers_stand_above_their_name_server_with_a_directory_each(tmp_path: Path) -> None:
    made = plan(tmp_path, brokers=3, listen="127.0.0.1:7000")
    assert made.own_name_server == "127.0.0.1:7000"
    assert [(b.config.name, b.config.address, b.directory.name) for b in made.brokers] == [
        ("broker-a", "127.0.0.1:7010", "broker-a"),
        ("broker-b", "127.0.0.1:7020", "broker-b"),
        ("broker-c", "127.0.0.1:7030", "broker-c"),
    ]


def test_apaches_keys_are_read_and_those_without_meaning_are_named(tmp_path: Path) -> None:
    made = plan(
        tmp_path,
        properties="""
        # a broker.conf
        brokerClusterName = Shop
        brokerName=orders
        brokerRole=SYNC_MASTER
        flushDiskType=SYNC_FLUSH
        mappedFileSizeCommitLog=1048576
        autoCreateTopicEnable=false
        namesrvAddr=10.0.0.1:9876;10.0.0.2:9876
        listenPort=10911
        storePathRootDir=/home/rocketmq/store
        useReentrantLockWhenPutMessage=true
        """,
    )
    [broker] = made.brokers
    assert made.own_name_server is None
    assert made.name_servers == ("10.0.0.1:9876", "10.0.0.2:9876")
    assert (broker.config.cluster, broker.config.name, broker.config.address) == ("Shop", "orders", "127.0.0.1:10911")
    assert (broker.store.flush, broker.store.replication, broker.store.commit_log_file_bytes) == (
        SYNC_FLUSH,
        SYNC_MASTER,
        1024 * 1024,
    )
    assert not broker.config.auto_create_topic
    assert made.unknown == ("storePathRootDir", "useReentrantLockWhenPutMessage")


def test_names_of_hosts_are_taken_and_records_hold_their_numbers(tmp_path: Path) -> None:
    """C5: what files for containers have."""
    made = plan(tmp_path, properties="brokerIP1=rocketmq-broker\nnamesrvAddr=rocketmq-namesrv:9876;other.example:9876")
    [broker] = made.brokers
    assert made.name_servers == ("rocketmq-namesrv:9876", "other.example:9876"), "looked up at each connection"
    assert (broker.config.address, broker.config.stored_address) == ("rocketmq-broker:9876", "172.18.0.4:9876")


@pytest.mark.parametrize(
    ("line", "key", "used", "note"),
    [
        (
            "fileReservedTime = 48  ",
            "file_reserved_hours",
            48,  # C7
            "fileReservedTime=48 has trailing blanks. RocketMQ ignores such a value and uses 72; this broker uses 48.",
        ),
        (
            "diskMaxUsedSpaceRatio=75%",
            "disk_max_used_percent",
            75,  # C8
            "diskMaxUsedSpaceRatio=75% is not a number."
            " RocketMQ ignores such a value and uses 75, as does this broker.",
        ),
        (
            "maxIndexNum=20_000",
            "index_entries",
            20_000_000,
            "maxIndexNum=20_000 is not a number. RocketMQ ignores such a value and uses 20000000, as does this broker.",
        ),
        (
            "mappedFileSizeConsumeQueue=x",
            "consume_queue_file_entries",
            300_000,
            "mappedFileSizeConsumeQueue=x is not a number."
            " RocketMQ ignores such a value and uses 6000000, as does this broker.",
        ),
        (
            "cleanFileForciblyEnable=true ",
            "clean_file_forcibly_enable",
            True,
            "cleanFileForciblyEnable=true has trailing blanks. RocketMQ reads it as false, this broker as true.",
        ),
        (
            "flushDiskType=SYNC_FLUSH ",
            "flush",
            SYNC_FLUSH,
            "flushDiskType=SYNC_FLUSH has trailing blanks. RocketMQ ignores such a value and uses ASYNC_FLUSH; "
            "this broker uses SYNC_FLUSH.",
        ),
        ("deleteWhen=05", "delete_when", "05", None),
    ],
)
def test_a_value_that_rocketmq_reads_in_another_way_is_named(
    tmp_path: Path, line: str, key: str, used: object, note: str | None
) -> None:
    made = plan(tmp_path, properties=line)
    assert getattr(made.brokers[0].store, key) == used
    assert made.notes == (() if note is None else (note,))


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    made = plan(
        tmp_path,
        properties="listenPort=10911\nnamesrvAddr=10.0.0.1:9876",
        listen="127.0.0.1:7000",
        name_servers=["10.0.0.9:9876"],
    )
    assert (made.brokers[0].config.address, made.name_servers) == ("127.0.0.1:7000", ("10.0.0.9:9876",))


def test_a_slave_has_its_masters_name_and_asks_it_for_the_name_server(tmp_path: Path) -> None:
    made = plan(tmp_path, slave_of=["127.0.0.1:9876"], listen="127.0.0.1:7000", masters=(Master("orders", "Shop"),))
    [slave] = made.brokers
    assert (slave.config.node, slave.config.cluster, slave.store.replication) == ("orders.1", "Shop", SLAVE)
    assert (made.own_name_server, made.name_servers) == (None, ("127.0.0.1:9876",))


def test_masters_are_found_by_their_address() -> None:
    cluster = ClusterInfo({"a": BrokerData("a", "C", {0: "10.0.0.1:10911", 1: "10.0.0.2:10911"})}, {"C": ("a",)})
    assert master_at("10.0.0.1:10911", cluster) == Master("a", "C")
    with pytest.raises(CannotStart, match=r"at 10\.0\.0\.2:10911; masters are: 10\.0\.0\.1:10911"):
        master_at("10.0.0.2:10911", cluster)


def test_an_address_others_reach_must_be_wished_for(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"Other machines could use .* Add --public"):
        plan(tmp_path, listen="10.0.0.5:9876")
    assert plan(tmp_path, listen="10.0.0.5:9876", public=True).brokers[0].config.address == "10.0.0.5:9876"
    with pytest.raises(CannotStart, match="brokerIP1"):
        plan(tmp_path, listen="0.0.0.0:9876", public=True)
    [broker] = plan(tmp_path, listen="0.0.0.0:9876", public=True, properties="brokerIP1=10.0.0.5").brokers
    assert (broker.ip, broker.config.address) == ("0.0.0.0", "10.0.0.5:9876")


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ("flushDiskType=SOMETIMES", "flushDiskType=SOMETIMES cannot be read: flush is ASYNC_FLUSH or SYNC_FLUSH"),
        ("messageDelayLevel=1y", "messageDelayLevel=1y cannot be read: levels are numbers with a unit s, m, h or d."),
        ("messageDelayLevel=1s 5s  10s", "messageDelayLevel=1s 5s  10s cannot be read: level 3 is empty"),  # C9
        ("mappedFileSizeCommitLog=0", "mappedFileSizeCommitLog=0 is below 65536."),
        ("brokerRole=SLAVE", "The properties cannot be used: the brokerId of a slave is above 0."),
        ("listenPort=port", "'127.0.0.1:port' is not a valid address to listen on"),
        ("namesrvAddr=localhost", "'localhost' is not a valid address"),
        ("brokerIP1=here:9876", "'here:9876' is not a valid brokerIP1. Write it as 10.0.0.5 or broker.example.org."),
        ("brokerIP1=elsewhere", "This machine does not know elsewhere."),
        ("aclEnable=true", "aclEnable=true without accounts refuses every client"),
    ],
)
def test_unusable_properties_are_refused_in_a_sentence(tmp_path: Path, properties: str, sentence: str) -> None:
    with pytest.raises(CannotStart) as reported:
        plan(tmp_path, properties=properties)
    assert str(reported.value).startswith(sentence)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"brokers": 0}, "One process runs 1 to 16 brokers"),
        ({"brokers": 17}, "One process runs 1 to 16 brokers"),
        ({"brokers": 2, "masters": (Master("a", "C"),)}, "One process runs 1 to 16 brokers"),
        ({"brokers": 16, "listen": "127.0.0.1:65400"}, "There are not enough ports above 65400 for 16 brokers"),
        ({"listen": "9876"}, "'9876' is not a valid address to listen on"),
        ({"listen": "127.0.0.1:0"}, "'127.0.0.1:0' is not a valid address to listen on"),
        ({"slave_of": ["master:x"]}, "'master:x' is not a valid address"),
    ],
)
def test_options_that_contradict_each_other_are_reported_in_a_sentence(
    tmp_path: Path, given: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(CannotStart) as reported:
        plan(tmp_path, **given)
    assert str(reported.value).startswith(sentence)


def test_a_directory_is_not_taken_for_another_number_of_brokers(tmp_path: Path) -> None:
    (tmp_path / "store" / "commitlog").mkdir(parents=True)
    with pytest.raises(CannotStart, match="is the store of one broker"):
        plan(tmp_path, brokers=2)
    (tmp_path / "store" / "commitlog").rmdir()
    (tmp_path / "store" / "broker-a" / "commitlog").mkdir(parents=True)
    with pytest.raises(CannotStart, match="has the stores of broker-a"):
        plan(tmp_path)
