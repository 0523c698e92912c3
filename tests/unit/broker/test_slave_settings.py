"""Settings that make a broker a slave."""

import pytest

from sandbox.broker.config import BrokerConfig
from sandbox.store.config import MessageStoreConfig
from tests.unit.broker.slave_stage import SlaveStage

ADDRESS = "10.0.0.2:10911"


def test_a_slave_s_broker_conf_is_understood() -> None:
    conf = {"brokerName": "broker-a", "brokerId": "1", "brokerRole": "SLAVE", "slaveReadEnable": "true"}
    config = BrokerConfig.from_properties(conf, address=ADDRESS)
    assert (config.broker_id, config.slave_read, config.is_master, config.node) == (1, True, False, "broker-a.1")
    assert config.ha_address == "10.0.0.2:10912"


def test_a_slave_without_a_number_of_its_own_does_not_start() -> None:
    with pytest.raises(ValueError, match="above 0"):
        BrokerConfig.from_properties({"brokerRole": "SLAVE"}, address=ADDRESS)


def test_a_master_s_way_to_replicate_is_in_its_broker_conf() -> None:
    assert MessageStoreConfig.from_properties({"brokerRole": "SYNC_MASTER"}).replication == "SYNC_MASTER"
    assert MessageStoreConfig().replication == "ASYNC_MASTER"
    with pytest.raises(ValueError, match="replication"):
        MessageStoreConfig(replication="SOMETIMES")


def test_the_role_of_a_store_follows_from_its_number() -> None:
    stage = SlaveStage()
    assert (stage.master.store.role, stage.slave.store.role) == ("ASYNC_MASTER", "SLAVE")
