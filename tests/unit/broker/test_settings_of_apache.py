"""Every setting of Apache 4.9.8 is answered as it comes there, or is of something that has no meaning here."""

from pathlib import Path

from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.settings import as_settings as name_server_settings
from sandbox.remoting.bodies import Settings
from sandbox.remoting.codes import RequestCode
from sandbox.store.config import MessageStoreConfig
from tests.unit.broker.stage import NAME_SERVER, Stage

LINES = (Path(__file__).parent / "settings-4.9.8.txt").read_text("utf-8").splitlines()
OURS_ALONE = {"diskSpaceCleanForciblyRatio", "diskSpaceWarningLevelRatio"}  # system properties there
OTHERWISE = {  # what we do, or have not, where it is done there
    "autoDeleteUnusedStats": "true",
    "brokerFastFailureEnable": "false",
    "clientCallbackExecutorThreads": "1",
    "commercialEnable": "false",
    "diskFallRecorded": "false",
}
OF_THIS_BROKER = {
    "brokerName": "broker-a",
    "brokerIP1": "127.0.0.2",
    "brokerIP2": "127.0.0.2",
    "namesrvAddr": NAME_SERVER,
}


def as_they_come(*classes: str) -> dict[str, str]:
    rows = (line.split(" ", 2) for line in LINES if line.startswith(classes))
    return {key: value for _, key, value in rows if value != "-- left out"}


def test_a_broker_answers_every_setting_that_has_a_meaning_here() -> None:
    answer = Stage(store=MessageStoreConfig()).client().call(RequestCode.GET_BROKER_CONFIG)
    found = Settings.decode(answer.body).values
    expected = as_they_come("BrokerConfig", "Netty", "MessageStoreConfig") | OF_THIS_BROKER | OTHERWISE
    assert {key: value for key, value in found.items() if key not in OURS_ALONE} == expected


def test_a_name_server_answers_every_setting_that_has_a_meaning_here() -> None:
    found = name_server_settings(NameServerConfig(address="127.0.0.1:9876"))
    assert found == as_they_come("NamesrvConfig") | {"listenPort": "9876", "serverChannelMaxIdleTimeSeconds": "120"}
