"""Nodes of a real cluster that are slow, silent or unwilling: what is said, and that the others go on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.attached.settings import AttachedSettings
from sandbox.control.questions import parse_question
from sandbox.control.readings import Refusal
from sandbox.kernel.errors import ActionRefused
from sandbox.remoting.codes import RequestCode
from sandbox.sim.network import SimNetwork
from sandbox.simulation.world import World
from tests.sim.attached_stage import IP, SLUG, CountingBell, Office


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """Two brokers and two name servers."""
    with World(tmp_path, "cluster") as world:
        world.run(20)
        yield Office(world)


def network(office: Office) -> SimNetwork:
    made = office.world.cluster.network
    assert isinstance(made, SimNetwork)
    return made


def address(office: Office, node: str) -> str:
    found = office.world.cluster.nodes.find(node)
    assert found is not None
    return found.record.address


def states(office: Office) -> dict[str, str]:
    snapshot = office.snapshot()
    rows = {
        row["broker"] if not row["broker_id"] else f"{row['broker']}.{row['broker_id']}": row["state"]
        for row in snapshot["brokers"]
    }
    return rows | {row["name"]: row["state"] for row in snapshot["name_servers"]}


def test_a_cluster_that_does_not_answer_is_attached_and_says_so(office: Office) -> None:
    row = office.attach("10.9.9.9:9876")
    assert row["state"] == "unreachable"
    snapshot = office.snapshot()
    assert snapshot["sandbox"]["state"] == "unreachable"
    assert snapshot["sandbox"]["trouble"] == "No name server answers: nothing listens at 10.9.9.9:9876."
    [trouble] = snapshot["sandbox"]["troubles"]
    assert trouble["pattern"].format(**trouble["values"]) == snapshot["sandbox"]["trouble"]
    assert snapshot["brokers"] == []
    assert snapshot["groups"] == []


def test_the_first_look_ends_although_no_one_answers(office: Office) -> None:
    network(office).partition(IP, "*")
    before_s = office.world.environment.wall.monotonic()
    office.attach()
    assert office.world.environment.wall.monotonic() - before_s < 20
    assert office.snapshot()["sandbox"]["state"] == "unreachable"


def test_one_name_server_of_two_is_enough(office: Office) -> None:
    silent = office.name_servers[0]
    network(office).partition(IP, silent)
    office.attach()
    found = states(office)
    assert (found["ns-1"], found["ns-2"]) == ("unreachable", "running")
    assert found["broker-b"] == "running"
    assert f"Name server ns-1 ({silent}) does not answer." in office.snapshot()["sandbox"]["trouble"]
    assert office.snapshot()["sandbox"]["state"] == "live"


def test_a_dead_broker_hides_no_one_else(office: Office) -> None:
    office.attach()
    office.clusters.get(SLUG).subscribe(CountingBell())
    network(office).partition(IP, address(office, "broker-a"))
    office.world.run(30)
    assert states(office)["broker-a"] == "unreachable"
    assert states(office)["broker-b"] == "running"
    said = office.snapshot()["sandbox"]["trouble"]
    assert f"Broker broker-a ({address(office, 'broker-a')}) does not answer; last response at" in said
    board = office.read("board/order-svc/orders")["queues"]
    before = {key: row["max"] for key, row in board.items()}
    office.world.run(10)
    after = {key: row["max"] for key, row in office.read("board/order-svc/orders")["queues"].items()}
    assert all(int(after[key]) > int(before[key]) for key in after if key.startswith("broker-b"))


def test_a_silent_broker_does_not_slow_the_boards_of_the_others(office: Office) -> None:
    office.attach()
    office.read("board/order-svc/orders")
    network(office).hold(IP, address(office, "broker-a"))
    office.world.run(2)
    office.asked.clear()
    office.glance("board/order-svc/orders")
    office.world.run(20)
    stats = [one for one in office.asked if one == (address(office, "broker-b"), RequestCode.GET_CONSUME_STATS)]
    assert len(stats) >= 15  # every second


def test_who_does_not_answer_is_asked_less_and_less_and_found_again(office: Office) -> None:
    office.attach()
    office.clusters.get(SLUG).subscribe(CountingBell())
    node = address(office, "broker-b")
    network(office).refuse(node)
    network(office).reset(IP, node)
    office.world.run(20)
    office.asked.clear()
    office.world.run(200)
    assert states(office)["broker-b"] == "unreachable"
    attempts = [one for one in office.asked if one[0] == node]
    assert attempts == []  # not even connected, so nothing was sent
    network(office).accept(node)
    office.world.run(70)
    assert states(office)["broker-b"] == "running"


def test_members_of_a_broker_that_died_are_not_repeated(office: Office) -> None:
    office.attach()
    office.clusters.get(SLUG).subscribe(CountingBell())
    assert office.group("order-svc")["members"]
    for node in ("broker-a", "broker-b"):
        network(office).partition(IP, address(office, node))
    office.world.run(40)
    assert office.group("order-svc")["members"] == []
    assert office.group("order-svc")["queues"]  # offsets stay, as they were last reported


def test_a_member_that_does_not_answer_is_left_alone_for_a_while(office: Office) -> None:
    office.attach()
    office.read("board/order-svc/orders")
    mute = office.world.cluster.actors.consumers("order-svc")[0]
    office.world.act("HangActor", actor=mute.label)
    office.world.run(15)
    office.asked.clear()
    bell = CountingBell()
    office.clusters.get(SLUG).subscribe(bell)
    office.glance("board/order-svc/orders")
    office.world.run(50)
    board = office.glance("board/order-svc/orders").data
    assert board["members"][mute.client_id]["queues"] is None
    others = [row for client_id, row in board["members"].items() if client_id != mute.client_id]
    assert all(row["queues"] is not None for row in others)


def test_questions_end_with_a_sentence(office: Office) -> None:
    office.attach()
    network(office).partition(IP, "*")
    with pytest.raises(ActionRefused) as refused:
        office.ask("plan-reset", group="order-svc", topic="orders", target="latest")
    assert refused.value.status == 503
    assert str(refused.value).startswith("The cluster did not answer")


def test_a_question_only_a_sandbox_can_answer_is_refused(office: Office) -> None:
    office.attach()
    with pytest.raises(ActionRefused) as refused:
        office.ask("start-offset", group="order-svc", topic="orders", broker="broker-a", queue_id=0)
    assert refused.value.status == 404


def test_an_unknown_cluster_is_unknown(office: Office) -> None:
    assert office.clusters.read("k.other", "topology", []) == Refusal("unknown")
    with pytest.raises(ActionRefused) as refused:
        office.world.environment.sim.run(office.clusters.ask("k.other", parse_question("route", {"topic": "orders"})))
    assert refused.value.status == 404


def test_a_detached_cluster_is_gone_and_its_connections_with_it(office: Office) -> None:
    office.attach()
    assert any(client.startswith(IP) for client, _ in network(office).connections())
    office.world.environment.sim.run(office.clusters.detach(SLUG))
    office.world.run(1)
    assert not any(client.startswith(IP) for client, _ in network(office).connections())
    assert office.clusters.read(SLUG, "topology", []) == Refusal("unknown")


@pytest.mark.parametrize(
    "addresses", [(), ("nohost",), ("10.0.0.1:0",), ("10.0.0.1:99999",), tuple(f"10.0.0.{n}:9876" for n in range(9))]
)
def test_settings_no_one_can_use_are_refused(office: Office, addresses: tuple[str, ...]) -> None:
    with pytest.raises(ActionRefused) as refused:
        office.world.environment.sim.run(office.clusters.attach(SLUG, AttachedSettings(addresses)))
    assert (refused.value.status, refused.value.field) == (422, "name_servers")
