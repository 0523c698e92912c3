"""Ports of new sandboxes: where none is left, the refusal names the cause."""

import pytest

from queueviz.operations import environment
from sandbox.cluster.config import HostConfig
from sandbox.cluster.new_sandbox import new_record, port_of
from sandbox.cluster.origin import conditions_of
from sandbox.control.branch_orders import RunOrder
from sandbox.hosting.recipes import run_of
from sandbox.kernel.errors import ActionRefused


def made(first: int, last: int, taken: set[int]) -> set[int]:
    record = new_record(
        "s",
        "orders",
        preset="sandbox",
        seed=1,
        changes=None,
        limits=None,
        config=HostConfig(first_port=first, last_port=last),
        ports_taken=taken,
        now_ms=0,
    )
    return {port_of(node.address) for node in record.nodes}


def test_where_other_sandboxes_have_the_ports_one_is_to_be_deleted() -> None:
    taken = made(20_000, 20_028, set())
    assert made(20_000, 20_028, taken).isdisjoint(taken)
    with pytest.raises(ActionRefused, match="No port is left") as refused:
        made(20_000, 20_012, taken)
    assert refused.value.hint == "Delete a sandbox you no longer need."


@pytest.mark.parametrize(("first", "last"), [(65_535, 60_000), (59_999, 60_000), (65_535, 65_536)])
def test_where_the_range_is_too_small_deleting_does_not_help_and_is_not_said(first: int, last: int) -> None:
    with pytest.raises(ActionRefused) as refused:
        made(first, last, {20_000, 20_004})
    said = refused.value
    assert (said.status, said.message) == (503, "This server has ports {first} to {last}, too few for a sandbox.")
    assert said.hint == "Ask the server administrator for a lower QUEUEVIZ_FIRST_PORT."
    assert said.values == {"first": first, "last": last - 1}


def test_a_recipe_whose_ports_end_too_high_is_refused_for_that() -> None:
    config = HostConfig()
    order = RunOrder(
        template="orders",
        preset="sandbox",
        seed="7",
        wall_ms=1_795_000_000_000,
        memory_bytes=2**34,
        first_port=65_535,
        conditions=conditions_of(config, config.node_host),
        came=(),
        until=9,
        until_ms=1_795_000_001_000,
    )
    with pytest.raises(ActionRefused) as refused:
        run_of(order, config)
    said = refused.value
    assert (said.status, said.message) == (
        422,
        "The ports of this reproducible link begin at {first} and end above 65535.",
    )
    assert said.hint == "Request a new link."


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("65535", "QUEUEVIZ_FIRST_PORT is 65535. Choose a number from 1024 to 59000."),
        ("80", "from 1024 to 59000"),
        ("-1", "from 1024 to 59000"),
        ("x", "is not a number"),
    ],
)
def test_a_server_does_not_start_with_a_first_port_that_leaves_no_room(
    given: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUEVIZ_FIRST_PORT", given)
    with pytest.raises(SystemExit, match=says.replace(".", r"\.")):
        environment.number("QUEUEVIZ_FIRST_PORT", 20_000, 1_024, 59_000)
    monkeypatch.setenv("QUEUEVIZ_FIRST_PORT", "59000")
    assert environment.number("QUEUEVIZ_FIRST_PORT", 20_000, 1_024, 59_000) == 59_000
