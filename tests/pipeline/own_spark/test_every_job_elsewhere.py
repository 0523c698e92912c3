"""Every job and every source on a Connect server and on a cluster of two workers: the rows of a local Spark."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.pipeline.jobs.all_jobs import JOBS
from sandbox.pipeline.runs.launch import Order
from tests.pipeline.audits import rows_of_tables
from tests.pipeline.deployments import DEPLOYMENTS, Deployment
from tests.pipeline.every_order import (
    JOB_INPUTS,
    LARGE,
    OF_THE_RUN,
    SOURCE_INPUTS,
    Inputs,
    inputs_in,
    job_order,
    large,
    send_order,
    source_order,
)
from tests.pipeline.test_import import stored
from tests.server.server import until
from tests.wide import many

pytestmark = pytest.mark.pipeline

ELSEWHERE = ("connect", "cluster")
KILLED = "store_audit"  # the job during which an executor of the cluster is killed
NOT_ON_CONNECT = {"sql": "A query needs the parser of a local session. Remove --remote."}
COSTLY = ("delivery_audit", "grading", "hot_keys", "lag_history", "latency", "rebalance_history")
SHORT = (
    KILLED,
    *sorted(JOBS.keys() - {KILLED, *COSTLY}),
)  # the first task starts Python: it takes long
Tables = dict[str, Counter[str]]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inputs]:
    with inputs_in(tmp_path_factory.mktemp("inputs"), tuple(DEPLOYMENTS)) as made:
        yield made


@pytest.fixture(scope="module")
def large_inputs(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return large(inputs, tmp_path_factory.mktemp("large"))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with DEPLOYMENTS["local"](tmp_path_factory.mktemp("local")) as deployment:
        yield deployment


@pytest.fixture(scope="module", params=ELSEWHERE)
def elsewhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with DEPLOYMENTS[request.param](tmp_path_factory.mktemp(request.param)) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def expected_of(local: Deployment, inputs: Inputs) -> Callable[[Order], Tables]:
    """The tables of an order's run on the local Spark, made once."""
    tables: dict[str, Tables] = {}

    def expected(order: Order) -> Tables:
        if order.run not in tables:
            tables[order.run] = tables_on(local, order, inputs)
        assert any(tables[order.run].values())
        return tables[order.run]

    return expected


def tables_on(deployment: Deployment, order: Order, inputs: Inputs) -> Tables:
    out = Path(order.out)
    last = deployment.run(order, killed=order.job == KILLED and deployment.cluster is not None)
    assert last["state"] == "done", last
    until(lambda: not list(out.glob(".kept-*")), what="no intermediate table is left")
    tables = rows_of_tables(out, without=OF_THE_RUN.get(order.job, ()))
    assert last["tables"] == {name: rows.total() for name, rows in tables.items()}
    if order.job == "import":
        tables["topic"] = Counter(map(repr, stored(inputs.broker_store, order.options["topic"]).elements()))
    return tables


def test_every_job_has_an_order() -> None:
    assert JOB_INPUTS.keys() == JOBS.keys()


@pytest.mark.parametrize("job", [*SHORT, *many(COSTLY)])
def test_a_job_writes_the_rows_that_it_writes_on_a_local_spark(
    elsewhere: Deployment,
    local: Deployment,
    expected_of: Callable[[Order], Tables],
    inputs: Inputs,
    large_inputs: Inputs,
    job: str,
) -> None:
    """On the cluster, an executor is killed while it has a task of one of them."""
    order = job_order(job, large_inputs if job in LARGE else inputs, elsewhere.name, elsewhere.home)
    if elsewhere.name == "connect" and job in NOT_ON_CONNECT:
        last = elsewhere.run(order)
        assert (last["state"], last["why"]) == ("failed", NOT_ON_CONNECT[job])
    else:
        expected = expected_of(job_order(job, inputs, local.name, local.home))
        assert tables_on(elsewhere, order, inputs) == expected


@pytest.mark.parametrize("source", SOURCE_INPUTS)
def test_a_source_has_the_rows_that_it_has_on_a_local_spark(
    elsewhere: Deployment, local: Deployment, expected_of: Callable[[Order], Tables], inputs: Inputs, source: str
) -> None:
    expected = expected_of(source_order(source, inputs, local.home))
    assert tables_on(elsewhere, source_order(source, inputs, elsewhere.home), inputs) == expected


def test_a_stream_sends_a_topic_to_another_topic(elsewhere: Deployment, inputs: Inputs) -> None:
    """The job `import` sends rows that were read once."""
    order = send_order(inputs, elsewhere.name, elsewhere.home)
    last = elsewhere.run(order)
    assert last["state"] == "done", last
    sent = stored(inputs.broker_store, order.options["to"])
    assert sent
    assert sent == stored(inputs.broker_store, "T")
