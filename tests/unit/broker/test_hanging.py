"""A broker that is halted and goes on."""

from sandbox.journal.events import BrokerRegistered
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.stage import NAME_SERVER, Stage, messages


def test_a_hung_broker_answers_when_it_goes_on() -> None:
    stage = Stage()
    stage.topic("orders")
    client = stage.client()
    stage.broker.hang()
    opaque = client.post(RequestCode.GET_MAX_OFFSET, {"topic": "orders", "queueId": "0"})
    stage.pass_s(60)
    assert opaque not in client.answers
    assert not client.closed
    stage.broker.resume()
    stage.settle()
    assert client.answers[opaque].code == 0


def test_its_beats_stop_and_its_route_expires_and_comes_back() -> None:
    stage = Stage()
    stage.pass_s(11)
    stage.broker.hang()
    beats = len(stage.events(BrokerRegistered))
    stage.pass_s(130)
    assert len(stage.events(BrokerRegistered)) == beats
    client = stage.client(address=NAME_SERVER)
    assert client.call(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"}).code == 17
    stage.broker.resume()
    stage.pass_s(31)
    assert client.call(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"}).code == 0


def test_parked_pulls_and_delays_wait_until_it_goes_on() -> None:
    stage = Stage()
    stage.topic("orders")
    client = stage.client()
    opaque = client.park("g", "orders", 0)
    stage.client().send("orders", properties="DELAY\x012")
    stage.broker.hang()
    stage.pass_s(30)
    assert opaque not in client.answers
    stage.broker.resume()
    stage.settle()
    assert opaque in client.answers
    assert len(messages(client.pull("g", "orders", 0))) == 1


def test_who_left_meanwhile_is_missed_when_it_goes_on() -> None:
    stage = Stage()
    client = stage.client()
    client.heartbeat("c1", "g", "orders")
    stage.broker.hang()
    client.close()
    assert "g" in stage.broker.consumers.groups
    stage.broker.resume()
    assert "g" not in stage.broker.consumers.groups


def test_a_hung_broker_can_be_killed() -> None:
    stage = Stage()
    stage.broker.hang()
    stage.stop_broker(kill=True)
    stage.disk.kill()
    stage.start_broker()
    assert stage.client().send("TBW102").code == 0
